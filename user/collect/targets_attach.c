/* Take one process into the recording: find its Python, tell the kernel side, announce it to the
 * sink. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "collect/layouts.h"
#include "collect/targets_impl.h"
#include "python/threads.h"
#include "python/version.h"
#include "remote/procmem.h"

#define ATTACH_MAX_CMDLINE 4096
#define ATTACH_FRESH_TRIES 6	 /* a tenth of a second: the loader maps a libpython within it */
#define ATTACH_MAX_THREADS 16384 /* thread states told to the kernel side at once */

/*
 * The slot of this layout in the kernel's array. When all are taken that of a build without a
 * process is used again: a process may describe itself as it likes, and must not use them up.
 * TARGET_MAX_LAYOUTS: no room, or it does not fit.
 */
static size_t layout_slot(struct targets *t, const struct layout *l)
{
	struct target_layout k;
	size_t i;

	for (i = 0; i < t->n_layouts; i++)
		if (layout_equal(&t->layouts[i], l))
			return i;
	if (i == TARGET_MAX_LAYOUTS)
		for (i = 0; i < TARGET_MAX_LAYOUTS && t->layout_users[i];)
			i++;
	if (i == TARGET_MAX_LAYOUTS || layouts_to_kernel(l, &k) || bpf_layout_set(t->bpf, i, &k))
		return TARGET_MAX_LAYOUTS;
	t->layouts[i] = *l;
	t->n_layouts = MAX(t->n_layouts, i + 1);
	return i;
}

static int tell_kernel(struct targets *t, const struct process *p, enum target_state state,
		       bool recheck)
{
	const struct target v = {
		.pid = p->pid,
		.state = state,
		.start_code = p->image.start_code,
		.start_stack = p->image.start_stack,
		.start_boottime = p->start_exact ? p->start_boottime : 0,
		.exec_vm = p->exec_vm,
		.runtime = p->found.runtime,
		.gil = p->found.gil,
		.layout = p->layout,
		.recheck = recheck,
	};

	return bpf_target_set(t->bpf, &v);
}

void targets_attach_ignore(struct targets *t, struct process *p, bool recheck)
{
	p->state = PROCESS_IGNORED;
	p->recheck = recheck;
	tell_kernel(t, p, TARGET_IGNORE, recheck);
}

static uint32_t string(struct targets *t, const char *s, size_t len)
{
	return names_string(t->names, s, len);
}

/* Fills process_info from /proc; what is gone already stays empty. */
static void fill_info(struct targets *t, struct process *p)
{
	struct process_info *v = &p->info;
	char container[128] = "", version[VERSION_FORMAT_MAX];
	struct task_stat st = {0};
	struct buf cmd;
	uid_t uid = 0;

	buf_init(&cmd);
	if (task_stat(p->pid, 0, &st) == 0) {
		v->ppid = st.ppid;
		v->comm = string(t, st.comm, strlen(st.comm));
	}
	if (task_cmdline(p->pid, ATTACH_MAX_CMDLINE, &cmd) == 0 && cmd.data)
		v->cmdline = string(t, cmd.data, cmd.len);
	if (task_uid(p->pid, &uid) == 0)
		v->uid = uid;
	if (task_container_of(p->pid, container, sizeof(container)) == 0)
		v->container = string(t, container, strlen(container));
	version_format(p->found.version, p->found.minor, version, sizeof(version));
	v->python = string(t, version, strlen(version));
	v->exe = string(t, p->found.path, strlen(p->found.path));
	buf_release(&cmd);
}

void targets_attach_announce(struct targets *t, struct process *p)
{
	p->announced = true;
	p->info.id = t->counts.processes++;
	p->info.pid = p->pid;
	p->info.start_boottime = p->start_boottime;
	p->info.start_code = p->image.start_code;
	p->info.start_stack = p->image.start_stack;
	if (!t->error)
		t->error = t->sink->ops->process(t->sink, t->names, &p->info);
}

/* The kernel side finds threads by itself; telling it those that exist saves it the first walk. */
void targets_attach_threads(struct targets *t, struct process *p)
{
	struct thread_lists l = {0};
	size_t i;

	if (threads_read(p->mem, &p->found, &l, ATTACH_MAX_THREADS))
		l.n = 0;
	for (i = 0; i < l.n; i++)
		if (l.v[i].thread_id)
			process_tell(p, t->bpf, l.v[i].thread_id, l.v[i].addr);
	threads_release(&l);
}

