/*
 * The engine on one process, tick after tick; prints what it took as JSON.
 *
 * engine [-anst] [-w MICROSECONDS] PID SECONDS
 *   -a  read threads that run, too
 *   -n  the scheduler's facts from /proc, not from BPF
 *   -s  list the stacks that were seen
 *   -t  measure the parts of a tick
 *   -w  sleep so long between ticks
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/num.h"
#include "output/jsonw.h"
#include "remote/guard.h"
#include "remote/procmem.h"
#include "tests/bench/tick.h"

static const char *const part_names[PART_MAX] = {
	[PART_TASKS] = "tasks",	    [PART_READV] = "readv",   [PART_WALK] = "walk",
	[PART_RESOLVE] = "resolve", [PART_INTERN] = "intern",
};

struct engine {
	bool proc, list;
	uint64_t pause_us, duration_ns;
	struct timed memory;
	struct guard *guard;
	struct discover_found found;
	struct bpf *bpf;
	struct ticker ticker;
	struct mem_stats before; /* what attaching and the first tick took */
	uint64_t readings_before;
	uint64_t cpu_ns, wall_ns;
	struct buf text; /* why it could not start */
};

static int timed_readv(struct mem *m, struct mem_seg *segs, size_t n)
{
	struct timed *t = container_of(m, struct timed, mem);
	uint64_t start = t->on ? clock_mono() : 0, calls = t->real->stats.calls;
	int err = mem_readv(t->real, segs, n);

	m->stats.calls += t->real->stats.calls - calls;
	if (t->on)
		t->ns += clock_mono() - start;
	return err;
}

static void timed_free(struct mem *m)
{
	mem_free(container_of(m, struct timed, mem)->real);
}

static const struct mem_ops timed_ops = {.readv = timed_readv, .free = timed_free};

static int make_facts(struct engine *e)
{
	struct bpf_options o = {0};
	const uint32_t pid = (uint32_t)e->ticker.pid;
	int err = e->proc ? 0 : ns_self(&o.ns);

	if (!err && !e->proc)
		err = bpf_load(&e->bpf, &o, &e->text);
	if (!err)
		err = tasks_new(e->bpf, &e->ticker.tasks, &e->text);
	if (!err && e->proc)
		err = tasks_follow(e->ticker.tasks, &pid, 1);
	return err;
}

static int make_reader(struct engine *e)
{
	struct discover *d = discover_new();
	struct ticker *t = &e->ticker;
	int err = procmem_new_guarded(t->pid, e->guard, &e->memory.real);

	if (err || !d) {
		discover_free(d);
		return err ? err : -ENOMEM;
	}
	e->memory.mem.ops = &timed_ops;
	e->memory.on = t->time;
	t->memory = &e->memory;
	if (discover_process(d, t->pid, &e->memory.mem, &e->found) != DISCOVER_OK) {
		buf_puts(&e->text, discover_reason(e->found.why));
		err = -ENOENT;
	}
	discover_free(d);
	if (err)
		return err;
	t->names = names_new();
	t->walks = t->names ? walkcache_new(t->names) : NULL;
	t->reader = reader_new(&e->found, &e->memory.mem);
	if (t->names)
		t->code = pycode_new(t->names, &e->found.layout, e->found.types, e->found.runtime);
	return t->walks && t->reader && t->code ? 0 : -ENOMEM;
}

static int loop(void *arg)
{
	struct engine *e = arg;
	struct timespec pause = {.tv_sec = (time_t)(e->pause_us / 1000000),
				 .tv_nsec = (long)(e->pause_us % 1000000) * 1000};
	uint64_t start, cpu;
	int err = make_reader(e);

	if (!err)
		err = tick(&e->ticker); /* the first reads all names */
	if (err)
		return err;
	tick_forget(&e->ticker);
	e->before = e->memory.real->stats;
	e->readings_before = reader_get_stats(e->ticker.reader)->reads;
	e->memory.ns = 0;
	cpu = clock_cpu_self();
	start = clock_mono();
	while (!err && clock_mono() - start < e->duration_ns) {
		err = tick(&e->ticker);
		if (e->pause_us)
			nanosleep(&pause, NULL);
	}
	e->cpu_ns = clock_cpu_self() - cpu;
	e->wall_ns = clock_mono() - start;
	e->ticker.counts.parts[PART_READV] = e->memory.ns;
	return err;
}

/* "name (file)", as in folded output */
static void put_frame(struct jsonw *j, const struct names *n, uint32_t id)
{
	const struct frame *f = names_frame_at(n, id);
	size_t name_len, file_len;
	const char *name = names_string_at(n, f->func, &name_len);
	const char *file = names_string_at(n, f->file, &file_len);
	struct buf b;

	buf_init(&b);
	buf_put(&b, name, name_len);
	if (f->kind != FRAME_MARKER) {
		buf_puts(&b, " (");
		buf_put(&b, file, file_len);
		buf_puts(&b, ")");
	}
	jsonw_str(j, NULL, b.data ? b.data : "", b.len);
	buf_release(&b);
}

