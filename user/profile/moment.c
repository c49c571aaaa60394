/* What each thread of some processes does at one moment: a sink that keeps one stack a thread. */
#include "profile/moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/vec.h"

static const struct sink_ops moment_ops;

int moment_init(struct moment *m)
{
	*m = (struct moment){.sink.ops = &moment_ops, .names = names_new()};
	return m->names ? 0 : -ENOMEM;
}

static void forget_threads(struct moment *m, struct moment_process *p)
{
	struct moment_thread *t, *tmp, *known;

	HASH_ITER (hh, p->threads, t, tmp) {
		HASH_DEL(p->threads, t);
		HASH_FIND(by_id, m->by_id, &t->info.id, sizeof(t->info.id), known);
		if (known == t)
			HASH_DELETE(by_id, m->by_id, t);
		free(t);
	}
}

void moment_release(struct moment *m)
{
	for (size_t i = 0; i < m->n; i++)
		forget_threads(m, &m->processes[i]);
	free(m->processes);
	names_free(m->names);
	*m = (struct moment){0};
}

struct sink *moment_sink(struct moment *m)
{
	return &m->sink;
}

/* --- copies from the recorder's tables into our own --- */

static uint32_t copy_string(struct moment *m, const struct names *n, uint32_t id)
{
	size_t len;
	const char *s = names_string_at(n, id, &len);

	return names_string(m->names, s, len);
}

static uint32_t copy_frame(struct moment *m, const struct names *n, uint32_t id)
{
	struct frame f = *names_frame_at(n, id);

	f.func = copy_string(m, n, f.func);
	f.file = copy_string(m, n, f.file);
	return names_frame(m->names, &f);
}

/* INTERN_NONE: out of memory. */
static uint32_t copy_stack(struct moment *m, const struct names *n, uint32_t id)
{
	uint32_t depth = names_stack_depth(n, id), stack = STACK_EMPTY;
	uint32_t *frames = calloc((size_t)depth + 1, sizeof(*frames));
	uint32_t last = INTERN_NONE, copy = INTERN_NONE;

	if (!frames)
		return INTERN_NONE;
	for (uint32_t i = 0; i < depth; i++)
		names_stack_at(n, id, &id, &frames[i]);
	for (uint32_t i = depth; i-- > 0; last = frames[i]) {
		if (frames[i] != last)
			copy = copy_frame(m, n, frames[i]);
		stack = names_stack(m->names, stack, copy);
	}
	free(frames);
	return stack;
}

/* --- the sink --- */

static struct moment *moment_of(struct sink *s)
{
	return container_of(s, struct moment, sink);
}

static int on_begin(struct sink *s, const struct recording *r)
{
	struct moment *m = moment_of(s);

	/* ids of a recorder before this one */
	HASH_CLEAR(by_id, m->by_id);
	if (!m->time)
		m->time = r->start_real;
	return 0;
}

static struct moment_process *find_pid(struct moment *m, uint32_t pid)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->processes[i].info.pid == pid)
			return &m->processes[i];
	return NULL;
}

static struct moment_process *add_process(struct moment *m)
{
	if (vec_reserve(&m->processes, &m->cap, m->n + 1, sizeof(*m->processes)))
		return NULL;
	m->processes[m->n] = (struct moment_process){0};
	return &m->processes[m->n++];
}

/* A pid that comes again is another image, unless another recorder tells of it. */
static int on_process(struct sink *s, const struct names *n, const struct process_info *info)
{
	struct moment *m = moment_of(s);
	struct moment_process *p = find_pid(m, info->pid);

	if (p && (p->info.start_code != info->start_code ||
		  p->info.start_stack != info->start_stack || p->reason))
		forget_threads(m, p);
	if (!p)
		p = add_process(m);
	if (!p)
		return -ENOMEM;
	p->reason = 0;
	p->info = *info;
	p->info.comm = copy_string(m, n, info->comm);
	p->info.cmdline = copy_string(m, n, info->cmdline);
	p->info.container = copy_string(m, n, info->container);
	p->info.python = copy_string(m, n, info->python);
	p->info.exe = copy_string(m, n, info->exe);
	return 0;
}

static struct moment_thread *find_tid(const struct moment_process *p, uint32_t tid)
{
	struct moment_thread *t;

	HASH_FIND(hh, p->threads, &tid, sizeof(tid), t);
	return t;
}

static struct moment_thread *add_thread(struct moment_process *p, uint32_t tid)
{
	struct moment_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->info.tid = tid;
	t->info.id = UINT32_MAX;
	t->outcome = OUTCOME_MISSED;
	HASH_ADD(hh, p->threads, info.tid, sizeof(t->info.tid), t);
	return t;
}

static int on_thread(struct sink *s, const struct names *n, const struct thread_info *info)
{
	struct moment *m = moment_of(s);
	struct moment_process *p = m->processes, *end = m->processes + m->n;
	struct moment_thread *t, *known;

	while (p < end && (p->reason || p->info.id != info->process))
		p++;
	if (p == end)
		return 0; /* of an image that has been replaced */
	t = find_tid(p, info->tid);
	if (!t)
		t = add_thread(p, info->tid);
	if (!t)
		return -ENOMEM;
	HASH_FIND(by_id, m->by_id, &t->info.id, sizeof(t->info.id), known);
	if (known == t)
		HASH_DELETE(by_id, m->by_id, t);
	t->info = *info;
	t->info.name = copy_string(m, n, info->name);
	t->info.python = copy_string(m, n, info->python);
	HASH_ADD(by_id, m->by_id, info.id, sizeof(t->info.id), t);
	return 0;
}

