/* Facts about a process and its threads from /proc. */
#ifndef SCRY_TARGET_TASK_H
#define SCRY_TARGET_TASK_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/buf.h"

/* What tells one image (program loaded by exec) from every other; fork copies it. */
struct image_id {
	uint64_t start_code;  /* mm->start_code: field 26 of /proc/PID/stat */
	uint64_t start_stack; /* mm->start_stack: field 28 */
};

struct task_stat {
	char comm[64];
	char state;
	pid_t ppid;
	uint64_t start_ticks;  /* since boot, in clock ticks (field 22) */
	uint64_t utime, stime; /* clock ticks */
	uint32_t threads;
	struct image_id image;
};

/* Parses the text of a stat file; a name may hold anything, also ')' and newlines. 0 or -EINVAL. */
int task_parse_stat(const char *text, size_t len, struct task_stat *ret);
bool task_same_image(const struct image_id *a, const struct image_id *b);
bool task_ended(const struct task_stat *s); /* waits for its parent, or is just going */
/* 0, -ESRCH or another -errno. tid 0: the process's own stat. */
int task_stat(pid_t pid, pid_t tid, struct task_stat *ret);
/*
 * The process's own; of one whose first thread has ended before the others, state and image are
 * those of another thread, *ret_tid (may be NULL). -ESRCH also when all have ended (a zombie).
 */
int task_stat_process(pid_t pid, struct task_stat *ret, pid_t *ret_tid);
/* CPU time in nanoseconds and the run count of one thread (schedstat fields 1 and 3). */
int task_schedstat(pid_t pid, pid_t tid, uint64_t *ret_cpu_ns, uint64_t *ret_runs);
/* The name of a thread: /proc/PID/task/TID/comm without its newline. */
int task_comm(pid_t pid, pid_t tid, char *buf, size_t size);
/* Appends up to max bytes of the command line, spaces for NULs; may be empty (zombie). */
int task_cmdline(pid_t pid, size_t max, struct buf *b);
int task_tgid(pid_t tid, pid_t *ret); /* the process that it is a thread of */
int task_uid(pid_t pid, uid_t *ret);  /* the effective one, as ps(1) shows it */
/* The thread's id in its own innermost pid namespace (last number of NSpid). */
int task_nspid(pid_t pid, pid_t tid, pid_t *ret);
/* Pages mapped executable, what the kernel's mm->exec_vm counts (VmExe and VmLib together). */
int task_exec_pages(pid_t pid, uint64_t *ret);

/* Appends the value of one line of a thread's status file ("NSpid"); -ENOENT: no such line. */
int task_status(pid_t pid, pid_t tid, const char *key, struct buf *b);

/* Calls fn for every process (every thread of pid) until it returns non-zero, which is returned. */
int task_each_process(int (*fn)(pid_t pid, void *arg), void *arg);
int task_each_thread(pid_t pid, int (*fn)(pid_t tid, void *arg), void *arg);

/*
 * The container id in the text of /proc/PID/cgroup: 64 hex digits, or ECS's 32 and a number; the
 * last one of a path, which is the innermost. 0, -ENOENT or -ENOSPC (size).
 */
int task_container(const char *cgroup_text, char *buf, size_t size);
int task_container_of(pid_t pid, char *buf, size_t size);

#endif
