/*
 * The thread pointers of a process's threads, where neither the kernel nor Python tells them.
 *
 * A thread state of 3.8 - 3.10 has its thread's pthread_self and no more. Without BPF that of a
 * thread is not known; but the C library's structure there holds the kernel's id of it.
 */
#include "collect/pointers.h"

#include <errno.h>
#include "base/clock.h"
#include "python/nativeid.h"

#define POINTERS_NS (100 * NSEC_PER_MSEC) /* between two looks for threads that are missing */

bool pointers_needed(const struct process *p)
{
	return p->found.layout.tstate.native_thread_id == LAYOUT_NONE;
}

static bool is_complete(const struct roster *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->v[i].thread_ptr)
			return false;
	return true;
}

static void note(struct roster *r, uint32_t ns_tid, uint64_t thread_ptr)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].ns_tid == ns_tid)
			r->v[i].thread_ptr = thread_ptr;
}

/* From 3.11 on the state says it. */
static bool id_of(const struct process *p, const struct thread_state *s, uint32_t *ret)
{
	*ret = (uint32_t)s->native_id;
	if (!s->thread_id)
		return false;
	return pointers_needed(p) ? !nativeid_read(p->mem, s->thread_id, ret) : *ret != 0;
}

int pointers_find(struct process *p, uint64_t now, bool names)
{
	const struct thread_state *v;
	size_t n, i;
	uint32_t id;
	int err;

	if (!(names || pointers_needed(p)) || now < p->list_next || is_complete(&p->roster))
		return 0;
	p->list_next = now + POINTERS_NS;
	err = reader_list(p->reader, &v, &n);
	if (err)
		return err == -ENOMEM ? err : 0;
	for (i = 0; i < n; i++)
		if (id_of(p, &v[i], &id))
			note(&p->roster, id, v[i].thread_id);
	for (i = 0; i < p->roster.n; i++)
		p->roster.v[i].looked = true;
	return 0;
}
