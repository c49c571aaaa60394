/* A system call that can be given up, and the switch of stacks that it needs. See guard.c. */
#ifndef SCRY_REMOTE_GUARD_SWITCH_H
#define SCRY_REMOTE_GUARD_SWITCH_H

#include "base/compiler.h"

/* Given up: the thread that made the call must not come back from it. Even, and no call's word. */
#define GUARD_SWITCH_ABANDONED (UINT64_MAX - 1)

/* Shared with the assembly: offsets are asserted in guard_switch.c. */
struct guard_switch {
	void *sp;      /* where the caller's stack stood when the call was made */
	uint64_t word; /* odd while a call is on its way; whoever changes it owns the caller's stack
			*/
	uint64_t gone; /* 1: the thread of a call given up has left, and touches nothing any more */
};

/*
 * Makes system call regs[0] with arguments regs[1..6] and returns what the kernel says. `word` is
 * odd and new for each call; it is what s->word is while the call is on its way.
 * When s->word is made GUARD_SWITCH_ABANDONED meanwhile, this function returns (once) to where it
 * was called from on the thread that calls guard_switch_to(…, s->sp, …). The thread that made the
 * call ends when it comes back, without using its stack.
 */
long guard_switch_call(struct guard_switch *s, const long regs[7], uint64_t word);
/*
 * Saves the registers that a function must keep and the stack pointer in *save, goes to stack `to`,
 * which this function or the one above has saved, and returns `value` there.
 */
long guard_switch_to(void **save, void *to, long value);

#endif