/* How good an answer is: smaller is better. */
static unsigned int rank(enum outcome o)
{
	static const unsigned int ranks[OUTCOME_MAX] = {
		[OUTCOME_EXACT] = 0,  [OUTCOME_JOINED] = 0, [OUTCOME_READ] = 0,
		[OUTCOME_NATIVE] = 0, [OUTCOME_CUT] = 1,    [OUTCOME_UNPROVEN] = 2,
		[OUTCOME_GONE] = 3,   [OUTCOME_MISSED] = 4,
	};

	return ranks[o];
}

static int on_sample(struct sink *s, const struct names *n, const struct sample *v)
{
	struct moment *m = moment_of(s);
	struct moment_thread *t;
	uint32_t stack;

	HASH_FIND(by_id, m->by_id, &v->thread, sizeof(v->thread), t);
	if (!t || (t->answered && rank(t->outcome) <= rank(v->outcome)))
		return 0;
	stack = copy_stack(m, n, v->stack);
	if (stack == INTERN_NONE)
		return -ENOMEM;
	t->answered = true;
	t->outcome = v->outcome;
	t->run = v->state;
	t->holds_gil = v->holds_gil;
	t->stack = stack;
	return 0;
}

static int on_tick(struct sink *s, uint64_t mono, uint64_t real)
{
	(void)s;
	(void)mono;
	(void)real;
	return 0;
}

static int on_end(struct sink *s, const struct summary *sum)
{
	(void)s;
	(void)sum;
	return 0;
}

static const struct sink_ops moment_ops = {
	.begin = on_begin,
	.process = on_process,
	.thread = on_thread,
	.sample = on_sample,
	.tick = on_tick,
	.end = on_end,
};

/* --- what else is known --- */

int moment_refuse(struct moment *m, uint32_t pid, const char *reason)
{
	struct moment_process *p = find_pid(m, pid);

	if (!p)
		p = add_process(m);
	if (!p)
		return -ENOMEM;
	forget_threads(m, p);
	p->info = (struct process_info){.pid = pid};
	p->reason = names_string(m->names, reason, strlen(reason));
	return p->reason == INTERN_NONE ? -ENOMEM : 0;
}

int moment_note(struct moment *m, size_t process, uint32_t tid, const char *name, char letter)
{
	struct moment_process *p = &m->processes[process];
	struct moment_thread *t = find_tid(p, tid);

	if (!t)
		t = add_thread(p, tid);
	if (!t)
		return -ENOMEM;
	t->letter = letter;
	if (!t->answered && (letter == 'Z' || letter == 'X'))
		t->outcome = OUTCOME_GONE;
	if (!t->answered)
		t->info.name = names_string(m->names, name, strlen(name));
	return t->info.name == INTERN_NONE ? -ENOMEM : 0;
}

bool moment_settled(const struct moment_process *p, uint32_t tid)
{
	const struct moment_thread *t = find_tid(p, tid);

	return t && t->answered && rank(t->outcome) == 0;
}

static int compare_threads(const struct moment_thread *a, const struct moment_thread *b)
{
	return a->info.tid < b->info.tid ? -1 : a->info.tid > b->info.tid;
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_info *x = &((const struct moment_process *)a)->info;
	const struct process_info *y = &((const struct moment_process *)b)->info;

	if (x->start_boottime != y->start_boottime)
		return x->start_boottime < y->start_boottime ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The first thread bears the number of its process, and comes first whatever the others have. */
static void sort_threads(struct moment_process *p)
{
	struct moment_thread *first = find_tid(p, p->info.pid);
	uint32_t tid = p->info.pid;

	if (first)
		first->info.tid = 0;
	HASH_SRT(hh, p->threads, compare_threads);
	if (first)
		first->info.tid = tid;
}

void moment_sort(struct moment *m)
{
	if (m->n)
		qsort(m->processes, m->n, sizeof(*m->processes), compare_processes);
	for (size_t i = 0; i < m->n; i++)
		sort_threads(&m->processes[i]);
}

/* What /proc says of a thread that had no sample. */
static const char *state_of_letter(char letter)
{
	switch (letter) {
	case 0:
		return "unknown";
	case 'R':
		return "running";
	case 'D':
		return "blocked";
	case 'T':
	case 't':
		return "stopped";
	case 'Z':
	case 'X':
		return "ended";
	default:
		return "sleeping";
	}
}

const char *moment_state(const struct moment_thread *t)
{
	static const char *const names[RUN_MAX] = {
		[RUN_ON_CPU] = "running",    [RUN_GC] = "running",   [RUN_RUNNABLE] = "runnable",
		[RUN_SLEEPING] = "sleeping", [RUN_GIL] = "sleeping", [RUN_BLOCKED] = "blocked",
		[RUN_STOPPED] = "stopped",
	};

	return names[t->run] ? names[t->run] : state_of_letter(t->letter);
}
