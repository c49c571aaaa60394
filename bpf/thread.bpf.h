/*
 * Which PyThreadState the interrupted thread runs, found and proven.
 *
 * A thread state is the thread's own when its thread_id equals the thread pointer now *and* the
 * list of its interpreter links to it: thread_id alone proves nothing (freed states keep it, pools
 * reuse thread pointers), and of freed states none passes the link check. Sources, cheapest first:
 * the GIL's last holder, the map `threads`, a bounded walk of the lists of all interpreters.
 *
 * Several states may carry one thread pointer: a thread being born carries its creator's (3.8 -
 * 3.11), and with sub-interpreters a thread has one in each. Then the one that holds its
 * interpreter's GIL is the one that runs; else the oldest (towards the end of the list) that has a
 * frame.
 */
#ifndef SCRY_BPF_THREAD_BPF_H
#define SCRY_BPF_THREAD_BPF_H

#include "bpf/maps.bpf.h"

#define LIST_TRIES 2

enum thread_rank { THREAD_NONE, THREAD_IDLE, THREAD_FRAME, THREAD_HOLDER };

/* The first frame, through the CFrame where there is one; of the state in t->tstate. */
static __always_inline __u64 thread_frame(struct tick *t)
{
	__u64 frame = tstate_word(t, t->layout.tstate_frame);
	int failed = 0;

	if (t->layout.frame_hop == TARGET_NONE || !frame)
		return frame;
	frame = read_word(frame + t->layout.frame_hop, &failed);
	if (failed)
		t->sample.flags |= EVENT_TSTATE_FAILED;
	return frame;
}

static __always_inline __u64 thread_id_wanted(const struct tick *t)
{
	return t->sample.task.thread_ptr + (__s32)t->layout.thread_ptr_delta;
}

/* Copies the state to t->tstate and proves it: 1 this thread's, 0 not, -1 not readable. */
__attribute__((noinline)) int thread_prove(__u64 tstate)
{
	struct tick *t = tick_get();
	__u64 link, back;
	__u32 len;
	int failed = 0;

	if (!t)
		return -1;
	len = t->layout.tstate_read;
	if (len > TARGET_TSTATE_MAX)
		len = TARGET_TSTATE_MAX;
	if (bpf_probe_read_user(t->tstate, len, (void *)tstate))
		return -1;
	if (tstate_word(t, t->layout.tstate_thread_id) != thread_id_wanted(t))
		return 0;
	link = tstate_word(t, t->layout.tstate_prev);
	if (link)
		link += t->layout.tstate_next;
	else
		link = tstate_word(t, t->layout.tstate_interp) + t->layout.interp_threads_head;
	back = read_word(link, &failed);
	return !failed && back == tstate;
}

/* The last holder of a GIL; *locked is whether it holds it now. */
static __always_inline __u64 gil_read(const struct tick *t, __u64 gil, bool *locked)
{
	struct {
		__u64 holder;
		__u32 locked, pad;
	} words = {};
	int failed = 0;

	/* neighbours in every version so far */
	if (t->layout.gil_locked == t->layout.gil_holder + 8) {
		failed = bpf_probe_read_user(&words, sizeof(words),
					     (void *)(gil + t->layout.gil_holder));
	} else {
		words.holder = read_word(gil + t->layout.gil_holder, &failed);
		words.locked = read_word(gil + t->layout.gil_locked, &failed);
	}
	*locked = !failed && words.locked == 1;
	return failed ? 0 : words.holder;
}

/* Does the proven state in t->tstate hold the GIL of its interpreter, shared or its own? */
static __always_inline bool thread_holds(struct tick *t, __u64 tstate)
{
	__u32 pointer = t->layout.interp_gil_ptr;
	__u64 gil;
	bool locked;
	int failed = 0;

	if (t->sample.gil_holder == tstate && (t->sample.flags & EVENT_HOLDS_GIL))
		return true;
	if (!t->target.gil || !pointer || pointer == TARGET_NONE ||
	    !(t->sample.flags & EVENT_MANY_INTERPS))
		return false;
	gil = read_word(tstate_word(t, t->layout.tstate_interp) + pointer, &failed);
	return !failed && gil && gil_read(t, gil, &locked) == tstate && locked;
}

