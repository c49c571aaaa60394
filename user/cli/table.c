/*
 * A recording as text for people: what was recorded, and a table of what took the time.
 *
 *   self %  total %  samples  function      file:line
 *    61.20    61.20      606  Parser._feed  /srv/app/parser.py:88
 *
 * Names and paths are those of the recorded programs: nothing in them may steer a terminal.
 */
#include <string.h>
#include <time.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/plain.h"
#include "cli/table.h"

#define NAME_MAX_WIDTH 56 /* the second column begins after at most so many characters */
#define NUMBERS_WIDTH 28  /* the columns of numbers and the gap after them */
#define FILE_MIN_WIDTH 16
#define HOT_PERCENT 5.0
#define WARM_PERCENT 0.5
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

/* --- text --- */

static void put_string(struct buf *b, const struct profile *p, uint32_t id)
{
	size_t len = 0;
	const char *s = names_string_at(p->names, id, &len);

	if (s)
		plain_put(b, s, len);
}

static bool starts_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t width(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += starts_character(b->data[i]);
	return n;
}

/* Keeps the first `max` characters. */
static void cut_end(struct buf *b, size_t max)
{
	size_t n = 0, i = 0;

	if (width(b) <= max || max < 4)
		return;
	for (; i < b->len; i++)
		if (starts_character(b->data[i]) && n++ == max - 3)
			break;
	b->len = i;
	buf_puts(b, "...");
}

/* Keeps the last `max` characters: of a path the end tells more. */
static void cut_start(struct buf *b, size_t max)
{
	size_t drop = width(b), i = 0;

	if (drop <= max || max < 4)
		return;
	drop -= max - 3;
	for (; i < b->len; i++)
		if (starts_character(b->data[i]) && drop-- == 0)
			break;
	memmove(b->data + 3, b->data + i, b->len - i + 1);
	memcpy(b->data, "...", 3);
	b->len = b->len - i + 3;
}

/* --- the header --- */

static void print_safe(FILE *f, const char *s)
{
	struct buf b;

	buf_init(&b);
	plain_put(&b, s, strlen(s));
	fputs(b.data ? b.data : "", f);
	buf_release(&b);
}

static void print_when(FILE *f, const struct profile *p)
{
	time_t start = (time_t)(p->recording.start_real / NSEC_PER_SEC);
	uint64_t ns = p->summary.duration_ns;
	char date[64] = "";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %z", &tm);
	if (!ns && p->end_mono > p->recording.start_mono)
		ns = p->end_mono - p->recording.start_mono;
	fprintf(f, "# recorded   %s, %.1f s, ", date, (double)ns / NSEC_PER_SEC);
	print_safe(f, p->recording.command);
	fprintf(f, "\n");
}

static void print_event(FILE *f, const struct profile *p)
{
	const struct recording *r = &p->recording;
	const struct summary *s = &p->summary;

	fprintf(f, "# event      ");
	print_safe(f, r->event);
	if (r->freq)
		fprintf(f, " at %llu Hz", (unsigned long long)r->rate);
	else
		fprintf(f, " every %llu%s", (unsigned long long)r->rate, r->clock ? " ns" : "");
	if (s->rate_asked_mhz)
		fprintf(f, "; a CPU was asked for %.1f samples/s and reached %.1f",
			(double)s->rate_asked_mhz / 1000, (double)s->rate_reached_mhz / 1000);
	fprintf(f, "\n");
}

static void print_outcomes(FILE *f, const struct summary *s)
{
	const char *between = ": ";

	fprintf(f, "# samples    %llu", (unsigned long long)s->samples);
	for (int i = 0; i < OUTCOME_MAX; i++) {
		if (!s->outcomes[i])
			continue;
		fprintf(f, "%s%llu %s", between, (unsigned long long)s->outcomes[i],
			outcome_name((enum outcome)i));
		between = ", ";
	}
	fprintf(f, "\n# besides    %llu lost, %llu other (ticks elsewhere)",
		(unsigned long long)s->lost, (unsigned long long)s->other);
	if (s->unnamed)
		fprintf(f, ", %llu frames without a name", (unsigned long long)s->unnamed);
	fprintf(f, "\n");
}

