/* Facts of threads by one run of a BPF program that visits them all. */
#include "collect/tasks_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <bpf/bpf.h>

#include "bpf/task.h"

struct tasks_run {
	struct bpf_tasks_run bpf;
};

int tasks_run_new(struct bpf *bpf, struct tasks_run **ret)
{
	struct tasks_run *t = calloc(1, sizeof(*t));
	int err = t ? bpf_tasks_run(bpf, &t->bpf) : -ENOMEM;

	if (err) {
		free(t);
		return err;
	}
	*ret = t;
	return 0;
}

void tasks_run_free(struct tasks_run *t)
{
	free(t);
}

int tasks_run_pass(struct tasks_run *t, uint32_t pid, struct tasks_list *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	size_t threads;
	uint32_t n;
	int err;

	t->bpf.pass->pid = pid;
	err = bpf_prog_test_run_opts(t->bpf.prog_fd, &opts);
	if (err)
		return err;
	n = t->bpf.pass->next;
	if (n >= TASK_RUN_MAX)
		return -ENOSPC;
	return tasks_iter_take(t->bpf.records, n * sizeof(struct task_record), out, &threads);
}
