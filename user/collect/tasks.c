/*
 * The scheduler's facts of all threads at one moment: by a run of a BPF program; where the kernel
 * can't, or for more threads than that takes, by a BPF task iterator; or from /proc.
 */
#include "collect/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "collect/tasks_impl.h"

struct tasks {
	struct bpf *bpf;	    /* NULL: from /proc */
	struct tasks_run *run;	    /* NULL: not on this kernel */
	struct tasks_iter *iter;    /* NULL: not needed so far */
	struct tasks_proc *proc;    /* the other one */
	struct tasks_list lists[2]; /* of the last pass over all, and of the last over one */
	struct tasks_stats stats;
};

int tasks_list_add(struct tasks_list *l, const struct sched_facts *f)
{
	int err = vec_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v));

	if (!err)
		l->v[l->n++] = *f;
	return err;
}

int tasks_list_add_unknown(struct tasks_list *l, uint32_t pid)
{
	int err = vec_reserve(&l->unknown, &l->cap_unknown, l->n_unknown + 1, sizeof(*l->unknown));

	if (!err)
		l->unknown[l->n_unknown++] = pid;
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct sched_facts *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Mostly it is sorted already. */
void tasks_list_sort(struct tasks_list *l)
{
	size_t i = 1;

	while (i < l->n && compare(&l->v[i - 1], &l->v[i]) < 0)
		i++;
	if (i < l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare);
}

void tasks_list_release(struct tasks_list *l)
{
	free(l->v);
	free(l->unknown);
	*l = (struct tasks_list){0};
}

/* How facts are had; 0 or -errno. */
static int open_source(struct tasks *t, struct bpf *bpf, struct buf *ret_text)
{
	int err;

	if (bpf && tasks_run_new(bpf, &t->run))
		t->run = NULL;
	err = bpf && !t->run ? tasks_iter_new(bpf, &t->iter) : 0;
	if (err && ret_text)
		buf_printf(ret_text,
			   "the kernel gives no task iterator (%s): what threads do is read from "
			   "/proc, which costs more",
			   strerror(-err));
	if (bpf && !err) {
		t->bpf = bpf;
		return 0;
	}
	return tasks_proc_new(&t->proc);
}

int tasks_new(struct bpf *bpf, struct tasks **ret, struct buf *ret_text)
{
	struct tasks *t = calloc(1, sizeof(*t));
	int err = t ? open_source(t, bpf, ret_text) : -ENOMEM;

	if (err) {
		tasks_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	tasks_run_free(t->run);
	tasks_iter_free(t->iter);
	tasks_proc_free(t->proc);
	for (size_t i = 0; i < ARRAY_SIZE(t->lists); i++)
		tasks_list_release(&t->lists[i]);
	free(t);
}

bool tasks_live(const struct tasks *t)
{
	return t->bpf;
}

static int look(struct tasks *t, uint32_t pid, struct tasks_list *l)
{
	int err = t->run ? tasks_run_pass(t->run, pid, l) : -ENOSPC;

	if (err != -ENOSPC)
		return err;
	if (!t->bpf)
		return tasks_proc_pass(t->proc, pid, l);
	if (!t->iter) {
		err = tasks_iter_new(t->bpf, &t->iter);
		if (err)
			return err;
	}
	return tasks_iter_pass(t->iter, pid, l);
}

int tasks_pass(struct tasks *t, uint32_t pid, struct tasks_view *ret)
{
	struct tasks_list *l = &t->lists[pid != 0];
	uint64_t time = clock_mono();
	int err;

	l->n = 0;
	l->n_unknown = 0;
	err = look(t, pid, l);
	if (!err && pid && !l->n)
		err = -ESRCH;
	if (err)
		return err;
	tasks_list_sort(l);
	t->stats.passes++;
	t->stats.tasks += l->n;
	*ret = (struct tasks_view){.v = l->v,
				   .n = l->n,
				   .unknown = l->unknown,
				   .n_unknown = l->n_unknown,
				   .time = time};
	return 0;
}

int tasks_follow(struct tasks *t, const uint32_t *pids, size_t n)
{
	return t->proc ? tasks_proc_follow(t->proc, pids, n) : 0;
}

int tasks_ticker(struct tasks *t, uint64_t period, ticker_fn fn, void *arg, struct ticker **ret)
{
	return t->run ? ticker_new(t->bpf, period, fn, arg, ret) : -EOPNOTSUPP;
}

void tasks_get_stats(const struct tasks *t, struct tasks_stats *ret)
{
	*ret = t->stats;
}