/* What percentages are of. */
static void print_shares(FILE *f, const struct profile *p)
{
	static const char *const texts[RECORDING_MODES] = {
		[RECORDING_CPU] = "CPU time",
		[RECORDING_WALL] = "elapsed time of every thread, running or not",
		[RECORDING_GIL] = "elapsed time of threads that held the GIL",
	};

	fprintf(f, "# shares     of ");
	if (p->recording.clock || p->recording.mode != RECORDING_CPU)
		fprintf(f, "%s", texts[p->recording.mode]);
	else
		print_safe(f, p->recording.event);
	fprintf(f, "\n");
}

/* How the time went, where threads have samples that are on no CPU. */
static void print_states(FILE *f, const struct profile *p)
{
	const uint64_t *of = p->summary.weights;
	uint64_t all = 0;
	const char *between = "# states     ";

	if (p->recording.mode == RECORDING_CPU)
		return;
	for (int i = 0; i < RUN_MAX; i++)
		all += of[i];
	for (int i = 0; i < RUN_MAX; i++) {
		if (!of[i])
			continue;
		fprintf(f, "%s%.2f %% %s", between, 100.0 * (double)of[i] / (double)all,
			run_state_name((enum run_state)i));
		between = ", ";
	}
	if (*between == ',')
		fprintf(f, "\n");
}

void table_header(FILE *f, const struct profile *p)
{
	const struct recording *r = &p->recording;
	const struct summary *s = &p->summary;

	fprintf(f, "# host       ");
	print_safe(f, r->host);
	fprintf(f, ", ");
	print_safe(f, r->kernel);
	fprintf(f, ", %u CPUs, scry ", r->cpus);
	print_safe(f, r->scry);
	fprintf(f, "\n");
	print_when(f, p);
	print_event(f, p);
	print_shares(f, p);
	fprintf(f, "# processes  %llu, threads %llu", (unsigned long long)s->processes,
		(unsigned long long)s->threads);
	if (s->refused)
		fprintf(f, ", %llu that scry can't read (see scry ps)",
			(unsigned long long)s->refused);
	fprintf(f, "\n");
	print_outcomes(f, s);
	print_states(f, p);
	if (!p->complete)
		fprintf(f, "# It was not ended: scry still records, or was killed.\n");
	fprintf(f, "\n");
}

/* --- the table --- */

static void put_process(struct buf *b, const struct profile *p, uint32_t id)
{
	const struct process_info *v = id < p->n_processes ? &p->processes[id] : NULL;

	if (!v)
		return;
	put_string(b, p, v->comm);
	buf_printf(b, "[%u]", v->pid);
}

static const char *state_text(enum run_state s)
{
	static const char *const texts[RUN_MAX] = {
		[RUN_UNKNOWN] = "not known: it has ended, or the event is no clock",
		[RUN_ON_CPU] = "on a CPU",
		[RUN_RUNNABLE] = "waiting for a CPU",
		[RUN_SLEEPING] = "waiting for something else",
		[RUN_GIL] = "waiting for the GIL",
		[RUN_GC] = "on a CPU, collecting garbage",
		[RUN_BLOCKED] = "waiting in the kernel, out of reach of signals",
		[RUN_STOPPED] = "stopped by a signal or a debugger",
	};

	return (unsigned int)s < RUN_MAX ? texts[s] : "";
}

/* What the row is about, and where that is. */
static void describe(const struct profile *p, const struct aggregate_row *r, enum aggregate_by by,
		     struct buf *name, struct buf *place)
{
	const struct frame *fr;
	uint32_t line;

	buf_reset(name);
	buf_reset(place);
	if (by == AGGREGATE_PROCESS) {
		put_process(name, p, r->process);
		if (r->process < p->n_processes)
			put_string(place, p, p->processes[r->process].cmdline);
		return;
	}
	if (by == AGGREGATE_STATE) {
		buf_puts(name, run_state_name((enum run_state)r->state));
		buf_puts(place, state_text((enum run_state)r->state));
		return;
	}
	if (by == AGGREGATE_THREAD) {
		if (r->thread < p->n_threads) {
			put_string(name, p, p->threads[r->thread].name);
			buf_printf(name, "[%u]", p->threads[r->thread].tid);
		}
		put_process(place, p, r->process);
		return;
	}
	fr = names_frame_at(p->names, r->frame);
	if (!fr)
		return;
	put_string(name, p, fr->func);
	if (fr->kind == FRAME_MARKER)
		return;
	put_string(place, p, fr->file);
	line = by == AGGREGATE_LINE ? fr->line : fr->firstline;
	if (line)
		buf_printf(place, ":%u", line);
}