/* On the monotonic clock; earlier than it was, should the machine have slept since. */
static uint64_t forked_at(const struct process *p)
{
	return p->start_boottime - (clock_boot() - clock_mono());
}

/* Makes p a Python process from p->found; by fork from parent, if any. 0, or -errno and it is
 * ignored. */
static int become_python(struct targets *t, struct process *p, const struct process *parent)
{
	size_t slot = layout_slot(t, &p->found.layout);
	int err;

	if (slot == TARGET_MAX_LAYOUTS)
		return -ENOSPC;
	p->layout = slot;
	if (parent)
		p->code = pycode_fork(parent->code, forked_at(p));
	else
		p->code = pycode_new(t->names, &p->found.layout, p->found.types, p->found.runtime);
	if (!p->code)
		return -ENOMEM;
	err = tell_kernel(t, p, TARGET_PYTHON, false);
	if (err) {
		pycode_free(p->code);
		p->code = NULL;
		return err;
	}
	p->state = PROCESS_PYTHON;
	t->layout_users[slot]++;
	return 0;
}

/* Which process and image is this now? False: gone, or another one than before. */
static bool identify(struct process *p)
{
	struct task_stat st;

	if (task_stat_process((pid_t)p->pid, &st, NULL))
		return false;
	p->image = st.image;
	/* before it is looked at: what is mapped meanwhile makes it worth another look */
	if (!p->exec_vm || p->tries)
		task_exec_pages((pid_t)p->pid, &p->exec_vm);
	if (!p->start_exact)
		p->start_boottime = clock_of_ticks(st.start_ticks);
	return true;
}

static void attach_found(struct targets *t, struct process *p)
{
	char version[VERSION_FORMAT_MAX];

	if (become_python(t, p, NULL)) {
		targets_attach_ignore(t, p, false);
		t->counts.refused++;
		return;
	}
	version_format(p->found.version, p->found.minor, version, sizeof(version));
	log_info("process %u: Python %s, by %s in %s", p->pid, version, p->found.how,
		 p->found.path);
	targets_attach_threads(t, p);
	fill_info(t, p);
	t->newest = clock_mono();
}

void targets_attach(struct targets *t, struct process *p)
{
	if (!identify(p) || (!p->mem && procmem_new_guarded(p->pid, t->guard, &p->mem))) {
		p->found.why = DISCOVER_GONE;
		targets_retire(t, p);
		return;
	}
	switch (discover_process(t->discover, p->pid, p->mem, &p->found)) {
	case DISCOVER_OK:
		attach_found(t, p);
		break;
	case DISCOVER_NOT_YET:
		targets_wait(t, p);
		break;
	case DISCOVER_GONE:
		targets_retire(t, p);
		break;
	case DISCOVER_NOT_PYTHON:
		if (p->fresh && p->tries < ATTACH_FRESH_TRIES)
			targets_wait(t, p);
		else
			targets_attach_ignore(t, p, true);
		break;
	case DISCOVER_INVALID:
		/* one that is starting looks like this too */
		if (p->tries < TARGETS_TRIES_SOON) {
			targets_wait(t, p);
			break;
		}
		/* fall through */
	case DISCOVER_UNSUPPORTED:
		t->counts.refused++;
		/* fall through */
	default: /* whether it is Python at all can't be said */
		log_info("process %u can't be profiled: %s", p->pid, discover_reason(p->found.why));
		targets_attach_ignore(t, p, false);
	}
}

struct process *targets_attach_child(struct targets *t, const struct event_task *k)
{
	struct process *parent = targets_find(t, k->ppid), *p;

	if (!parent || parent->state != PROCESS_PYTHON ||
	    parent->image.start_code != k->start_code ||
	    parent->image.start_stack != k->start_stack)
		return NULL;
	p = targets_add(t, k->pid);
	if (!p)
		return NULL;
	p->image = parent->image;
	p->start_boottime = k->start_boottime;
	p->start_exact = true;
	p->found = parent->found;
	p->info = parent->info;
	if (!family_wants(t->family, p->pid, k->ppid)) {
		targets_attach_ignore(t, p, false);
		return NULL;
	}
	/* a child that has ended already still gets its samples, and the names it had at its birth
	 */
	p->gone = procmem_new_guarded(p->pid, t->guard, &p->mem) != 0;
	if (become_python(t, p, parent)) {
		targets_retire(t, p);
		return NULL;
	}
	fill_info(t, p);
	p->info.ppid = k->ppid;
	t->newest = clock_mono();
	return p;
}
