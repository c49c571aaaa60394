/* A live recording: who is called when. The path of one sample is pipeline.c's. */
#include "collect/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "base/log.h"
#include "collect/session_impl.h"

#define SESSION_DRAIN_NS (100 * NSEC_PER_MSEC) /* between looks at the ring, unless it calls */
#define SESSION_YOUNG_NS NSEC_PER_SEC /* a process may end soon: its names are read early */
#define SESSION_DRAIN_YOUNG_NS (10 * NSEC_PER_MSEC)
#define SESSION_TICK_NS (500 * NSEC_PER_MSEC)	 /* sink and progress */
#define SESSION_RESCAN_NS (1000 * NSEC_PER_MSEC) /* CPUs that came or went */
#define SESSION_LOOP_NAME "scry-recording" /* of the thread, from the moment that it samples */

/* What session_run() was given. */
struct run {
	struct session *s;
	volatile sig_atomic_t *stop;
	bool (*done)(void *);
	void (*progress)(const struct session_progress *, void *);
	void *arg;
	uint64_t next_drain, next_tick, next_rescan;
};

static void keep_error(struct session *s, int err)
{
	if (!s->error)
		s->error = err;
}

static void on_sample(void *arg, const struct assembled *a)
{
	struct session *s = arg;

	keep_error(s, pipeline_sample(s->pipeline, a));
}

static void on_unknown(void *arg, const struct event_unknown *u)
{
	struct session *s = arg;

	targets_unknown(s->targets, u);
}

static void on_life(void *arg, enum event_kind kind, const struct event_life *l)
{
	struct session *s = arg;

	if (kind == EVENT_EXEC)
		targets_exec(s->targets, l);
	else
		targets_exit(s->targets, l);
}

const struct assemble_ops session_records = {
	.sample = on_sample,
	.unknown = on_unknown,
	.life = on_life,
};

/* → there may be more. */
static bool drain(struct session *s, int timeout_ms)
{
	bool more = ring_poll(s->ring, timeout_ms) > 0;
	int err = s->o.no_bpf ? targets_poll(s->targets, clock_mono()) : 0;

	if (!err && s->wall)
		err = wall_release(s->wall);
	if (!err)
		err = pipeline_flush(s->pipeline, !more);
	if (s->wall)
		wall_settle(s->wall);
	targets_reap(s->targets);
	keep_error(s, err ? err : targets_error(s->targets));
	return more;
}

static void report_progress(struct run *r, uint64_t now)
{
	struct session *s = r->s;
	struct session_progress v = {.elapsed_ns = now - s->start};
	uint64_t counters[EVENT_CTR_MAX] = {0};
	struct pipeline_counts c;

	if (!r->progress)
		return;
	pipeline_get_counts(s->pipeline, &c);
	if (bpf_counters(s->bpf, counters) == 0)
		v.lost = counters[EVENT_CTR_LOST];
	v.samples = c.samples;
	v.processes = targets_python(s->targets);
	r->progress(&v, r->arg);
}

static bool over(struct run *r, uint64_t now)
{
	struct session *s = r->s;

	if (*r->stop || s->error || (r->done && r->done(r->arg)))
		return true;
	if (s->o.duration_ns && now - s->start >= s->o.duration_ns)
		return true;
	/* a launched command's end is known by done() */
	return s->o.n_pids && !s->o.launched && !targets_alive(s->targets);
}

/* When the ring is to be looked at next, unless it calls. */
static uint64_t drain_at(const struct session *s, uint64_t now, uint64_t next_try)
{
	bool young = now - targets_newest(s->targets) < SESSION_YOUNG_NS ||
		     (s->o.no_bpf && !targets_python(s->targets));
	uint64_t until = now + (young ? SESSION_DRAIN_YOUNG_NS : SESSION_DRAIN_NS);

	until = MIN(until, next_try);
	if (s->o.duration_ns)
		until = MIN(until, s->start + s->o.duration_ns);
	return until;
}

static int timeout_ms(uint64_t now, uint64_t until)
{
	return until <= now ? 0 : (int)((until - now) / NSEC_PER_MSEC) + 1;
}

/* What is written by then is there whatever becomes of us. */
static void tick(struct session *s, uint64_t now)
{
	if (!s->error && s->wall)
		s->error = wall_release_all(s->wall);
	if (!s->error)
		s->error = s->sink->ops->tick(s->sink, now, clock_real());
}

