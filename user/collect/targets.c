/* The table of processes: found at start, at their first tick, by fork, after exec; gone at exit.
 */
#include "collect/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "collect/pyname.h"
#include "collect/targets_impl.h"

#define TARGETS_RETRY_FIRST (2 * NSEC_PER_MSEC) /* doubles up to the next, for two seconds */
#define TARGETS_RETRY_SOON (50 * NSEC_PER_MSEC)
#define TARGETS_RETRY_LATE (1000 * NSEC_PER_MSEC)
#define TARGETS_LIST_NS (100 * NSEC_PER_MSEC)
#define TARGETS_MAX_COMM 16 /* bytes of a thread's name; one that fills them has no NUL */
#define TARGETS_RETRIES (TARGETS_TRIES_SOON + 15)

int targets_new(const struct session_options *o, struct bpf *bpf, struct guard *g,
		struct names *names, struct sink *sink, struct targets **ret)
{
	struct targets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->o = o;
	t->bpf = bpf;
	t->guard = g;
	t->names = names;
	t->sink = sink;
	t->retry_next = UINT64_MAX;
	t->family = family_new(o->pids, o->n_pids, o->inherit);
	t->discover = discover_new();
	if (!t->family || !t->discover) {
		targets_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

static void free_process(struct targets *t, struct process *p)
{
	if (p->mem) {
		t->counts.reads += p->mem->stats.calls;
		t->counts.read_bytes += p->mem->stats.bytes;
	}
	targets_stats_keep(t, p);
	process_free(p);
}

void targets_free(struct targets *t)
{
	struct process *p, *tmp;

	if (!t)
		return;
	targets_reap(t);
	HASH_ITER (hh, t->processes, p, tmp) {
		HASH_DEL(t->processes, p);
		free_process(t, p);
	}
	stats_release(&t->ended);
	family_free(t->family);
	discover_free(t->discover);
	free(t);
}

struct process *targets_find(struct targets *t, uint32_t pid)
{
	struct process *p;

	HASH_FIND(hh, t->processes, &pid, sizeof(pid), p);
	return p;
}

struct process *targets_add(struct targets *t, uint32_t pid)
{
	struct process *p = process_new(pid);

	if (p)
		HASH_ADD(hh, t->processes, pid, sizeof(p->pid), p);
	return p;
}

/* Takes the process out of the table and the kernel's maps; its samples of this drain can still be
 * named. */
void targets_retire(struct targets *t, struct process *p)
{
	process_untell(p, t->bpf);
	if (p->state == PROCESS_PYTHON)
		t->layout_users[p->layout]--;
	HASH_DEL(t->processes, p);
	p->state = PROCESS_EXITED;
	p->next = t->exited;
	t->exited = p;
}

void targets_reap(struct targets *t)
{
	struct process *p;

	while ((p = t->exited)) {
		t->exited = p->next;
		free_process(t, p);
	}
}

static int scan_one(pid_t pid, void *arg)
{
	struct targets *t = arg;
	struct process *p;

	if (!family_wants(t->family, pid, 0) || targets_find(t, pid))
		return 0;
	p = targets_add(t, pid);
	if (!p)
		return -ENOMEM;
	targets_attach(t, p);
	return t->error;
}

int targets_scan(struct targets *t)
{
	return task_each_process(scan_one, t);
}

/*
 * Is p what the notice is about? Every CPU that saw a process before it was looked at has sent one,
 * and the first of them was answered.
 */
static bool is_answered(const struct process *p, const struct event_task *k)
{
	if (p->state == PROCESS_WAITING)
		return true; /* its time will come */
	if (p->image.start_code != k->start_code || p->image.start_stack != k->start_stack ||
	    (p->start_exact && p->start_boottime != k->start_boottime))
		return false;
	return p->state == PROCESS_PYTHON || p->exec_vm == k->exec_vm;
}

void targets_unknown(struct targets *t, const struct event_unknown *u)
{
	const struct event_task *k = &u->task;
	struct process *p = targets_find(t, k->pid);

	if (p && is_answered(p, k))
		return;
	if (p)
		targets_retire(t, p);
	p = targets_add(t, k->pid);
	if (!p)
		return;
	p->image = (struct image_id){k->start_code, k->start_stack};
	p->start_boottime = k->start_boottime;
	p->start_exact = true;
	p->exec_vm = k->exec_vm;
	p->fresh = true;
	if (!family_wants(t->family, k->pid, k->ppid)) {
		targets_attach_ignore(t, p, false);
		return;
	}
	targets_attach(t, p);
}

void targets_wait(struct targets *t, struct process *p)
{
	uint64_t soon = MIN(TARGETS_RETRY_FIRST << MIN(p->tries, 16u), TARGETS_RETRY_SOON);
	uint64_t pause = p->tries < TARGETS_TRIES_SOON ? soon : TARGETS_RETRY_LATE;

	if (p->tries++ >= TARGETS_RETRIES) {
		targets_attach_ignore(t, p, true);
		return;
	}
	p->state = PROCESS_WAITING;
	p->next_try = clock_mono() + pause;
	t->retry_next = MIN(t->retry_next, p->next_try);
}

uint64_t targets_retry(struct targets *t, uint64_t now)
{
	struct process *p, *tmp;

	if (now < t->retry_next)
		return t->retry_next;
	HASH_ITER (hh, t->processes, p, tmp) {
		if (p->state == PROCESS_WAITING && p->next_try <= now)
			targets_attach(t, p);
	}
	t->retry_next = UINT64_MAX;
	for (p = t->processes; p; p = p->hh.next)
		if (p->state == PROCESS_WAITING)
			t->retry_next = MIN(t->retry_next, p->next_try);
	return t->retry_next;
}

void targets_exec(struct targets *t, const struct event_life *e)
{
	struct process *p = targets_find(t, e->pid);

	if (!p)
		return;
	targets_retire(t, p);
	if (!family_wants(t->family, e->pid, 0))
		return;
	p = targets_add(t, e->pid);
	if (!p)
		return;
	p->fresh = true;
	targets_wait(t, p);
}

void targets_exit(struct targets *t, const struct event_life *e)
{
	struct process *p = targets_find(t, e->pid);

	if (!p || (p->start_exact && p->start_boottime != e->start_boottime))
		return;
	p->gone = true;
	targets_retire(t, p);
}

struct process *targets_of_sample(struct targets *t, const struct event_sample *s)
{
	struct process *p = targets_find(t, s->task.pid);

	if (p && p->start_exact && p->start_boottime != s->task.start_boottime) {
		targets_retire(t, p);
		p = NULL;
	}
	if (!p && (s->flags & EVENT_INHERITED))
		p = targets_attach_child(t, &s->task);
	if (!p || p->state != PROCESS_PYTHON || p->image.start_code != s->task.start_code ||
	    p->image.start_stack != s->task.start_stack)
		return NULL;
	p->start_boottime = s->task.start_boottime;
	p->start_exact = true;
	return p;
}

/* The kernel side's walk was too short for this many threads: read them all, not too often. */
static void read_list(struct targets *t, struct process *p, uint64_t now)
{
	p->list_next = now + TARGETS_LIST_NS;
	targets_attach_threads(t, p);
}

/* What Python calls it, if that was asked for; 0: not known. */
static uint32_t python_name(struct targets *t, struct process *p, const struct targets_who *who)
{
	uint32_t id = 0;
	struct buf name;

	if (!t->o->python_names)
		return 0;
	buf_init(&name);
	if (!pyname_read(p, who, &name) && name.len)
		id = names_string(t->names, name.data, name.len);
	buf_release(&name);
	return id;
}

struct process_thread *targets_thread_at(struct targets *t, struct process *p,
					 const struct targets_who *who)
{
	struct process_thread *th = process_thread_find(p, who->tid, who->start, who->time);

	if (!p->announced)
		targets_attach_announce(t, p);
	if (th)
		return th;
	th = process_thread_add(p, who->tid, who->start, who->time);
	if (!th)
		return NULL;
	th->info = (struct thread_info){
		.id = t->counts.threads++,
		.process = p->info.id,
		.tid = who->tid,
		.name = names_string(t->names, who->comm, strnlen(who->comm, TARGETS_MAX_COMM)),
		.python = python_name(t, p, who),
	};
	if (!t->error)
		t->error = t->sink->ops->thread(t->sink, t->names, &th->info);
	return th;
}

struct targets_who targets_who_of(const struct event_sample *s)
{
	const struct event_task *k = &s->task;

	return (struct targets_who){
		.tid = k->tid,
		.ns_tid = k->ns_tid,
		.thread_ptr = k->thread_ptr,
		.start = k->thread_start,
		.time = k->time,
		.comm = k->comm,
	};
}

struct process_thread *targets_thread(struct targets *t, struct process *p,
				      const struct event_sample *s)
{
	const struct event_task *k = &s->task;
	const struct targets_who who = targets_who_of(s);

	if (s->tstate)
		process_tell(p, t->bpf, k->thread_ptr, s->tstate);
	else if ((s->flags & EVENT_LIST_CUT) && k->time >= p->list_next)
		read_list(t, p, k->time);
	return targets_thread_at(t, p, &who);
}

struct process *targets_first(struct targets *t)
{
	return t->processes;
}

struct process *targets_exited(struct targets *t)
{
	return t->exited;
}

size_t targets_python(const struct targets *t)
{
	const struct process *p;
	size_t n = 0;

	for (p = t->processes; p; p = p->hh.next)
		n += p->state == PROCESS_PYTHON;
	return n;
}

static bool is_refused(const struct process *p)
{
	enum discover_why why = p->found.why;

	return p->state == PROCESS_IGNORED && why != DISCOVER_OK && why != DISCOVER_NOT_PYTHON &&
	       why != DISCOVER_GONE;
}

int targets_refused(const struct targets *t, int (*fn)(pid_t pid, const char *reason, void *arg),
		    void *arg)
{
	const struct process *p;
	int r = 0;

	for (p = t->processes; p && !r; p = p->hh.next)
		if (is_refused(p))
			r = fn((pid_t)p->pid, discover_reason(p->found.why), arg);
	return r;
}

uint64_t targets_newest(const struct targets *t)
{
	return t->newest;
}

bool targets_alive(const struct targets *t)
{
	return family_alive(t->family);
}

int targets_error(const struct targets *t)
{
	return t->error;
}

void targets_get_counts(const struct targets *t, struct targets_counts *ret)
{
	const struct process *p;

	*ret = t->counts;
	for (p = t->processes; p; p = p->hh.next) {
		if (!p->mem)
			continue;
		ret->reads += p->mem->stats.calls;
		ret->read_bytes += p->mem->stats.bytes;
	}
}

/* Is a Python that is sampled among the descendants of pid? */
static bool has_python_descendant(const struct targets *t, pid_t pid)
{
	const struct process *p;

	for (p = t->processes; p; p = p->hh.next)
		if (p->state == PROCESS_PYTHON && family_descends(p->pid, pid))
			return true;
	return false;
}

enum discover_why targets_asked(const struct targets *t, size_t i, struct discover_found *ret)
{
	const struct process *p;
	uint32_t pid = t->o->pids[i];

	HASH_FIND(hh, t->processes, &pid, sizeof(pid), p);
	if (!p)
		return ret->why = DISCOVER_GONE;
	*ret = p->found;
	if (t->o->inherit && p->state != PROCESS_PYTHON && has_python_descendant(t, pid))
		ret->why = DISCOVER_OK;
	return ret->why;
}

void targets_look_again(struct targets *t, pid_t pid)
{
	struct process *p = targets_find(t, pid);

	if (p && p->state != PROCESS_PYTHON)
		targets_attach(t, p);
	targets_scan(t);
}
