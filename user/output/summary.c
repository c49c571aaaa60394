/* The end-of-run summary: as one JSON object, and as lines for people. */
#include "output/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "output/jsonw.h"

#define MIB (1024.0 * 1024.0)

static void put_stats(struct jsonw *j, const struct stats *v)
{
	for (unsigned int i = 0; i < STAT_MAX; i++)
		jsonw_u64(j, stats_name((enum stats_counter)i), v->v[i]);
	jsonw_object(j, "outcomes");
	for (unsigned int i = 0; i < OUTCOME_MAX; i++)
		jsonw_u64(j, outcome_name((enum outcome)i), v->outcomes[i]);
	jsonw_end(j, '}');
}

static void put_stats_table(struct jsonw *j, const struct stats_table *t)
{
	jsonw_object(j, "stats");
	jsonw_object(j, "total");
	put_stats(j, &t->total);
	jsonw_end(j, '}');
	jsonw_array(j, "processes");
	for (size_t i = 0; i < t->n; i++) {
		const struct stats_row *r = &t->rows[i];

		jsonw_object(j, NULL);
		jsonw_u64(j, "pid", r->pid); /* 0: all others */
		jsonw_str(j, "comm", r->comm, strlen(r->comm));
		put_stats(j, &r->v);
		jsonw_end(j, '}');
	}
	jsonw_end(j, ']');
	jsonw_end(j, '}');
}

int summary_json(FILE *f, const struct summary *s, const struct stats_table *stats)
{
	struct jsonw j;

	jsonw_init(&j, f);
	jsonw_object(&j, NULL);
	jsonw_u64(&j, "samples", s->samples);
	jsonw_u64(&j, "lost", s->lost);
	jsonw_u64(&j, "other", s->other);
	jsonw_u64(&j, "unnamed", s->unnamed);
	jsonw_object(&j, "outcomes");
	for (unsigned int i = 0; i < OUTCOME_MAX; i++)
		jsonw_u64(&j, outcome_name((enum outcome)i), s->outcomes[i]);
	jsonw_end(&j, '}');
	jsonw_object(&j, "states");
	for (unsigned int i = 0; i < RUN_MAX; i++)
		jsonw_u64(&j, run_state_name((enum run_state)i), s->states[i]);
	jsonw_end(&j, '}');
	jsonw_object(&j, "weights");
	for (unsigned int i = 0; i < RUN_MAX; i++)
		jsonw_u64(&j, run_state_name((enum run_state)i), s->weights[i]);
	jsonw_end(&j, '}');
	jsonw_u64(&j, "processes", s->processes);
	jsonw_u64(&j, "threads", s->threads);
	jsonw_u64(&j, "refused", s->refused);
	jsonw_u64(&j, "reads", s->reads);
	jsonw_u64(&j, "read_bytes", s->read_bytes);
	jsonw_u64(&j, "ticks", s->ticks);
	jsonw_u64(&j, "idle", s->idle);
	jsonw_u64(&j, "cpu_ns", s->cpu_ns);
	jsonw_u64(&j, "bpf_ns", s->bpf_ns);
	jsonw_u64(&j, "peak_rss_bytes", s->peak_rss_bytes);
	jsonw_u64(&j, "map_bytes", s->map_bytes);
	jsonw_u64(&j, "duration_ns", s->duration_ns);
	jsonw_u64(&j, "load_ns", s->load_ns);
	jsonw_u64(&j, "startup_ns", s->startup_ns);
	jsonw_f64(&j, "rate_asked", (double)s->rate_asked_mhz / 1000);
	jsonw_f64(&j, "rate_reached", (double)s->rate_reached_mhz / 1000);
	if (stats)
		put_stats_table(&j, stats);
	jsonw_end(&j, '}');
	fputc('\n', f);
	return ferror(f) ? -EIO : 0;
}

/* A share in percent, with as many digits as it takes to not hide a few among many. */
static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_outcomes(FILE *f, const struct summary *s)
{
	const char *between = "";

	fputs("outcomes  ", f);
	for (unsigned int i = 0; i < OUTCOME_MAX; i++) {
		if (!s->outcomes[i])
			continue;
		fprintf(f, "%s%s %" PRIu64 " (%.2f %%)", between, outcome_name((enum outcome)i),
			s->outcomes[i], percent(s->outcomes[i], s->samples));
		between = ", ";
	}
	fputs(*between ? "\n" : "none\n", f);
}

/*
 * How the time went: samples of wall mode weigh differently. Not when there is nothing to tell: of
 * an event that is no clock, or when all was on a CPU.
 */
static void put_states(FILE *f, const struct summary *s)
{
	uint64_t plain = s->states[RUN_UNKNOWN] + s->states[RUN_ON_CPU], all = 0;
	const char *between = "states    ";

	if (plain >= s->samples)
		return;
	for (unsigned int i = 0; i < RUN_MAX; i++)
		all += s->weights[i];
	for (unsigned int i = 0; i < RUN_MAX; i++) {
		if (!s->states[i])
			continue;
		fprintf(f, "%s%s %.2f s (%.2f %%)", between, run_state_name((enum run_state)i),
			(double)s->weights[i] / 1e9, percent(s->weights[i], all));
		between = ", ";
	}
	if (*between == ',')
		fputc('\n', f);
}

int summary_text(FILE *f, const struct summary *s)
{
	double seconds = (double)s->duration_ns / 1e9;

	fprintf(f,
		"samples   %" PRIu64 " in %.2f s, of %" PRIu64 " processes, %" PRIu64 " threads\n",
		s->samples, seconds, s->processes, s->threads);
	fprintf(f, "rate      ");
	if (s->rate_asked_mhz)
		fprintf(f, "%.6g Hz asked, ", (double)s->rate_asked_mhz / 1000);
	if (s->rate_reached_mhz)
		fprintf(f, "%.6g Hz reached per CPU\n", (double)s->rate_reached_mhz / 1000);
	else
		fprintf(f, "reached unknown\n");
	put_outcomes(f, s);
	put_states(f, s);
	fprintf(f,
		"besides   %" PRIu64 " lost, %" PRIu64 " elsewhere, %" PRIu64
		" idle; frames without a name: %" PRIu64,
		s->lost, s->other, s->idle, s->unnamed);
	if (s->refused)
		fprintf(f, "; processes refused: %" PRIu64, s->refused);
	fprintf(f, "\ncost      %.3f s of CPU time", (double)(s->cpu_ns + s->bpf_ns) / 1e9);
	if (s->bpf_ns)
		fprintf(f, " (%.3f s of it BPF)", (double)s->bpf_ns / 1e9);
	if (seconds > 0)
		fprintf(f, " = %.2f %% of one CPU",
			(double)(s->cpu_ns + s->bpf_ns) / 1e7 / seconds);
	fprintf(f, "; %.1f MiB at most", (double)s->peak_rss_bytes / MIB);
	fprintf(f, "; %" PRIu64 " reads, %.2f MiB\n", s->reads, (double)s->read_bytes / MIB);
	return ferror(f) ? -EIO : 0;
}