/* Weighs a state of the list whose thread_id fits; the older of equals wins. */
static __always_inline void list_weigh(struct tick *t, __u64 tstate)
{
	__u32 rank;

	if (thread_prove(tstate) != 1) {
		t->sample.flags |= EVENT_LIST_FAILED; /* the list is being changed right now */
		return;
	}
	if (thread_holds(t, tstate))
		rank = THREAD_HOLDER;
	else
		rank = thread_frame(t) ? THREAD_FRAME : THREAD_IDLE;
	if (rank >= t->list.rank) {
		t->list.rank = rank;
		t->list.best = tstate;
	}
}

/* A state on the way: its interpreter must be the one whose list this is, or the state has been
 * freed under our feet, and what its links say is nothing to conclude from. */
static __always_inline void list_pass(struct tick *t, __u64 tstate)
{
	const struct target_layout *l = &t->layout;
	struct {
		__u64 next, interp;
	} s = {};
	int failed = 0;
	__u64 id;

	if (l->tstate_interp == l->tstate_next + 8) { /* in every version so far */
		failed = bpf_probe_read_user(&s, sizeof(s), (void *)(tstate + l->tstate_next));
	} else {
		s.next = read_word(tstate + l->tstate_next, &failed);
		s.interp = read_word(tstate + l->tstate_interp, &failed);
	}
	id = read_word(tstate + l->tstate_thread_id, &failed);
	if (failed || s.interp != t->list.interp) {
		t->sample.flags |= EVENT_LIST_FAILED;
		return;
	}
	t->list.tstate = s.next;
	if (id == thread_id_wanted(t))
		list_weigh(t, tstate);
}

/* One step over interpreters and their states; 1: the walk is over. */
__attribute__((noinline)) int list_step(void)
{
	struct tick *t = tick_get();
	int failed = 0;

	if (!t)
		return 1;
	if (t->list.tstate) {
		list_pass(t, t->list.tstate);
	} else if (!t->list.next) {
		t->sample.flags |= EVENT_LIST_ENDED;
		return 1;
	} else {
		t->list.interp = t->list.next;
		t->list.tstate = read_word(t->list.interp + t->layout.interp_threads_head, &failed);
		t->list.next = read_word(t->list.interp + t->layout.interp_next, &failed);
		if (failed)
			t->sample.flags |= EVENT_LIST_FAILED;
	}
	return (t->sample.flags & EVENT_LIST_FAILED) || t->list.rank == THREAD_HOLDER;
}

__attribute__((noinline)) int list_turn(void)
{
	ROLLED
	for (int i = 0; i < TURNS; i++)
		if (list_step())
			return 1;
	return 0;
}

static __always_inline __u64 list_walk(struct tick *t)
{
	int i;

	t->list.next = t->sample.interp;
	t->list.tstate = 0;
	t->list.best = 0;
	t->list.rank = THREAD_NONE;
	ROLLED
	for (i = 0; i < TURNS; i++)
		if (list_turn())
			break;
	if (i == TURNS)
		t->sample.flags |= EVENT_LIST_CUT;
	if (!t->list.best || thread_prove(t->list.best) != 1)
		return 0;
	return t->list.best;
}

/* Other threads come and go on other CPUs meanwhile: a walk that failed is tried once more. */
static __always_inline __u64 thread_by_walk(struct tick *t)
{
	__u64 found = 0;

	if (t->sample.flags & EVENT_LIST_FAILED)
		return 0; /* not even the first interpreter could be read */
	for (int i = 0; i < LIST_TRIES && !found; i++) {
		t->sample.flags &= ~EVENT_LIST_FAILED;
		found = list_walk(t);
		if (!(t->sample.flags & EVENT_LIST_FAILED))
			break;
	}
	if (found)
		t->sample.flags |= EVENT_BY_WALK;
	return found;
}