static void put_frames(struct jsonw *j, const struct names *n, uint32_t stack)
{
	uint32_t callers, frame;

	if (stack == STACK_EMPTY)
		return;
	names_stack_at(n, stack, &callers, &frame);
	put_frames(j, n, callers);
	put_frame(j, n, frame);
}

/* [[outcome, how often, [frames, root first]], …] */
static void put_stacks(struct jsonw *j, const struct ticker *t)
{
	size_t i, o;

	jsonw_array(j, "stacks");
	for (i = 0; i < t->n_seen; i++)
		for (o = 0; o < OUTCOME_MAX; o++) {
			if (!t->seen[i][o])
				continue;
			jsonw_array(j, NULL);
			jsonw_str(j, NULL, outcome_name(o), strlen(outcome_name(o)));
			jsonw_u64(j, NULL, t->seen[i][o]);
			jsonw_array(j, NULL);
			put_frames(j, t->names, (uint32_t)i);
			jsonw_end(j, ']');
			jsonw_end(j, ']');
		}
	jsonw_end(j, ']');
}

static void print(const struct engine *e)
{
	const struct tick_counts *c = &e->ticker.counts;
	const struct mem_stats *m = &e->memory.real->stats;
	struct jsonw j;
	size_t i;

	jsonw_init(&j, stdout);
	jsonw_object(&j, NULL);
	jsonw_bool(&j, "live", tasks_live(e->ticker.tasks));
	jsonw_u64(&j, "ticks", c->ticks);
	jsonw_u64(&j, "failed_ticks", c->failed_ticks);
	jsonw_u64(&j, "threads", c->threads);
	jsonw_u64(&j, "read", c->read);
	jsonw_u64(&j, "left", c->left);
	jsonw_u64(&j, "ran", c->ran);
	jsonw_u64(&j, "cpu_ns", e->cpu_ns);
	jsonw_u64(&j, "wall_ns", e->wall_ns);
	jsonw_u64(&j, "calls_before", e->before.calls);
	jsonw_u64(&j, "calls", m->calls - e->before.calls);
	jsonw_u64(&j, "readings", reader_get_stats(e->ticker.reader)->reads - e->readings_before);
	jsonw_u64(&j, "segments", m->segments - e->before.segments);
	jsonw_u64(&j, "bytes", m->bytes - e->before.bytes);
	jsonw_object(&j, "outcomes");
	for (i = 0; i < OUTCOME_MAX; i++)
		jsonw_u64(&j, outcome_name(i), c->outcomes[i]);
	jsonw_end(&j, '}');
	jsonw_object(&j, "parts");
	for (i = 0; i < PART_MAX && e->ticker.time; i++)
		jsonw_u64(&j, part_names[i], c->parts[i]);
	jsonw_end(&j, '}');
	if (e->list)
		put_stacks(&j, &e->ticker);
	jsonw_end(&j, '}');
	putchar('\n');
}

static int options(struct engine *e, int argc, char **argv)
{
	uint64_t pid;
	int c;

	while ((c = getopt(argc, argv, "anstw:")) != -1) {
		if (c == 'a')
			e->ticker.all = true;
		else if (c == 'n')
			e->proc = true;
		else if (c == 's')
			e->list = true;
		else if (c == 't')
			e->ticker.time = true;
		else if (c != 'w' || num_u64(optarg, 1, 1000000000, &e->pause_us))
			return -EINVAL;
	}
	if (argc - optind != 2 || num_u64(argv[optind], 1, INT32_MAX, &pid) ||
	    num_seconds(argv[optind + 1], 3600 * NSEC_PER_SEC, &e->duration_ns))
		return -EINVAL;
	e->ticker.pid = (pid_t)pid;
	return 0;
}

int main(int argc, char **argv)
{
	struct engine e = {0};
	int err, result;

	buf_init(&e.text);
	if (options(&e, argc, argv)) {
		fprintf(stderr, "usage: engine [-anst] [-w MICROSECONDS] PID SECONDS\n");
		return 64;
	}
	err = make_facts(&e);
	if (!err)
		err = guard_new(GUARD_LIMIT_NS, &e.guard);
	if (!err)
		err = guard_run(e.guard, loop, &e, &result);
	if (!err)
		err = result;
	if (err)
		fprintf(stderr, "engine: %s%s%s\n", strerror(-err), e.text.len ? ": " : "",
			e.text.len ? e.text.data : "");
	else
		print(&e);
	tick_release(&e.ticker);
	reader_free(e.ticker.reader);
	pycode_free(e.ticker.code);
	walkcache_free(e.ticker.walks);
	names_free(e.ticker.names);
	tasks_free(e.ticker.tasks);
	bpf_unload(e.bpf);
	mem_free(e.memory.real);
	guard_free(e.guard);
	buf_release(&e.text);
	return err ? 1 : 0;
}
