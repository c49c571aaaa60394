/* Sample a fake target with the real programs and keep what the kernel side says of it. */
#include "tests/support/capture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define RATE 1000
#define TIMEOUT_NS (10 * NSEC_PER_SEC)
#define BYTES_MAX (1 << 20)
#define ADDR(p) ((uint64_t)(uintptr_t)(p))

static void on_sample(void *arg, const struct assembled *s)
{
	struct capture *c = arg;
	size_t used = 0;

	if (s->sample->task.pid != c->pid || s->sample->task.time < c->since || c->samples++)
		return; /* the first one is kept */
	c->sample = *s->sample;
	c->count = s->count;
	for (size_t i = 0; i < s->count; i++) {
		c->pieces[i] = s->pieces[i];
		memcpy(c->bytes + used, s->pieces[i].data, s->pieces[i].len);
		c->pieces[i].data = c->bytes + used;
		used += s->pieces[i].len;
	}
}

static void on_unknown(void *arg, const struct event_unknown *u)
{
	struct capture *c = arg;

	if (u->task.pid != c->pid || u->task.time < c->since)
		return;
	c->unknowns++;
	c->unknown = *u;
}

static void on_life(void *arg, enum event_kind kind, const struct event_life *l)
{
	struct capture *c = arg;

	if (l->pid != c->pid || l->time < c->since)
		return;
	c->life = *l;
	if (kind == EVENT_EXEC)
		c->execs++;
	else
		c->exits++;
}

static void on_record(void *arg, const void *data, size_t len)
{
	struct capture *c = arg;

	assemble_record(c->assemble, data, len);
}

void capture_begin(struct capture *c, uint32_t pid)
{
	c->pid = pid;
	c->since = clock_mono();
	c->samples = c->unknowns = c->execs = c->exits = 0;
}

bool capture_wait(struct capture *c, enum capture_what what)
{
	const uint32_t *counters[] = {&c->samples, &c->unknowns, &c->execs, &c->exits};
	uint64_t start = clock_mono();

	while (!*counters[what] && clock_mono() - start < TIMEOUT_NS)
		if (ring_poll(c->ring, 10) < 0)
			return false;
	return *counters[what] != 0;
}

bool capture_next(struct capture *c, enum capture_what what, uint32_t pid)
{
	capture_begin(c, pid);
	return capture_wait(c, what);
}

void capture_know(struct capture *c, const struct target_layout *l)
{
	cr_assert_eq(bpf_layout_set(c->bpf, 0, l), 0);
	c->entry = (struct target){
		.pid = c->target.pid,
		.state = TARGET_PYTHON,
		.start_code = c->task.start_code,
		.start_stack = c->task.start_stack,
		.start_boottime = c->task.start_boottime,
		.exec_vm = c->task.exec_vm,
		.runtime = ADDR(c->target.w),
		.gil = ADDR(&c->target.w->interp[0].gil),
	};
	cr_assert_eq(bpf_target_set(c->bpf, &c->entry), 0);
}

void capture_init(struct capture *c, const struct bpf_options *o)
{
	static const struct assemble_ops ops = {
		.sample = on_sample, .unknown = on_unknown, .life = on_life};
	struct bpf_options defaults = {0};
	struct perf_options p = {.event = "cpu-clock", .freq = RATE};
	struct target_layout layout = faketarget_layout();
	struct buf err;

	if (geteuid())
		cr_skip_test("needs root");
	memset(c, 0, sizeof(*c));
	c->bytes = malloc(BYTES_MAX);
	buf_init(&err);
	cr_assert_eq(bpf_load(&c->bpf, o ? o : &defaults, &err), 0, "%s", err.data);
	p.prog_fd = bpf_tick_fd(c->bpf);
	cr_assert_eq(perf_open(&c->perf, &p, &err), 0, "%s", err.data);
	c->assemble = assemble_new(&ops, c);
	cr_assert_eq(ring_open(&c->ring, bpf_ring_fd(c->bpf), on_record, c), 0);
	cr_assert(faketarget_start(&c->target));
	cr_assert_eq(perf_enable(c->perf), 0);
	cr_assert(capture_next(c, CAPTURE_UNKNOWN, c->target.pid));
	c->task = c->unknown.task;
	capture_know(c, &layout);
}

void capture_release(struct capture *c)
{
	struct assemble_stats s;

	assemble_stats(c->assemble, &s);
	cr_expect_eq(s.bad, 0);
	faketarget_stop(&c->target);
	perf_close(c->perf);
	ring_close(c->ring);
	assemble_free(c->assemble);
	bpf_unload(c->bpf);
	free(c->bytes);
}

const void *capture_find(const struct capture *c, uint32_t kind, const void *addr, size_t len)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct assembled_piece *p = &c->pieces[i];

		if (p->kind == kind && ADDR(addr) >= p->addr &&
		    ADDR(addr) + len <= p->addr + p->len)
			return p->data + (ADDR(addr) - p->addr);
	}
	return NULL;
}

size_t capture_count(const struct capture *c, uint32_t kind)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->pieces[i].kind == kind;
	return n;
}
