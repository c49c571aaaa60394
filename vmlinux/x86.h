/* x86-64: registers of the interrupted code, and where a thread's pointer is kept. */
#ifndef SCRY_VMLINUX_X86_H
#define SCRY_VMLINUX_X86_H

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

#define REGS_IP(regs) ((regs)->ip)
#define REGS_USER(regs) ((regs)->cs & 3) /* the interrupted code was user space's */
/* The general registers, which come first; offsets into a program's context must be constants. */
#define REGS_COUNT 15
#define REGS_COPY(to, regs)                                                                        \
	_Pragma("unroll") for (int i_ = 0; i_ < REGS_COUNT; i_++)(to)[i_] = (&(regs)->r15)[i_]

/* What a thread that is in the kernel asked for; another task's registers. */
#define SYSCALL_FUTEX 202
#define SYSCALL_FUTEX_WAIT 455 /* since 6.7 */
#define REGS_SYSCALL(regs) ((regs)->orig_ax)
#define REGS_ARG0(regs) ((regs)->di)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	unsigned long fsbase; /* what pthread_self() gives, with glibc and musl */
};

#pragma clang attribute pop

#define THREAD_POINTER thread.fsbase /* of a task_struct */

#endif
