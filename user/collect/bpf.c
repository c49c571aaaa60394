/* Load the BPF programs, fill their maps, and tell what they cost. */
#include "collect/bpf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/file.h"
#include "base/num.h"
#include "collect/kernelbtf.h"
#include "sample.skel.h"
#include "tasks.skel.h"
#include "tasksrun.skel.h"

#define VERIFIER_LOG (1 << 20)
#define LOG_TAIL_LINES 12
#define FDINFO_MAX 4096
#define RING_DEFAULT (8u << 20)
#define RING_MAX (1u << 30)
#define FRAMES_DEFAULT 256

struct bpf {
	struct sample_bpf *skel;
	struct tasks_bpf *tasks; /* NULL: not asked for yet */
	struct tasksrun_bpf *tasksrun;
	int stats_fd; /* keeps the kernel's run-time statistics on */
	int cpus;
};

static void add_log_tail(struct buf *err, const char *log)
{
	const char *end = log + strlen(log), *p = end;
	int lines = 0;

	while (p > log && lines <= LOG_TAIL_LINES)
		if (*--p == '\n')
			lines++;
	if (*p == '\n')
		p++;
	if (p < end)
		buf_printf(err, "\n%s", p);
}

static void explain(struct buf *err, const char *what, int rc, const char *log)
{
	buf_printf(err, "%s: %s", what, strerror(-rc));
	if (log && *log) {
		buf_puts(err, " (the kernel's verifier says no)");
		add_log_tail(err, log);
	} else if (rc == -EPERM || rc == -EACCES) {
		buf_puts(err, " (needs root, or CAP_BPF and CAP_PERFMON; kernel lockdown forbids "
			      "it too)");
	} else if (rc == -ESRCH || rc == -ENOENT) {
		buf_puts(err, " (does the kernel have /sys/kernel/btf/vmlinux?)");
	}
}

static uint32_t ring_size(uint32_t asked)
{
	uint32_t size = getpagesize();

	if (!asked)
		return RING_DEFAULT;
	while (size < asked && size < RING_MAX)
		size <<= 1;
	return size;
}

static void set_options(struct sample_bpf *skel, const struct bpf_options *o)
{
	uint32_t ring = ring_size(o->ring_bytes);
	uint32_t frames = o->max_frames ? o->max_frames : FRAMES_DEFAULT;

	skel->rodata->max_frames = MIN(frames, (uint32_t)TARGET_MAX_FRAMES);
	skel->rodata->seed_mode = o->seed;
	skel->rodata->pidns_inum = o->ns.pid_inode == NS_FIRST_PID ? 0 : o->ns.pid_inode;
	skel->rodata->ring_bytes = ring;
	skel->rodata->typed_pointers = !o->untyped;
	bpf_map__set_max_entries(skel->maps.ring, ring);
}

/* types: NULL where libbpf has to find the kernel's itself. */
static int load(struct bpf *b, const struct bpf_options *o, struct kernelbtf *types, char *log,
		struct buf *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log,
		    .kernel_log_size = VERIFIER_LOG,
		    .btf_custom_path = types ? kernelbtf_path(types) : NULL);
	int rc;

	b->skel = sample_bpf__open_opts(&opts);
	if (!b->skel) {
		rc = -errno;
		explain(err, "can't open the BPF programs", rc, NULL);
		return rc;
	}
	set_options(b->skel, o);
	rc = types ? kernelbtf_fill(types, bpf_object__btf(b->skel->obj)) : 0;
	if (!rc)
		rc = sample_bpf__load(b->skel);
	if (rc) {
		explain(err, "can't load the BPF programs", rc, log);
		return rc;
	}
	/* sample_tick is left out of this: perf.c gives it to events */
	rc = sample_bpf__attach(b->skel);
	if (rc)
		explain(err, "can't attach to exec and exit", rc, NULL);
	return rc;
}

