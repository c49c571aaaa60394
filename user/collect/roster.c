/*
 * The threads of one process as wall-clock mode knows them.
 *
 * Both the array and the facts of a pass are in the order of thread ids, so following is one run
 * over the two side by side: no table is asked. Nearly always the set is the same as before, and
 * nothing moves.
 */
#include "collect/roster.h"

#include <errno.h>
#include <stdlib.h>
#include "base/vec.h"

void roster_release(struct roster *r)
{
	free(r->v);
	free(r->spare);
	*r = (struct roster){0};
}

static bool is_same(const struct roster_thread *t, const struct sched_facts *f)
{
	return t->tid == f->tid && t->start == f->start;
}

bool roster_is_of(const struct roster *r, const struct sched_facts *f, size_t n)
{
	size_t i;

	if (r->n != n)
		return false;
	for (i = 0; i < n; i++)
		if (!is_same(&r->v[i], &f[i]))
			return false;
	return true;
}

static void swap_arrays(struct roster *r, size_t n)
{
	struct roster_thread *v = r->v;
	size_t cap = r->cap;

	r->v = r->spare;
	r->cap = r->cap_spare;
	r->n = n;
	r->spare = v;
	r->cap_spare = cap;
}

int roster_follow(struct roster *r, const struct sched_facts *f, size_t n)
{
	size_t old = 0, i;

	if (roster_is_of(r, f, n))
		return 0;
	if (vec_reserve(&r->spare, &r->cap_spare, n, sizeof(*r->spare)))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		while (old < r->n && r->v[old].tid < f[i].tid)
			old++;
		if (old < r->n && is_same(&r->v[old], &f[i]))
			r->spare[i] = r->v[old];
		else
			r->spare[i] = (struct roster_thread){
				.tid = f[i].tid,
				.id = ROSTER_NONE,
				.ns_tid = f[i].ns_tid,
				.start = f[i].start,
				.fresh = true,
				.stack = ROSTER_NONE,
				.ticket = ROSTER_NONE,
			};
	}
	swap_arrays(r, n);
	return 0;
}

bool roster_unchanged(const struct roster_thread *t, const struct sched_facts *f)
{
	bool known = t->stack != ROSTER_NONE || t->ticket != ROSTER_NONE;

	return known && t->runs == f->runs && t->cpu_ns == f->cpu_ns;
}

uint64_t roster_untold(const struct roster_thread *t, uint64_t time, uint64_t cpu_ns)
{
	uint64_t passed = time > t->told ? time - t->told : 0;
	uint64_t ran = cpu_ns > t->told_cpu ? cpu_ns - t->told_cpu : 0;

	return passed > ran ? passed - ran : 0;
}

uint64_t roster_tell(struct roster_thread *t, uint64_t time, uint64_t cpu_ns)
{
	uint64_t ns = roster_untold(t, time, cpu_ns);

	t->told = MAX(t->told, time);
	t->told_cpu = MAX(t->told_cpu, cpu_ns);
	t->untold = 0;
	return ns;
}

bool roster_has(const struct roster *r, uint32_t tid)
{
	size_t low = 0, high = r->n, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (r->v[at].tid == tid)
			return true;
		if (r->v[at].tid < tid)
			low = at + 1;
		else
			high = at;
	}
	return false;
}
