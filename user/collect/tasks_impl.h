/* What tasks.c and its two sources of facts share; for no one else. */
#ifndef SCRY_COLLECT_TASKS_IMPL_H
#define SCRY_COLLECT_TASKS_IMPL_H

#include "collect/bpf.h"
#include "target/sched.h"

#define TASKS_MAX (1u << 20) /* threads that one pass takes */

/* What a pass found, in any order. */
struct tasks_list {
	struct sched_facts *v;
	size_t n, cap;
	uint32_t *unknown;
	size_t n_unknown, cap_unknown;
};

int tasks_list_add(struct tasks_list *l, const struct sched_facts *f); /* 0 or -ENOMEM */
int tasks_list_add_unknown(struct tasks_list *l, uint32_t pid);
void tasks_list_sort(struct tasks_list *l); /* by pid and tid */
void tasks_list_release(struct tasks_list *l);

struct tasks_iter;

/* 0 or -errno: the kernel has no task iterators, or refuses them. */
int tasks_iter_new(struct bpf *bpf, struct tasks_iter **ret);
void tasks_iter_free(struct tasks_iter *t);
/* The threads of pid (0: of all that are sampled) are added to *out. 0 or -errno. */
int tasks_iter_pass(struct tasks_iter *t, uint32_t pid, struct tasks_list *out);
/* Adds what records say; raw: len bytes of struct task_record. *ret_threads: how many the process
 * of the last one has. 0 or -ENOMEM. */
int tasks_iter_take(const void *raw, size_t len, struct tasks_list *out, size_t *ret_threads);

struct tasks_run;

/* The same two; a pass is -ENOSPC where there are more threads than it has room for. */
int tasks_run_new(struct bpf *bpf, struct tasks_run **ret);
void tasks_run_free(struct tasks_run *t);
int tasks_run_pass(struct tasks_run *t, uint32_t pid, struct tasks_list *out);

struct tasks_proc;

int tasks_proc_new(struct tasks_proc **ret);
void tasks_proc_free(struct tasks_proc *t);
int tasks_proc_follow(struct tasks_proc *t, const uint32_t *pids, size_t n);
int tasks_proc_pass(struct tasks_proc *t, uint32_t pid, struct tasks_list *out);

#endif
