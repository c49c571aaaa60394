/* arm64: registers of the interrupted code, and where a thread's pointer is kept. */
#ifndef SCRY_VMLINUX_ARM64_H
#define SCRY_VMLINUX_ARM64_H

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};

typedef struct user_pt_regs bpf_user_pt_regs_t;

#define REGS_IP(regs) ((regs)->pc)
#define REGS_USER(regs) (!((regs)->pstate & 0xf)) /* the interrupted code was user space's */
/* The general registers; offsets into a program's context must be constants. */
#define REGS_COUNT 31
#define REGS_COPY(to, from)                                                                        \
	_Pragma("unroll") for (int i_ = 0; i_ < REGS_COUNT; i_++)(to)[i_] = (from)->regs[i_]

/* What a thread that is in the kernel asked for; another task's registers. */
#define SYSCALL_FUTEX 98
#define SYSCALL_FUTEX_WAIT 455 /* since 6.7 */
#define REGS_SYSCALL(regs) ((regs)->syscallno)
#define REGS_ARG0(regs) ((regs)->orig_x0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	struct {
		unsigned long tp_value; /* tpidr_el0: pthread_self() is a constant distance off */
	} uw;
};

/* The kernel's own, around a user_pt_regs. */
struct pt_regs {
	__u64 orig_x0;
	__s32 syscallno;
};

#pragma clang attribute pop

#define THREAD_POINTER thread.uw.tp_value /* of a task_struct */

#endif
