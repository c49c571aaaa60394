/* The task iterator: a record of each thread, written to whoever reads. */
#include "bpf/tasks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before each pass: kernels before 6.1 can't narrow a link to a process. */
__u32 only_pid = 0;

SEC("iter/task")
int tasks_visit(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tasks_scope scope = {.only_pid = only_pid, .by_reader = true};
	struct task_record r = {};

	if (task && tasks_record(&r, task, task, scope))
		bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