int bpf_load(struct bpf **ret, const struct bpf_options *o, struct buf *err)
{
	struct bpf *b = calloc(1, sizeof(*b));
	char *log = calloc(1, VERIFIER_LOG);
	struct kernelbtf *types = NULL;
	int rc = -ENOMEM;

	if (b)
		b->stats_fd = -1;
	if (!b || !log) {
		explain(err, "can't load the BPF programs", rc, NULL);
		goto out;
	}
	libbpf_set_print(NULL);
	b->cpus = libbpf_num_possible_cpus();
	if (b->cpus < 0) {
		rc = b->cpus;
		explain(err, "can't count the CPUs", rc, NULL);
		goto out;
	}
	if (kernelbtf_new(&types))
		types = NULL;
	rc = load(b, o, types, log, err);
	if (rc && types) { /* libbpf may do with the types that it finds itself */
		sample_bpf__destroy(b->skel);
		b->skel = NULL;
		buf_reset(err);
		*log = '\0';
		rc = load(b, o, NULL, log, err);
	}
	if (rc)
		goto out;
	b->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME); /* without it costs are not known */
	*ret = b;
	b = NULL;
out:
	kernelbtf_free(types);
	bpf_unload(b);
	free(log);
	return rc;
}

void bpf_unload(struct bpf *b)
{
	if (!b)
		return;
	if (b->stats_fd >= 0)
		close(b->stats_fd);
	tasks_bpf__destroy(b->tasks);
	tasksrun_bpf__destroy(b->tasksrun);
	sample_bpf__destroy(b->skel);
	free(b);
}

int bpf_tick_fd(const struct bpf *b)
{
	return bpf_program__fd(b->skel->progs.sample_tick);
}

int bpf_ring_fd(const struct bpf *b)
{
	return bpf_map__fd(b->skel->maps.ring);
}

int bpf_target_set(struct bpf *b, const struct target *t)
{
	if (!b)
		return 0;
	return bpf_map__update_elem(b->skel->maps.targets, &t->pid, sizeof(t->pid), t, sizeof(*t),
				    BPF_ANY);
}

int bpf_target_del(struct bpf *b, uint32_t pid)
{
	if (!b)
		return 0;
	return bpf_map__delete_elem(b->skel->maps.targets, &pid, sizeof(pid), 0);
}

int bpf_thread_set(struct bpf *b, uint32_t pid, uint64_t thread_ptr, uint64_t tstate)
{
	struct target_thread_key key = {.pid = pid, .thread_ptr = thread_ptr};
	struct target_thread value = {.tstate = tstate};

	if (!b)
		return 0;
	return bpf_map__update_elem(b->skel->maps.threads, &key, sizeof(key), &value, sizeof(value),
				    BPF_ANY);
}

int bpf_thread_del(struct bpf *b, uint32_t pid, uint64_t thread_ptr)
{
	struct target_thread_key key = {.pid = pid, .thread_ptr = thread_ptr};

	if (!b)
		return 0;
	return bpf_map__delete_elem(b->skel->maps.threads, &key, sizeof(key), 0);
}

int bpf_layout_set(struct bpf *b, uint32_t index, const struct target_layout *l)
{
	if (!b)
		return 0;
	return bpf_map__update_elem(b->skel->maps.layouts, &index, sizeof(index), l, sizeof(*l),
				    BPF_ANY);
}

static int load_tasks(struct bpf *b)
{
	struct tasks_bpf *skel = tasks_bpf__open();
	int rc;

	if (!skel)
		return -errno;
	skel->rodata->pidns_inum = b->skel->rodata->pidns_inum;
	rc = bpf_map__reuse_fd(skel->maps.targets, bpf_map__fd(b->skel->maps.targets));
	if (!rc)
		rc = tasks_bpf__load(skel);
	if (rc) {
		tasks_bpf__destroy(skel);
		return rc;
	}
	b->tasks = skel;
	return 0;
}

int bpf_tasks(struct bpf *b, int *ret_prog_fd, uint32_t **ret_only_pid)
{
	int rc = b->tasks ? 0 : load_tasks(b);

	if (rc)
		return rc;
	*ret_prog_fd = bpf_program__fd(b->tasks->progs.tasks_visit);
	*ret_only_pid = &b->tasks->bss->only_pid;
	return 0;
}

