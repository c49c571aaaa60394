/*
 * A system call that can be given up, and the switch of stacks that it needs, in assembly: between
 * the moment it publishes that a call is on its way and the moment it has got its stack back, a
 * thread must not touch that stack, and no compiler promises this.
 */
#include "remote/guard_switch.h"

_Static_assert(offsetof(struct guard_switch, sp) == 0, "used below");
_Static_assert(offsetof(struct guard_switch, word) == 8, "used below");
_Static_assert(offsetof(struct guard_switch, gone) == 16, "used below");

#define FUNCTION(name)                                                                             \
	".pushsection .text\n.balign 16\n.globl " name "\n.hidden " name "\n"                      \
	".type " name ", %function\n" name ":\n"
#define END(name) ".size " name ", . - " name "\n.popsection\n"

#if defined(__x86_64__)

#define SAVE "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
#define RESTORE "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"

/* clang-format off */
__asm__(FUNCTION("guard_switch_call")
	SAVE
	"mov	%rdi, %rbx\n"		/* s */
	"mov	%rdx, %r12\n"		/* word */
	"mov	0(%rsi), %rax\n"	/* all arguments first: regs may lie on the stack */
	"mov	8(%rsi), %rdi\n"
	"mov	24(%rsi), %rdx\n"
	"mov	32(%rsi), %r10\n"
	"mov	40(%rsi), %r8\n"
	"mov	48(%rsi), %r9\n"
	"mov	16(%rsi), %rsi\n"
	"mov	%rsp, 0(%rbx)\n"
	"mov	%r12, 8(%rbx)\n"	/* from here on the stack may be taken over */
	"syscall\n"
	"mov	%rax, %r13\n"
	"mov	%r12, %rax\n"
	"lea	-1(%r12), %rcx\n"
	"lock cmpxchg %rcx, 8(%rbx)\n"
	"jne	1f\n"
	"mov	%r13, %rax\n"		/* the stack is ours again */
	RESTORE
	"1:\n"
	"xor	%edi, %edi\n"
	"mov	$60, %eax\n"		/* exit: of this thread */
	"movq	$1, 16(%rbx)\n"
	"syscall\n"
	"ud2\n"
	END("guard_switch_call")

	FUNCTION("guard_switch_to")
	SAVE
	"mov	%rsp, 0(%rdi)\n"
	"mov	%rsi, %rsp\n"
	"mov	%rdx, %rax\n"
	RESTORE
	END("guard_switch_to"));
/* clang-format on */

#elif defined(__aarch64__)

#define SAVE                                                                                       \
	"stp	x29, x30, [sp, #-160]!\nstp x19, x20, [sp, #16]\nstp x21, x22, [sp, #32]\n"           \
	"stp	x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\nstp x27, x28, [sp, #80]\n"              \
	"stp	d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"              \
	"stp	d14, d15, [sp, #144]\n"
#define RESTORE                                                                                    \
	"ldp	d14, d15, [sp, #144]\nldp d12, d13, [sp, #128]\nldp d10, d11, [sp, #112]\n"           \
	"ldp	d8, d9, [sp, #96]\nldp x27, x28, [sp, #80]\nldp x25, x26, [sp, #64]\n"                \
	"ldp	x23, x24, [sp, #48]\nldp x21, x22, [sp, #32]\nldp x19, x20, [sp, #16]\n"              \
	"ldp	x29, x30, [sp], #160\nret\n"

/* clang-format off */
__asm__(FUNCTION("guard_switch_call")
	SAVE
	"mov	x19, x0\n"		/* s */
	"mov	x20, x2\n"		/* word */
	"add	x21, x0, #8\n"
	"sub	x22, x2, #1\n"
	"mov	x9, x1\n"
	"ldr	x8, [x9]\n"		/* all arguments first: regs may lie on the stack */
	"ldp	x0, x1, [x9, #8]\n"
	"ldp	x2, x3, [x9, #24]\n"
	"ldp	x4, x5, [x9, #40]\n"
	"mov	x9, sp\n"
	"str	x9, [x19]\n"
	"stlr	x20, [x21]\n"		/* from here on the stack may be taken over */
	"svc	#0\n"
	"1:\n"
	"ldaxr	x9, [x21]\n"
	"cmp	x9, x20\n"
	"b.ne	2f\n"
	"stlxr	w10, x22, [x21]\n"
	"cbnz	w10, 1b\n"
	RESTORE				/* the stack is ours again */
	"2:\n"
	"clrex\n"
	"mov	x0, #0\n"
	"mov	x8, #93\n"		/* exit: of this thread */
	"mov	x9, #1\n"
	"add	x10, x19, #16\n"
	"stlr	x9, [x10]\n"
	"svc	#0\n"
	"brk	#0\n"
	END("guard_switch_call")

	FUNCTION("guard_switch_to")
	SAVE
	"mov	x9, sp\n"
	"str	x9, [x0]\n"
	"mov	sp, x1\n"
	"mov	x0, x2\n"
	RESTORE
	END("guard_switch_to"));
/* clang-format on */

#else
#error "guard_switch: this machine's registers are not described here"
#endif
