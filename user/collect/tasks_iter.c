/* Facts of threads by the BPF task iterator: links, reading, and records to facts. */
#include "collect/tasks_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "bpf/task.h"

#define ITER_LINKS 128 /* processes whose narrowed link is kept, by the low bits of the pid */
#define ITER_ROOM (64u << 10) /* of a read; the kernel gives half of that at most */
#define ITER_TRIES 3

/* A link that is narrowed to a process; the kernel looks the number up at each pass. */
struct iter_link {
	uint32_t pid;
	int fd;
};

struct tasks_iter {
	int prog_fd, all_fd;
	uint32_t *only_pid;
	struct iter_link links[ITER_LINKS];
	struct buf raw;
};

int tasks_iter_new(struct bpf *bpf, struct tasks_iter **ret)
{
	struct tasks_iter *t = calloc(1, sizeof(*t));
	int err, fd;

	if (!t)
		return -ENOMEM;
	buf_init(&t->raw);
	t->all_fd = -1;
	for (size_t i = 0; i < ITER_LINKS; i++)
		t->links[i].fd = -1;
	err = bpf_tasks(bpf, &t->prog_fd, &t->only_pid);
	if (err)
		goto out;
	t->all_fd = bpf_link_create(t->prog_fd, 0, BPF_TRACE_ITER, NULL);
	err = MIN(t->all_fd, 0);
	if (err)
		goto out;
	fd = bpf_iter_create(t->all_fd);
	err = MIN(fd, 0);
	if (err)
		goto out;
	close(fd);
	*ret = t;
	t = NULL;
out:
	tasks_iter_free(t);
	return err;
}

void tasks_iter_free(struct tasks_iter *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < ITER_LINKS; i++)
		if (t->links[i].fd >= 0)
			close(t->links[i].fd);
	if (t->all_fd >= 0)
		close(t->all_fd);
	buf_release(&t->raw);
	free(t);
}

/* The link for a pass over one process; where the kernel can't narrow one (before 6.1), the one
 * over all serves: the program looks at only_pid. */
static int link_of(struct tasks_iter *t, uint32_t pid)
{
	struct iter_link *l = &t->links[pid % ITER_LINKS];
	union bpf_iter_link_info info = {.task.pid = pid};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));

	if (!pid)
		return t->all_fd;
	if (l->fd >= 0 && l->pid == pid)
		return l->fd;
	if (l->fd >= 0)
		close(l->fd);
	l->pid = pid;
	l->fd = bpf_link_create(t->prog_fd, 0, BPF_TRACE_ITER, &opts);
	return l->fd >= 0 ? l->fd : t->all_fd;
}

/* All records of one pass into t->raw. */
static int read_records(struct tasks_iter *t, int link)
{
	int fd = bpf_iter_create(link), err = MIN(fd, 0);
	ssize_t n = 1;

	buf_reset(&t->raw);
	while (!err && n && t->raw.len < TASKS_MAX * sizeof(struct task_record)) {
		char *p = buf_grow(&t->raw, ITER_ROOM);

		if (!p) {
			err = -ENOMEM;
			break;
		}
		n = read(fd, p, ITER_ROOM);
		t->raw.len -= ITER_ROOM - (size_t)MAX(n, 0);
		if (n < 0 && errno != EINTR &&
		    errno != EAGAIN) /* EAGAIN: a million without a record */
			err = -errno;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static struct sched_facts facts_of(const struct task_record *r)
{
	struct sched_facts f = {
		.pid = r->pid,
		.tid = r->tid,
		.ns_tid = r->ns_tid,
		.state = sched_kernel_state(r->state),
		.live = true,
		.displaced = r->flags & TASK_DISPLACED,
		.start = r->start_boottime,
		.runs = r->runs,
		.cpu_ns = r->cpu_ns,
		.thread_ptr = r->thread_ptr,
		.futex = r->futex,
	};

	if (r->flags & TASK_NO_MEMORY)
		f.state = SCHED_DEAD;
	else if (r->flags & (TASK_ON_CPU | TASK_DISPLACED))
		f.state = SCHED_ON_CPU;
	return f;
}

int tasks_iter_take(const void *raw, size_t len, struct tasks_list *out, size_t *ret_threads)
{
	const char *p = raw, *end = p + len - len % sizeof(struct task_record);
	struct task_record r;
	int err = 0;

	*ret_threads = 0;
	for (; p < end && !err; p += sizeof(r)) {
		struct sched_facts f;

		memcpy(&r, p, sizeof(r));
		*ret_threads = r.threads;
		if (r.flags & TASK_UNKNOWN) {
			err = tasks_list_add_unknown(out, r.pid);
			continue;
		}
		f = facts_of(&r);
		err = tasks_list_add(out, &f);
	}
	return err;
}

/*
 * A narrowed pass ends early when the thread it has got to is gone before the next one is looked
 * for; then fewer come than there are, and it is made again.
 */
int tasks_iter_pass(struct tasks_iter *t, uint32_t pid, struct tasks_list *out)
{
	size_t threads, before = out->n;
	int err = 0;

	*t->only_pid = pid;
	for (int i = 0; i < ITER_TRIES && !err; i++) {
		out->n = before;
		err = read_records(t, link_of(t, pid));
		if (!err)
			err = tasks_iter_take(t->raw.data, t->raw.len, out, &threads);
		if (!err && (!pid || out->n - before >= threads))
			break;
	}
	return err;
}
