/*
 * All threads in one system call: a program that user space runs, with a loop over tasks inside and
 * the records in memory that user space has mapped. A fifth of what an iterator costs, whose file
 * is opened, read and closed for each pass; needs Linux 6.7.
 *
 * And the ticks of wall-clock mode: a timer looks at the threads of a few processes at a random
 * moment of each period, and tells user space (ring `ticks`) when anything has changed since it
 * last did: a thread on a CPU is still on one, one that is not has not run. Otherwise the tick is
 * counted, and user space sleeps on. Moments are the timer's, so they don't depend on when scry
 * gets a CPU; the thread that is interrupted is on its CPU, as it was.
 */
#include "bpf/tasks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TICK_RING (512u << 10)
#define TICK_AHEAD 8		  /* ticks that are told before the first of them is taken (2^n) */
#define TICK_TELL_NS 100000000ull /* a process is told of that often even if nothing changes */
#define TICK_REST 4		  /* times as long as a tick took is none */

enum { THREADS_OF_ALL = 1, THREADS_OF_ONE = 2 };  /* BPF_TASK_ITER_ALL_THREADS, _PROC_THREADS */
enum { TIMER_MONOTONIC = 1, TIMER_ABSOLUTE = 1 }; /* CLOCK_MONOTONIC, BPF_F_TIMER_ABS */

struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern struct task_struct *bpf_task_from_pid(int pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

enum { TICK_HEAD = TASK_RUN_MAX, TICK_FIRST, TICK_END = TICK_FIRST + TASK_TICK_MAX };

struct task_record records[TICK_END]; /* of a run; head and records of a tick */
struct task_pass passes[TASK_BY];
struct task_watch watch[TASK_WATCH_MAX];
struct task_timer timer;

struct timer_cell {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timer_cell);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TICK_RING);
} ticks SEC(".maps");

/* Of the last ticks at which anything was told, in turn: the ring's end after it. */
static __u64 tick_ends[TICK_AHEAD];
static __u32 tick_turn;

/* One tick, while it is made. */
struct tick_state {
	__u32 budget; /* threads that may be looked at yet */
	bool behind;  /* user space is: nothing is told */
};

static __always_inline __u64 mix(__u64 sum, __u64 v)
{
	sum = (sum ^ v) * 0x9e3779b97f4a7c15ull;
	return sum ^ (sum >> 29);
}

/* What matters of a thread: of one on a CPU that it is, of another where it stands. */
struct stand {
	__u64 start_boottime, runs;
	__u32 tid, state;
	bool on_cpu;
};

static __always_inline __u64 add_stand(__u64 sum, const struct stand *s)
{
	sum = mix(sum, s->start_boottime ^ (__u64)s->tid << 40);
	return mix(sum, s->on_cpu ? ~0ull : s->runs << 32 ^ s->state);
}

/* Not inlined, and written in place: the verifier forgets all about a record when this returns, and
 * need not follow the loop for each kind of them. */
static __noinline void put(struct task_struct *task, __u32 by)
{
	struct task_pass *p = &passes[by & 1];
	struct tasks_scope scope = {.only_pid = p->pid, .by_reader = by == TASK_BY_RUN};
	__u32 n = p->next;
	struct task_record *r = &records[n];
	/* not trusted: its fields are quick to check */
	struct task_struct *plain =
		bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));

	if (n >= TICK_END)
		return;
	*r = (struct task_record){};
	if (tasks_record(r, plain, task, scope)) {
		struct stand s = {
			.tid = r->tid,
			.start_boottime = r->start_boottime,
			.runs = r->runs,
			.state = r->state,
			.on_cpu = r->flags & TASK_ON_CPU,
		};

		p->sum = add_stand(p->sum, &s);
		p->next = n + 1;
	}
}

/* The same sum without the records: a third of the memory is looked at. */
static __noinline void glance(struct task_struct *task)
{
	struct task_pass *p = &passes[TASK_BY_TICK];
	struct task_struct *plain =
		bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
	struct stand s = {.tid = plain->pid, .on_cpu = plain->on_cpu};

	barrier(); /* in this order, as in tasks_record() */
	s.runs = plain->nvcsw + plain->nivcsw;
	s.state = task_state(plain);
	s.start_boottime = plain->start_boottime;
	p->sum = add_stand(p->sum, &s);
	p->next++;
}

/* Global: the verifier looks at it once for all who call it. */
__noinline int visit(__u32 by, bool records)
{
	struct task_pass *p = &passes[by & 1];
	struct task_struct *one = NULL, *task;
	struct bpf_iter_task it;

	if (p->pid) {
		one = bpf_task_from_pid((int)p->pid);
		if (!one)
			return 0;
	}
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, one, one ? THREADS_OF_ONE : THREADS_OF_ALL);
	while ((task = bpf_iter_task_next(&it)) && p->next < p->end) {
		if (records)
			put(task, by);
		else
			glance(task);
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	if (one)
		bpf_task_release(one);
	return 0;
}