static __always_inline __u64 thread_by_map(struct tick *t)
{
	struct target_thread_key key = {.pid = t->sample.task.pid,
					.thread_ptr = t->sample.task.thread_ptr};
	struct target_thread *found = bpf_map_lookup_elem(&threads, &key);
	__u64 tstate;

	if (!found)
		return 0;
	tstate = found->tstate;
	if (thread_prove(tstate) != 1)
		return 0;
	if ((t->sample.flags & EVENT_MANY_INTERPS) && !thread_holds(t, tstate))
		return 0;
	t->sample.flags |= EVENT_BY_MAP;
	return tstate;
}

/* The last holder is sure while it holds the GIL; afterwards only if no other interpreter's state
 * may have taken over this thread. */
static __always_inline __u64 thread_by_gil(struct tick *t)
{
	__u64 holder = t->sample.gil_holder;

	if (!holder ||
	    (t->sample.flags & (EVENT_MANY_INTERPS | EVENT_HOLDS_GIL)) == EVENT_MANY_INTERPS)
		return 0;
	if (thread_prove(holder) != 1)
		return 0;
	t->sample.flags |= EVENT_BY_GIL;
	return holder;
}

static __always_inline void thread_interpreters(struct tick *t)
{
	int failed = 0;

	t->sample.interp = read_word(t->target.runtime + t->layout.runtime_interp_head, &failed);
	if (t->sample.interp && read_word(t->sample.interp + t->layout.interp_next, &failed))
		t->sample.flags |= EVENT_MANY_INTERPS;
	if (failed)
		t->sample.flags |= EVENT_LIST_FAILED;
}

/* Fills tstate, interp, GIL words and their flags; leaves the state's bytes in t->tstate. */
__attribute__((noinline)) int thread_find(void)
{
	struct tick *t = tick_get();
	struct event_sample *s;
	__u64 tstate;
	bool locked = false, holds;

	if (!t)
		return 0;
	s = &t->sample;
	thread_interpreters(t);
	if (t->target.gil) {
		s->gil_holder = gil_read(t, t->target.gil, &locked);
		if (locked)
			s->flags |= EVENT_HOLDS_GIL; /* by somebody; whether by us, below */
	}
	tstate = thread_by_gil(t);
	if (!tstate)
		tstate = thread_by_map(t);
	if (!tstate)
		tstate = thread_by_walk(t);
	s->tstate = tstate;
	holds = tstate && thread_holds(t, tstate);
	if (tstate)
		s->interp = tstate_word(t, t->layout.tstate_interp);
	s->flags &= ~EVENT_HOLDS_GIL;
	if (holds)
		s->flags |= EVENT_HOLDS_GIL;
	return tstate != 0;
}

/* Words of the interpreter that say whether what is read later is what ran now. */
static __always_inline void thread_words(struct tick *t)
{
	const struct target_layout *l = &t->layout;
	struct event_sample *s = &t->sample;
	__u32 word = 0;
	__u64 gc = 0;

	if (l->interp_gc_collecting != TARGET_NONE)
		gc = s->interp + l->interp_gc_collecting;
	else if (l->gc_collecting_runtime != TARGET_NONE)
		gc = t->target.runtime + l->gc_collecting_runtime;
	if (gc && !bpf_probe_read_user(&word, sizeof(word), (void *)gc) && word)
		s->flags |= EVENT_GC;
	if (l->interp_counter != TARGET_NONE &&
	    !bpf_probe_read_user(&word, sizeof(word), (void *)(s->interp + l->interp_counter))) {
		s->counter = word;
		s->flags |= EVENT_COUNTER;
	}
	if (l->interp_generation != TARGET_NONE &&
	    !bpf_probe_read_user(&s->generation, sizeof(s->generation),
				 (void *)(s->interp + l->interp_generation)))
		s->flags |= EVENT_GENERATION;
}

#endif