static int load_tasksrun(struct bpf *b)
{
	struct tasksrun_bpf *skel;
	int rc;

	if (b->skel->rodata->pidns_inum)
		return -EOPNOTSUPP; /* the kernel would look the number up in the first one */
	skel = tasksrun_bpf__open();
	if (!skel)
		return -errno;
	rc = bpf_map__reuse_fd(skel->maps.targets, bpf_map__fd(b->skel->maps.targets));
	if (!rc)
		rc = tasksrun_bpf__load(skel);
	if (rc) {
		tasksrun_bpf__destroy(skel);
		return rc;
	}
	b->tasksrun = skel;
	return 0;
}

int bpf_tasks_run(struct bpf *b, struct bpf_tasks_run *ret)
{
	int rc = b->tasksrun ? 0 : load_tasksrun(b);

	if (rc)
		return rc;
	*ret = (struct bpf_tasks_run){
		.prog_fd = bpf_program__fd(b->tasksrun->progs.tasks_run),
		.pass = &b->tasksrun->bss->passes[TASK_BY_RUN],
		.records = b->tasksrun->bss->records,
		.timer = &b->tasksrun->bss->timer,
		.watch = b->tasksrun->bss->watch,
		.ticks_fd = bpf_map__fd(b->tasksrun->maps.ticks),
	};
	return 0;
}

int bpf_counters(const struct bpf *b, uint64_t *ret)
{
	size_t size = EVENT_CTR_MAX * sizeof(uint64_t);
	uint32_t zero = 0;
	uint64_t *values;
	int rc;

	if (!b) {
		memset(ret, 0, size);
		return 0;
	}
	values = calloc(b->cpus, size);
	if (!values)
		return -ENOMEM;
	rc = bpf_map__lookup_elem(b->skel->maps.counters, &zero, sizeof(zero), values,
				  b->cpus * size, 0);
	if (rc)
		goto out;
	memset(ret, 0, size);
	for (int cpu = 0; cpu < b->cpus; cpu++)
		for (int i = 0; i < EVENT_CTR_MAX; i++)
			ret[i] += values[cpu * EVENT_CTR_MAX + i];
out:
	free(values);
	return rc;
}

/* The number behind "memlock:" in the descriptor's fdinfo: bytes that it holds in the kernel. */
static uint64_t fd_memory(int fd)
{
	struct buf text;
	char path[64];
	uint64_t n = 0;
	const char *p;

	buf_init(&text);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (!file_read(path, FDINFO_MAX, &text) && text.data) {
		p = strstr(text.data, "memlock:");
		if (p) {
			p += strlen("memlock:");
			p += strspn(p, " \t");
			if (num_scan(&p, 10, &n))
				n = 0;
		}
	}
	buf_release(&text);
	return n;
}

static int programs_usage(const struct bpf_object *o, struct bpf_usage *u)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, o)
	{
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (bpf_obj_get_info_by_fd(fd, &info, &len))
			return -errno;
		u->run_ns += info.run_time_ns;
		u->verified_insns = MAX(u->verified_insns, info.verified_insns);
	}
	return 0;
}

static void maps_usage(const struct bpf_object *o, const struct bpf_map *except,
		       struct bpf_usage *u)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, o)
	{
		if (map != except)
			u->map_bytes += fd_memory(bpf_map__fd(map));
	}
}

/* What the others cost is time of our own: they run in system calls of ours. But for the timer of
 * one, which keeps its own account. */
int bpf_usage(const struct bpf *b, struct bpf_usage *ret)
{
	struct bpf_usage u = {0};
	int rc;

	if (!b) {
		*ret = u;
		return 0;
	}
	rc = programs_usage(b->skel->obj, &u);
	if (rc)
		return rc;
	maps_usage(b->skel->obj, NULL, &u);
	/* `targets` is shared */
	if (b->tasks)
		maps_usage(b->tasks->obj, b->tasks->maps.targets, &u);
	u.mapped_bytes = 2 * (uint64_t)bpf_map__max_entries(b->skel->maps.ring);
	if (b->tasksrun) {
		maps_usage(b->tasksrun->obj, b->tasksrun->maps.targets, &u);
		u.mapped_bytes += 2 * (uint64_t)bpf_map__max_entries(b->tasksrun->maps.ticks);
		u.run_ns += b->tasksrun->bss->timer.run_ns;
	}
	*ret = u;
	return 0;
}