/* Makes the wall ticks that are due before the ring is, or takes those that the kernel made; one
 * system call each, to wait for it. */
static void tick_until(struct run *r)
{
	struct session *s = r->s;
	uint64_t now = clock_mono(), at;
	bool woken = false;

	while (!woken && now < r->next_drain && !*r->stop && !s->error &&
	       !pipeline_full(s->pipeline)) {
		at = MIN(wall_next(s->wall), r->next_drain);
		woken = at > now && ring_wait(s->ring, wall_ring(s->wall), at - now);
		now = clock_mono();
		keep_error(s, wall_told(s->wall));
		if (now >= wall_next(s->wall))
			keep_error(s, wall_tick(s->wall, now));
	}
}

static int loop(void *arg)
{
	struct run *r = arg;
	struct session *s = r->s;
	uint64_t now = clock_mono();

	prctl(PR_SET_NAME, SESSION_LOOP_NAME);
	if (s->wall)
		s->error = wall_start(s->wall, s->start);
	while (!over(r, now)) {
		r->next_drain = drain_at(s, now, targets_retry(s->targets, now));
		if (s->wall)
			tick_until(r);
		drain(s, s->wall ? 0 : timeout_ms(now, r->next_drain));
		now = clock_mono();
		if (now >= r->next_tick) {
			r->next_tick = now + SESSION_TICK_NS;
			tick(s, now);
			report_progress(r, now);
		}
		if (now >= r->next_rescan) {
			r->next_rescan = now + SESSION_RESCAN_NS;
			perf_rescan(s->perf);
		}
	}
	perf_disable(s->perf);
	s->end = clock_mono();
	if (s->wall && !s->error)
		s->error = wall_end(s->wall, s->end);
	s->idle_end = clock_idle();
	while (drain(s, 0) && !s->error)
		; /* no tick follows: the ring comes to its end */
	if (s->wall && !s->error)
		s->error = wall_release_all(s->wall);
	return 0;
}

enum session_error session_new(const struct session_options *o, struct sink *sink,
			       struct session **ret, struct buf *ret_text)
{
	struct session *s = calloc(1, sizeof(*s));
	enum session_error e;

	if (!s) {
		buf_puts(ret_text, "not enough memory");
		return SESSION_INTERNAL;
	}
	s->o = *o;
	s->sink = sink;
	s->made = clock_mono();
	e = session_start(s, ret_text);
	if (e) {
		session_free(s);
		return e;
	}
	*ret = s;
	return SESSION_OK;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	perf_close(s->perf);
	ring_close(s->ring);
	wall_free(s->wall);
	tasks_free(s->tasks);
	pipeline_free(s->pipeline);
	targets_free(s->targets);
	assemble_free(s->assemble);
	bpf_unload(s->bpf);
	guard_free(s->guard);
	names_free(s->names);
	free(s);
}

int session_stats(const struct session *s, struct stats_table *ret)
{
	return targets_stats(s->targets, ret);
}

static int tell_stats(const struct session *s)
{
	struct stats_table t;
	int err;

	if (!s->o.stats)
		return 0;
	err = session_stats(s, &t);
	if (err)
		return err;
	for (size_t i = 0; i < t.n && !err; i++)
		err = s->sink->ops->stats(s->sink, t.rows[i].process, &t.rows[i].v);
	stats_release(&t);
	return err;
}

enum session_error session_run(struct session *s, volatile sig_atomic_t *stop, bool (*done)(void *),
			       void (*progress)(const struct session_progress *, void *), void *arg,
			       struct buf *ret_text)
{
	struct run r = {.s = s, .stop = stop, .done = done, .progress = progress, .arg = arg};
	struct summary sum;
	int result, err;

	s->start = clock_mono();
	s->idle_start = clock_idle();
	r.next_tick = s->start + SESSION_TICK_NS;
	r.next_rescan = s->start + SESSION_RESCAN_NS;
	err = perf_enable(s->perf);
	if (!err)
		err = guard_run(s->guard, loop, &r, &result);
	if (err) {
		buf_printf(ret_text, "can't start sampling: %s", strerror(-err));
		s->sink->ops->end(s->sink, NULL);
		return SESSION_INTERNAL;
	}
	session_summary(s, &sum);
	if (!s->error)
		s->error = tell_stats(s);
	err = s->sink->ops->end(s->sink, s->error ? NULL : &sum);
	if (s->error || err) {
		buf_printf(ret_text, "writing the recording: %s",
			   strerror(s->error ? -s->error : -err));
		return SESSION_OUTPUT;
	}
	return SESSION_OK;
}

