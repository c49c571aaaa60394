/* One image of one process: its threads, and what the kernel side was told of it. */
#include "collect/process.h"

#include <stdlib.h>
#include "base/clock.h"
#include "collect/pyname.h"

#define PROCESS_MAX_THREADS 4096 /* that are remembered without looking at when they were seen */
#define PROCESS_FORGET_NS (10 * NSEC_PER_SEC)
#define PROCESS_SWEEP_NS NSEC_PER_SEC /* between two looks for threads to forget */

struct process *process_new(uint32_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (p)
		p->pid = pid;
	return p;
}

static void forget_thread(struct process *p, struct process_thread *th)
{
	HASH_DEL(p->threads, th);
	free(th);
}

void process_free(struct process *p)
{
	struct process_thread *th, *tmp;
	struct process_pointer *ptr, *next;

	HASH_ITER (hh, p->threads, th, tmp)
		forget_thread(p, th);
	HASH_ITER (hh, p->pointers, ptr, next) {
		HASH_DEL(p->pointers, ptr);
		free(ptr);
	}
	roster_release(&p->roster);
	reader_free(p->reader);
	pyname_free(p->names);
	pycode_free(p->code);
	mem_free(p->mem);
	free(p->queries);
	free(p);
}

bool process_same(const struct process *p)
{
	struct task_stat st;

	return task_stat((pid_t)p->pid, 0, &st) == 0 && task_same_image(&st.image, &p->image);
}

static void add_reader(const struct reader_stats *r, struct stats *ret)
{
	ret->v[STAT_WALKS] += r->walks;
	ret->v[STAT_BATCHES] += r->batches;
	ret->v[STAT_BATCHES_COMPLETE] += r->batches_complete;
	ret->v[STAT_TSTATE_RIGHT] += r->tstate.right;
	ret->v[STAT_TSTATE_WRONG] += r->tstate.wrong;
	ret->v[STAT_TSTATE_UNUSED] += r->tstate.unused;
	ret->v[STAT_LEAF_RIGHT] += r->leaf.right;
	ret->v[STAT_LEAF_WRONG] += r->leaf.wrong;
	ret->v[STAT_LEAF_UNUSED] += r->leaf.unused;
	ret->v[STAT_CHUNK_RIGHT] += r->chunk.right;
	ret->v[STAT_CHUNK_WRONG] += r->chunk.wrong;
	ret->v[STAT_CHUNK_UNUSED] += r->chunk.unused;
}

void process_stats(const struct process *p, struct stats *ret)
{
	const struct pycode_stats *code = p->code ? pycode_get_stats(p->code) : NULL;

	*ret = p->stats;
	if (p->mem) {
		ret->v[STAT_CALLS] += p->mem->stats.calls;
		ret->v[STAT_SEGMENTS] += p->mem->stats.segments;
		ret->v[STAT_BYTES] += p->mem->stats.bytes;
	}
	if (p->reader)
		add_reader(reader_get_stats(p->reader), ret);
	if (code) {
		ret->v[STAT_CODE_HITS] += code->hits;
		ret->v[STAT_CODE_MISSES] += code->misses;
		ret->v[STAT_CODE_RETIRED] += code->retired;
	}
}

struct process_thread *process_thread_find(struct process *p, uint32_t tid, uint64_t start,
					   uint64_t time)
{
	struct process_thread *th;

	HASH_FIND(hh, p->threads, &tid, sizeof(tid), th);
	if (th && th->start != start) {
		forget_thread(p, th);
		th = NULL;
	}
	if (th)
		th->last = time;
	return th;
}

static void forget_old(struct process *p, uint64_t now)
{
	struct process_thread *th, *tmp;

	p->sweep_next = now + PROCESS_SWEEP_NS;
	HASH_ITER (hh, p->threads, th, tmp)
		if (now - th->last > PROCESS_FORGET_NS && !roster_has(&p->roster, th->tid))
			forget_thread(p, th);
}

struct process_thread *process_thread_add(struct process *p, uint32_t tid, uint64_t start,
					  uint64_t time)
{
	struct process_thread *th = calloc(1, sizeof(*th));

	if (!th)
		return NULL;
	if (HASH_COUNT(p->threads) >= PROCESS_MAX_THREADS && time >= p->sweep_next)
		forget_old(p, time);
	th->tid = tid;
	th->start = start;
	th->last = time;
	HASH_ADD(hh, p->threads, tid, sizeof(th->tid), th);
	return th;
}

void process_tell(struct process *p, struct bpf *bpf, uint64_t thread_ptr, raddr_t tstate)
{
	struct process_pointer *ptr;

	HASH_FIND(hh, p->pointers, &thread_ptr, sizeof(thread_ptr), ptr);
	if (!ptr) {
		ptr = calloc(1, sizeof(*ptr));
		if (!ptr)
			return; /* the kernel side finds it by a walk */
		ptr->thread_ptr = thread_ptr;
		HASH_ADD(hh, p->pointers, thread_ptr, sizeof(ptr->thread_ptr), ptr);
	}
	if (ptr->tstate == tstate)
		return;
	ptr->tstate = tstate;
	bpf_thread_set(bpf, p->pid, thread_ptr, tstate);
}

void process_untell(struct process *p, struct bpf *bpf)
{
	struct process_pointer *ptr;

	for (ptr = p->pointers; ptr; ptr = ptr->hh.next)
		bpf_thread_del(bpf, p->pid, ptr->thread_ptr);
	bpf_target_del(bpf, p->pid);
}
