/*
 * One look at some processes: what each of their threads does now.
 *
 * It is a short recording in wall-clock mode, into a sink that keeps the best answer for each
 * thread, and it ends when all threads have one. So everything is caught in the same two ways:
 * threads that are on a CPU by a tick, which a fast clock makes within milliseconds, and the
 * others by a read with proof that they stood still. What has been neither for so long (a thread
 * that is on and off its CPU all the time) is read without proof and called so; without BPF that
 * is the lot of all that run.
 */
#include "collect/look.h"

#include <errno.h>
#include <string.h>
#include "base/clock.h"
#include "collect/perf.h"
#include "target/task.h"

#define LOOK_HZ 997			   /* ticks a second and CPU */
#define LOOK_NS (200 * NSEC_PER_MSEC)	   /* at most, for proof */
#define LOOK_READ_NS (100 * NSEC_PER_MSEC) /* at most, for what is left */

struct look {
	const struct look_options *o;
	struct moment *m;
	struct session *session;
	struct buf *text;
	bool refused[SESSION_MAX_PIDS]; /* of o->pids */
	size_t n_refused;
	bool recorded; /* once: who has ended since then has been seen */
};

/* --- have all threads their answer? --- */

static int is_settled(pid_t tid, void *arg)
{
	const struct moment_process *p = arg;
	struct task_stat st;

	if (moment_settled(p, tid))
		return 0;
	/* the first thread of a process stays as a zombie until the others have ended too */
	return task_stat((pid_t)p->info.pid, tid, &st) == 0 && !task_ended(&st);
}

static bool all_settled(const struct moment *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct moment_process *p = &m->processes[i];

		if (!p->reason && task_each_thread((pid_t)p->info.pid, is_settled, p) > 0)
			return false;
	}
	return true;
}

static size_t count_seen(const struct moment *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += !m->processes[i].reason;
	return n;
}

static bool is_done(void *arg)
{
	struct look *k = arg;

	return count_seen(k->m) >= session_processes(k->session) && all_settled(k->m);
}

/* --- what /proc adds --- */

struct note {
	struct moment *m;
	size_t process;
	int error;
};

static int note_thread(pid_t tid, void *arg)
{
	struct note *n = arg;
	const struct moment_process *p = &n->m->processes[n->process];
	struct task_stat st;

	if (task_stat((pid_t)p->info.pid, tid, &st))
		return 0; /* it has ended: what was seen of it remains */
	return moment_note(n->m, n->process, tid, st.comm, st.state);
}

static int note_all(struct moment *m)
{
	int err = 0;

	for (size_t i = 0; i < m->n && err != -ENOMEM; i++) {
		struct note n = {.m = m, .process = i};

		if (!m->processes[i].reason)
			err = task_each_thread((pid_t)m->processes[i].info.pid, note_thread, &n);
	}
	return err == -ENOMEM ? err : 0;
}

static int on_refused(pid_t pid, const char *reason, void *arg)
{
	return moment_refuse(arg, (uint32_t)pid, reason);
}

static void on_refused_pid(size_t i, enum session_error e, const char *why, void *arg)
{
	struct look *k = arg;

	if (k->refused[i] || k->recorded)
		return;
	k->refused[i] = true;
	k->n_refused++;
	k->o->refused(e, why, k->o->refused_arg);
}

/* --- the recordings --- */

static enum session_error record(struct look *k, bool bpf)
{
	volatile sig_atomic_t never = 0;
	const struct session_options o = {
		.pids = k->o->pids,
		.n_pids = k->o->n_pids,
		.refused = on_refused_pid,
		.refused_arg = k,
		.inherit = k->o->children,
		.event = PERF_EVENT_DEFAULT,
		.freq = true,
		.rate = LOOK_HZ,
		.max_frames = SESSION_MAX_FRAMES,
		.mode = SESSION_MODE_WALL,
		.no_bpf = !bpf,
		.python_names = true,
		.duration_ns = bpf ? LOOK_NS : LOOK_READ_NS,
	};
	enum session_error e = session_new(&o, moment_sink(k->m), &k->session, k->text);

	if (!e)
		e = session_run(k->session, &never, is_done, NULL, k, k->text);
	if (!e && session_refused(k->session, on_refused, k->m))
		e = SESSION_INTERNAL;
	session_free(k->session);
	k->session = NULL;
	return e;
}

/* What a machine without BPF, or a user who may not use it, says. */
static bool is_kernels(enum session_error e)
{
	return e == SESSION_PERMISSION || e == SESSION_KERNEL || e == SESSION_EVENT;
}

/* With the kernel's help; without it, if there is none. */
static enum session_error take(struct look *k)
{
	enum session_error e = record(k, true);
	struct buf why = *k->text;

	if (e && (!is_kernels(e) || k->n_refused == k->o->n_pids))
		return e;
	buf_init(k->text);
	k->recorded = !e;
	if (e || !all_settled(k->m)) {
		enum session_error again = record(k, false);

		if (e && again)
			e = again;
		else
			buf_reset(k->text);
		if (e && !again) {
			e = SESSION_OK;
			buf_printf(k->text, "threads that run can't be proven: %s",
				   why.data ? why.data : "");
		}
	}
	buf_release(&why);
	return e;
}

enum session_error look_take(const struct look_options *o, struct moment *ret, struct buf *ret_text)
{
	struct look k = {.o = o, .m = ret, .text = ret_text};
	enum session_error e = take(&k);

	if (!e && note_all(ret)) {
		buf_reset(ret_text);
		buf_puts(ret_text, "not enough memory");
		e = SESSION_INTERNAL;
	}
	moment_sort(ret);
	return e;
}