size_t session_processes(const struct session *s)
{
	return targets_python(s->targets);
}

int session_refused(const struct session *s, int (*fn)(pid_t pid, const char *reason, void *arg),
		    void *arg)
{
	return targets_refused(s->targets, fn, arg);
}

static void kernel_part(const struct session *s, struct summary *ret)
{
	uint64_t c[EVENT_CTR_MAX] = {0};
	struct bpf_usage u = {0};
	struct assemble_stats a;

	assemble_stats(s->assemble, &a);
	bpf_counters(s->bpf, c);
	bpf_usage(s->bpf, &u);
	ret->ticks = c[EVENT_CTR_TICKS];
	ret->idle = c[EVENT_CTR_IDLE];
	ret->lost = c[EVENT_CTR_LOST] + a.bad;
	log_info("%" PRIu64 " ticks asked for, %" PRIu64 " came; %" PRIu64 " records, %" PRIu64
		 " of them damaged; %" PRIu64 " notices lost",
		 perf_asked(s->perf), ret->ticks, a.records, a.bad, c[EVENT_CTR_LOST_OTHER]);
	ret->other += c[EVENT_CTR_OTHER];
	ret->bpf_ns = u.run_ns;
	ret->map_bytes = u.map_bytes;
	/* the ring is mapped: as resident memory it would count once more, and twice at that */
	ret->peak_rss_bytes += u.map_bytes - MIN(u.mapped_bytes, ret->peak_rss_bytes);
}

/*
 * Ticks a second and CPU, in thousandths. The clock of a CPU that sleeps may not tick at all: of
 * idle time it is taken for granted, so that what is missing is what was lost.
 */
static uint64_t reached(const struct session *s, const struct summary *v)
{
	double all = (double)v->duration_ns * perf_cpus(s->perf), ticks = (double)v->ticks, idle;

	if (s->o.no_bpf)
		return UINT64_MAX; /* there are only those of the timer */
	if (all <= 0)
		return 0;
	if (s->o.freq && perf_is_clock(s->o.event)) {
		idle = MIN((double)(s->idle_end - s->idle_start), all);
		ticks += idle / NSEC_PER_SEC * (double)s->o.rate - (double)v->idle;
	}
	return (uint64_t)(ticks * 1e12 / all);
}

/* The timer of wall ticks is one more thing that can fall behind. */
static uint64_t wall_reached(const struct session *s, const struct summary *v)
{
	struct wall_counts c;

	if (!s->wall || !v->duration_ns)
		return UINT64_MAX;
	wall_get_counts(s->wall, &c);
	log_info("%" PRIu64 " wall ticks; %" PRIu64 " samples of threads that had not run", c.ticks,
		 c.unchanged);
	return (uint64_t)((double)c.ticks * 1e12 / (double)v->duration_ns);
}

void session_summary(const struct session *s, struct summary *ret)
{
	struct pipeline_counts p;
	struct targets_counts t;
	struct rusage ru;
	size_t i;

	*ret = (struct summary){0};
	pipeline_get_counts(s->pipeline, &p);
	targets_get_counts(s->targets, &t);
	ret->samples = p.samples;
	ret->unnamed = p.unnamed;
	ret->other = p.other;
	for (i = 0; i < OUTCOME_MAX; i++)
		ret->outcomes[i] = p.outcomes[i];
	for (i = 0; i < RUN_MAX; i++) {
		ret->states[i] = p.states[i];
		ret->weights[i] = p.weights[i];
	}
	ret->processes = t.processes;
	ret->threads = t.threads;
	ret->refused = t.refused;
	ret->reads = t.reads;
	ret->read_bytes = t.read_bytes;
	if (getrusage(RUSAGE_SELF, &ru) == 0)
		ret->peak_rss_bytes = (uint64_t)ru.ru_maxrss * 1024;
	kernel_part(s, ret);
	ret->cpu_ns = clock_cpu_self();
	ret->duration_ns = s->end - s->start;
	ret->load_ns = s->load_ns;
	ret->startup_ns = s->start - s->made;
	if (s->o.freq)
		ret->rate_asked_mhz = s->o.rate * 1000;
	ret->rate_reached_mhz = MIN(reached(s, ret), wall_reached(s, ret));
}
