/*
 * Wall ticks that the kernel makes, and tells of when something has changed.
 *
 * The timer is that of tasksrun.bpf.c, whose memory is mapped: which processes it looks at is
 * written there, and it notices at its next tick. It ends with the map that it is in, that is with
 * us, however we end.
 */
#include "collect/ticker.h"

#include <errno.h>
#include <stdlib.h>
#include <bpf/bpf.h>

#include "base/clock.h"
#include "collect/ring.h"
#include "collect/tasks_impl.h"

#define TICKER_STALL_NS NSEC_PER_SEC

struct ticker {
	struct bpf_tasks_run bpf;
	struct ring *ring;
	ticker_fn fn;
	void *arg;
	struct tasks_list list;
	uint64_t overflow; /* timer->overflow when it was looked at last */
	int error;
};

static void on_tick(void *arg, const void *data, size_t len)
{
	const struct task_tick *head = data;
	struct ticker *t = arg;
	struct ticker_tick tick;
	size_t threads;
	int err;

	if (t->error || len < sizeof(*head))
		return;
	t->list.n = 0;
	err = tasks_iter_take(head + 1, len - sizeof(*head), &t->list, &threads);
	if (!err && t->list.n) {
		tasks_list_sort(&t->list);
		tick = (struct ticker_tick){
			.pid = head->pid,
			.unchanged = head->unchanged,
			.time = head->time,
			.before = head->before,
			.v = t->list.v,
			.n = t->list.n,
		};
		err = t->fn(t->arg, &tick);
	}
	t->error = err;
}

int ticker_new(struct bpf *bpf, uint64_t period, ticker_fn fn, void *arg, struct ticker **ret)
{
	struct ticker *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	if (err)
		return err;
	t->fn = fn;
	t->arg = arg;
	err = bpf_tasks_run(bpf, &t->bpf);
	if (!err)
		err = ring_open(&t->ring, t->bpf.ticks_fd, on_tick, t);
	if (err) {
		ticker_free(t);
		return err;
	}
	t->bpf.timer->period = period;
	*ret = t;
	return 0;
}

void ticker_free(struct ticker *t)
{
	if (!t)
		return;
	if (t->bpf.timer)
		ticker_watch(t, NULL, 0);
	ring_close(t->ring);
	tasks_list_release(&t->list);
	free(t);
}

static bool is_among(uint32_t pid, const uint32_t *pids, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static struct task_watch *find(const struct ticker *t, uint32_t pid)
{
	struct task_watch *w;

	for (w = t->bpf.watch; w < t->bpf.watch + TASK_WATCH_MAX; w++)
		if (w->pid == pid)
			return w;
	return NULL;
}

/* Written at once: a tick may read it meanwhile. */
static void set(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

static uint32_t used(const struct ticker *t)
{
	uint32_t i, n = 0;

	for (i = 0; i < TASK_WATCH_MAX; i++)
		if (t->bpf.watch[i].pid)
			n = i + 1;
	return n;
}

static int start(struct ticker *t)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	t->bpf.timer->start = 1;
	err = bpf_prog_test_run_opts(t->bpf.prog_fd, &opts);
	t->bpf.timer->start = 0; /* if it did not run: the next pass is not to start it */
	return err ? err : (int)opts.retval;
}

/* It sets itself for its next tick, which the kernel may have refused. */
static bool has_stalled(const struct ticker *t)
{
	return clock_mono() > t->bpf.timer->slot + 2 * t->bpf.timer->period + TICKER_STALL_NS;
}

static void write_watch(struct ticker *t, const uint32_t *pids, size_t n)
{
	struct task_watch *w;
	size_t i;

	for (w = t->bpf.watch; w < t->bpf.watch + TASK_WATCH_MAX; w++)
		if (w->pid && !is_among(w->pid, pids, n))
			set(&w->pid, 0);
	for (i = 0; i < n; i++)
		if (!find(t, pids[i]))
			set(&find(t, 0)->pid, pids[i]);
	set(&t->bpf.timer->watched, used(t));
}

int ticker_watch(struct ticker *t, const uint32_t *pids, size_t n)
{
	bool crowded, runs;
	int err;

	if (!t)
		return 0;
	crowded = t->overflow != t->bpf.timer->overflow || n > TASK_WATCH_MAX;
	runs = t->bpf.timer->watched && !has_stalled(t);
	t->overflow = t->bpf.timer->overflow;
	write_watch(t, pids, crowded ? 0 : n);
	if (crowded)
		return -E2BIG;
	err = n && !runs ? start(t) : 0;
	if (err)
		write_watch(t, NULL, 0);
	return err;
}

int ticker_take(struct ticker *t)
{
	int err;

	if (!t)
		return 0;
	err = ring_take(t->ring);
	return t->error ? t->error : err;
}

uint32_t ticker_rest(const struct ticker *t, uint32_t pid, uint64_t time, uint64_t *ret_before)
{
	const struct task_watch *w;

	for (w = t->bpf.watch; w < t->bpf.watch + TASK_WATCH_MAX; w++) {
		if (w->seen != pid || w->told != time)
			continue;
		*ret_before = w->before;
		return w->unchanged;
	}
	return 0;
}

struct ring *ticker_ring(const struct ticker *t)
{
	return t ? t->ring : NULL;
}

uint64_t ticker_missed(const struct ticker *t)
{
	return t ? t->bpf.timer->missed : 0;
}