static void cut_place(struct buf *place, enum aggregate_by by, size_t max)
{
	/* of a command line, and of words, the start tells more */
	if (by == AGGREGATE_PROCESS || by == AGGREGATE_STATE)
		cut_end(place, max);
	else
		cut_start(place, max);
}

static void print_percent(FILE *f, uint64_t part, uint64_t all, bool color)
{
	double v = all ? 100.0 * (double)part / (double)all : 0;
	const char *on = v >= HOT_PERCENT ? RED : v >= WARM_PERCENT ? GREEN : "";

	fprintf(f, "%s%7.2f%s", color ? on : "", v, color && *on ? PLAIN : "");
}

static void print_row(FILE *f, const struct aggregate *a, const struct aggregate_row *r,
		      const struct table_options *o)
{
	print_percent(f, r->self_weight, a->weight, o->color);
	fprintf(f, "  ");
	print_percent(f, r->total_weight, a->weight, o->color);
	fprintf(f, "  %7llu  ", (unsigned long long)(o->by_total ? r->total : r->self));
}

/* The width of the first column of names: what the longest needs, within bounds. */
static size_t name_width(const struct profile *p, const struct aggregate *a, size_t n,
			 const struct table_options *o)
{
	size_t max = NAME_MAX_WIDTH, longest = strlen("function");
	struct buf name, place;

	if (o->columns)
		max = MIN(max, o->columns > NUMBERS_WIDTH + 2 * FILE_MIN_WIDTH
				       ? (o->columns - NUMBERS_WIDTH) / 2
				       : FILE_MIN_WIDTH);
	buf_init(&name);
	buf_init(&place);
	for (size_t i = 0; i < n && longest < max; i++) {
		describe(p, &a->rows[i], o->by, &name, &place);
		longest = MAX(longest, width(&name));
	}
	buf_release(&name);
	buf_release(&place);
	return MIN(longest, max);
}

void table_rows(FILE *f, const struct profile *p, const struct aggregate *a,
		const struct table_options *o)
{
	static const char *const heads[][2] = {
		[AGGREGATE_FUNCTION] = {"function", "file:line"},
		[AGGREGATE_LINE] = {"function", "file:line"},
		[AGGREGATE_PROCESS] = {"process", "command"},
		[AGGREGATE_THREAD] = {"thread", "process"},
		[AGGREGATE_STATE] = {"state", "what it means"},
	};
	size_t n = o->rows && o->rows < a->n ? (size_t)o->rows : a->n;
	size_t first = name_width(p, a, n, o), used = NUMBERS_WIDTH + first + 2;
	struct buf name, place;

	buf_init(&name);
	buf_init(&place);
	fprintf(f, " self %%  total %%  samples  %-*s  %s\n", (int)first, heads[o->by][0],
		heads[o->by][1]);
	for (size_t i = 0; i < n; i++) {
		size_t pad;

		describe(p, &a->rows[i], o->by, &name, &place);
		if (o->columns) {
			cut_end(&name, first);
			cut_place(&place, o->by,
				  o->columns > used ? o->columns - used : FILE_MIN_WIDTH);
		}
		pad = width(&name) < first && place.len ? first - width(&name) : 0;
		print_row(f, a, &a->rows[i], o);
		fprintf(f, "%s%*s%s%s\n", name.data ? name.data : "", (int)pad, "",
			place.len ? "  " : "", place.data ? place.data : "");
	}
	if (n < a->n)
		fprintf(f, "# %zu more; -n 0 prints all\n", a->n - n);
	if (a->n == 0)
		fprintf(f, "# no samples: nothing that was asked for ran while it was recorded\n");
	buf_release(&name);
	buf_release(&place);
}