/* → how many threads. */
static __u32 look_at(__u32 pid, bool records)
{
	struct task_pass *p = &passes[TASK_BY_TICK];

	*p = (struct task_pass){.pid = pid, .next = TICK_FIRST, .end = TICK_END};
	visit(TASK_BY_TICK, records);
	return p->next - TICK_FIRST;
}

static long tick_process(__u32 i, struct tick_state *t)
{
	struct task_pass *p = &passes[TASK_BY_TICK];
	struct task_watch *w = &watch[i];
	struct task_tick *head = (struct task_tick *)&records[TICK_HEAD];
	__u64 now = bpf_ktime_get_ns();
	__u32 pid, n;

	if (i >= TASK_WATCH_MAX)
		return 1;
	pid = *(volatile __u32 *)&w->pid;
	if (!pid)
		return 0;
	if (w->seen != pid) { /* all but `pid`, which user space may be changing */
		w->seen = pid;
		w->unchanged = w->threads = 0;
		w->sum = w->told = w->before = 0;
	}
	n = look_at(pid, false);
	if (!n)
		return 0; /* it has ended */
	if (n >= t->budget || n >= TASK_TICK_MAX) {
		timer.overflow++;
		return 1;
	}
	t->budget -= n;
	if (w->told && w->threads == n && w->sum == p->sum && now - w->told < TICK_TELL_NS) {
		w->unchanged++;
		w->before = now;
		return 0;
	}
	if (t->behind) {
		timer.missed++;
		return 0;
	}
	n = look_at(pid, true);
	if (!n || n > TASK_TICK_MAX)
		return 0; /* another image by now */
	*head = (struct task_tick){
		.time = now, .before = w->before, .pid = pid, .unchanged = w->unchanged};
	if (bpf_ringbuf_output(&ticks, head, (n + 1) * sizeof(struct task_record), 0)) {
		timer.missed++;
		return 0;
	}
	w->unchanged = 0;
	w->threads = n;
	w->sum = p->sum;
	w->told = w->before = now;
	return 0;
}

static __always_inline bool is_behind(void)
{
	return bpf_ringbuf_query(&ticks, BPF_RB_CONS_POS) < tick_ends[tick_turn % TICK_AHEAD];
}

/* The place of the oldest is the next one's. */
static __always_inline void note_told(__u64 from)
{
	__u64 end = bpf_ringbuf_query(&ticks, BPF_RB_PROD_POS);

	if (end != from)
		tick_ends[tick_turn++ % TICK_AHEAD] = end;
}

/* At a random moment of the next slot that begins, or goes on, after `now`. */
static void arm(struct bpf_timer *t, __u64 now)
{
	__u64 period = timer.period, late, at;

	if (!period)
		return;
	timer.slot += period;
	if (timer.slot + period <= now) {
		late = (now - timer.slot) / period;
		timer.missed += late;
		timer.slot += late * period;
	}
	at = timer.slot + bpf_get_prandom_u32() % period;
	bpf_timer_start(t, at > now ? at : now, TIMER_ABSOLUTE);
}

static int tick(void *map __attribute__((unused)), __u32 *key __attribute__((unused)),
		struct timer_cell *cell)
{
	__u64 start = bpf_ktime_get_ns(), missed = timer.missed, from, took;
	struct tick_state t = {.budget = TASK_TICK_MAX, .behind = is_behind()};

	if (!timer.watched)
		return 0;
	from = bpf_ringbuf_query(&ticks, BPF_RB_PROD_POS);
	bpf_loop(timer.watched, tick_process, &t, 0);
	note_told(from);
	if (timer.missed > missed)
		timer.missed = missed + 1; /* it is one tick, of however many processes */
	took = bpf_ktime_get_ns() - start;
	timer.run_ns += took;
	arm(&cell->timer, start + took + TICK_REST * took);
	return 0;
}

static int start(void)
{
	__u32 zero = 0;
	struct timer_cell *cell = bpf_map_lookup_elem(&timers, &zero);
	__u64 now = bpf_ktime_get_ns();
	int err;

	if (!cell)
		return 1;
	err = bpf_timer_init(&cell->timer, &timers, TIMER_MONOTONIC); /* but once */
	err = bpf_timer_set_callback(&cell->timer, tick);
	if (err)
		return err;
	timer.slot = now - timer.period;
	arm(&cell->timer, now);
	return 0;
}

SEC("syscall")
int tasks_run(void *ctx __attribute__((unused)))
{
	struct task_pass *p = &passes[TASK_BY_RUN];

	if (timer.start) {
		timer.start = 0;
		return start();
	}
	p->next = 0;
	p->end = TASK_RUN_MAX;
	visit(TASK_BY_RUN, true);
	return 0;
}
