/* What the scheduler says of a thread at one moment. */
#include "target/sched.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "target/task.h"

#define SCHED_MAX_SYSCALL 4096

#ifdef SYS_futex_wait
#define SCHED_FUTEX_WAIT SYS_futex_wait
#else
#define SCHED_FUTEX_WAIT 455 /* since Linux 6.7, on every machine */
#endif

/* Bits of the kernel's task_struct.__state and exit_state, as they are since 4.14. */
enum {
	STATE_INTERRUPTIBLE = 0x1,
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_STOPPED = 0x4,
	STATE_TRACED = 0x8,
	STATE_EXIT = 0x10 | 0x20,
	STATE_DEAD = 0x80,
	STATE_WAKING = 0x200,
	STATE_FROZEN = 0x8000, /* since 6.1 */
};

bool sched_off_cpu(const struct sched_facts *f)
{
	return f->state != SCHED_ON_CPU && (f->live || f->state != SCHED_RUNNABLE);
}

bool sched_stood_still(const struct sched_facts *a, const struct sched_facts *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->start == b->start && a->live == b->live &&
	       sched_off_cpu(a) && sched_off_cpu(b) && a->runs == b->runs && a->cpu_ns == b->cpu_ns;
}

enum sched_state sched_kernel_state(uint32_t state)
{
	if (state & (STATE_EXIT | STATE_DEAD))
		return SCHED_DEAD;
	if (state & STATE_WAKING)
		return SCHED_RUNNABLE;
	if (state & (STATE_STOPPED | STATE_TRACED))
		return SCHED_STOPPED;
	if (state & (STATE_UNINTERRUPTIBLE | STATE_FROZEN))
		return SCHED_BLOCKED;
	return state & STATE_INTERRUPTIBLE ? SCHED_SLEEPING : SCHED_RUNNABLE;
}

static enum sched_state letter_state(char letter)
{
	switch (letter) {
	case 'R':
		return SCHED_ON_CPU;
	case 'D':
	case 'I':
	case 'P':
		return SCHED_BLOCKED;
	case 'T':
	case 't':
		return SCHED_STOPPED;
	case 'Z':
	case 'X':
	case 'x':
		return SCHED_DEAD;
	default:
		return SCHED_SLEEPING;
	}
}

int sched_parse_syscall(const char *text, bool *ret_off_cpu, uint64_t *ret_futex)
{
	const char *s = text;
	uint64_t nr, arg;
	bool none;
	int err;

	if (!strncmp(s, "running", strlen("running"))) {
		*ret_off_cpu = false;
		*ret_futex = 0;
		return 0;
	}
	none = *s == '-'; /* not in a system call */
	s += none;
	err = num_scan(&s, 10, &nr);
	if (err || strncmp(s, " 0x", 3))
		return -EINVAL;
	s += 3;
	err = num_scan(&s, 16, &arg);
	if (err)
		return err;
	*ret_off_cpu = true;
	*ret_futex = !none && (nr == SYS_futex || nr == SCHED_FUTEX_WAIT) ? arg : 0;
	return 0;
}

/* A thread that has ended is off its CPU. */
static int read_syscall(uint32_t pid, uint32_t tid, bool *ret_off_cpu, uint64_t *ret_futex)
{
	char path[64];
	struct buf b;
	int err;

	buf_init(&b);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	err = file_read(path, SCHED_MAX_SYSCALL, &b);
	if (!err)
		err = sched_parse_syscall(b.data, ret_off_cpu, ret_futex);
	buf_release(&b);
	return err == -ENOENT ? -ESRCH : err;
}

/*
 * The order makes "has not run" exact. The run count is that of arrivals on a CPU, so it is read
 * first; then `syscall`, for which the kernel waits until the thread is off its CPU, or says
 * "running". Had the thread run after that and before the second pass, its arrival would be in the
 * second pass's count. The letter in `stat` proves nothing: a thread that is about to sleep is an S
 * that runs.
 */
int sched_read(uint32_t pid, uint32_t tid, struct sched_facts *ret)
{
	struct sched_facts f = {.pid = pid, .tid = tid};
	struct task_stat st;
	bool off = false;
	int err;

	err = task_schedstat((pid_t)pid, (pid_t)tid, &f.cpu_ns, &f.runs);
	if (!err)
		err = read_syscall(pid, tid, &off, &f.futex);
	if (!err)
		err = task_stat((pid_t)pid, (pid_t)tid, &st);
	if (err)
		return err;
	f.state = letter_state(st.state);
	if (!off && f.state != SCHED_DEAD)
		f.state = SCHED_ON_CPU;
	f.start = clock_of_ticks(st.start_ticks);
	*ret = f;
	return 0;
}
