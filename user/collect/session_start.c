/* Start a live recording: load, open, find the processes, and say clearly what is missing. */
#include <cap-ng.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "base/clock.h"
#include "collect/session_impl.h"
#include "target/ns.h"
#include "target/task.h"

#define START_LOOK_NS (20 * NSEC_PER_MSEC)   /* between looks while a pid is not Python yet */
#define START_GRACE_NS (500 * NSEC_PER_MSEC) /* for an interpreter that is just starting */

_Static_assert(SESSION_MAX_FRAMES == TARGET_MAX_FRAMES, "one limit");
_Static_assert((int)SESSION_SEED_STACK == TARGET_SEED_STACK, "seeds have one numbering");
_Static_assert((int)SESSION_SEED_LEAF == TARGET_SEED_LEAF, "seeds have one numbering");
_Static_assert((int)SESSION_MODE_CPU == RECORDING_CPU, "modes have one numbering");
_Static_assert((int)SESSION_MODE_WALL == RECORDING_WALL, "modes have one numbering");
_Static_assert((int)SESSION_MODE_GIL == RECORDING_GIL, "modes have one numbering");
_Static_assert((int)SESSION_SEED_TSTATE == TARGET_SEED_TSTATE, "seeds have one numbering");

static void stamp(const struct session *s, struct recording *r)
{
	struct utsname u;

	memset(r, 0, sizeof(*r));
	if (uname(&u) == 0) {
		snprintf(r->host, sizeof(r->host), "%s", u.nodename);
		snprintf(r->kernel, sizeof(r->kernel), "%.60s %.60s", u.sysname, u.release);
	}
	snprintf(r->scry, sizeof(r->scry), "%s", SCRY_VERSION);
	snprintf(r->event, sizeof(r->event), "%s", s->o.event);
	snprintf(r->command, sizeof(r->command), "%s", s->o.command ? s->o.command : "");
	r->mode = (enum recording_mode)s->o.mode;
	r->clock = perf_is_clock(s->o.event);
	r->freq = s->o.freq;
	r->rate = s->o.rate;
	r->cpus = perf_cpus(s->perf);
	r->start_mono = clock_mono();
	r->start_real = clock_real();
}

/* Of what starting does with the processes that were asked for. */
struct find {
	struct session *s;
	struct buf *text;
	uint64_t until; /* so long a process may take to become Python */
	enum session_error error;
};

/* Checks each; what is wrong with one ends it all, or is told and left out as long as another is
 * left. */
static enum session_error each_pid(struct find *f,
				   enum session_error (*check)(struct find *, size_t))
{
	const struct session_options *o = &f->s->o;
	enum session_error e, first = SESSION_OK;
	size_t refused = 0, i;

	for (i = 0; i < o->n_pids; i++) {
		e = check(f, i);
		if (!e)
			continue;
		if (!o->refused)
			return e;
		o->refused(i, e, f->text->data ? f->text->data : "not enough memory",
			   o->refused_arg);
		buf_reset(f->text);
		if (!refused++)
			first = e;
	}
	return refused == o->n_pids ? first : SESSION_OK;
}

static enum session_error refuse(const struct session_options *o, pid_t pid,
				 const struct discover_found *f, struct buf *text)
{
	switch (f->why) {
	case DISCOVER_GONE:
		buf_printf(text, "no process %d", pid);
		return SESSION_NO_PROCESS;
	case DISCOVER_UNSUPPORTED:
		buf_printf(text, "process %d runs Python %u.%u; scry reads 3.%d to 3.%d", pid,
			   f->version >> 24, (f->version >> 16) & 0xff, LAYOUT_MINOR_MIN,
			   LAYOUT_MINOR_MAX);
		return SESSION_UNSUPPORTED;
	case DISCOVER_DENIED:
		buf_printf(text, "process %d: %s", pid, discover_reason(f->why));
		return SESSION_PERMISSION;
	case DISCOVER_NOT_PYTHON:
		buf_printf(text, "process %d is not Python%s", pid,
			   o->inherit ? " and has no Python descendant" : "");
		return SESSION_NOT_PYTHON;
	case DISCOVER_INVALID:
	case DISCOVER_STUCK:
		buf_printf(text, "process %d: %s", pid, discover_reason(f->why));
		return SESSION_UNSUPPORTED;
	default:
		buf_printf(text, "process %d: %s", pid, discover_reason(f->why));
		return SESSION_NOT_PYTHON;
	}
}

/* Between two looks; true when it is to end. */
static bool interrupted(const struct session *s)
{
	struct timespec ts = {.tv_nsec = START_LOOK_NS};

	nanosleep(&ts, NULL);
	return s->o.stop && *s->o.stop;
}

/* Python, or a Python among its descendants: that may take a moment. */
static enum session_error find_process(struct find *f, size_t i)
{
	struct session *s = f->s;
	struct discover_found found = {.why = DISCOVER_GONE};

	while (targets_asked(s->targets, i, &found) != DISCOVER_OK) {
		if (found.why == DISCOVER_GONE || found.why == DISCOVER_UNSUPPORTED ||
		    clock_mono() >= f->until || (!s->o.wait_ns && found.why != DISCOVER_NOT_YET) ||
		    interrupted(s))
			return refuse(&s->o, s->o.pids[i], &found, f->text);
		targets_look_again(s->targets, s->o.pids[i]);
		found = (struct discover_found){.why = DISCOVER_GONE};
	}
	return SESSION_OK;
}

static int find_processes(void *arg)
{
	struct find *f = arg;
	int err = targets_scan(f->s->targets);

	f->until = clock_mono() + MAX(f->s->o.wait_ns, START_GRACE_NS);
	if (err) {
		buf_printf(f->text, "listing processes: %s", strerror(-err));
		f->error = SESSION_INTERNAL;
	} else if (!f->s->o.launched) {
		f->error = each_pid(f, find_process);
	}
	return 0;
}

/* What the kernel refused may not be needed at all. */
static enum session_error refuse_kernel(const struct session_options *o, int err,
					enum session_error other, struct buf *text)
{
	if (err != -EPERM && err != -EACCES && other == SESSION_EVENT)
		return other;
	if (o->without_bpf)
		buf_printf(text, "; %s", o->without_bpf);
	return err == -EPERM || err == -EACCES ? SESSION_PERMISSION : other;
}

static enum session_error open_kernel(struct session *s, struct buf *text)
{
	struct bpf_options b = {
		.max_frames = s->o.max_frames,
		.seed = (enum target_seed)s->o.seed,
	};
	struct perf_options p = {.event = s->o.event};
	int err;

	if (!perf_known(s->o.event)) {
		buf_printf(text, "unknown event '%s': scry knows ", s->o.event);
		perf_names(text);
		return SESSION_EVENT;
	}
	err = ns_self(&b.ns);
	if (err) {
		buf_printf(text, "/proc/self can't be read: %s (is /proc mounted?)",
			   strerror(-err));
		return SESSION_KERNEL;
	}
	if (s->o.no_bpf)
		return SESSION_OK;
	s->load_ns = clock_mono();
	err = bpf_load(&s->bpf, &b, text);
	s->load_ns = clock_mono() - s->load_ns;
	if (err)
		return refuse_kernel(&s->o, err, SESSION_KERNEL, text);
	p.prog_fd = bpf_tick_fd(s->bpf);
	*(s->o.freq ? &p.freq : &p.period) = s->o.rate;
	err = perf_open(&s->perf, &p, text);
	if (err)
		return refuse_kernel(&s->o, err, SESSION_EVENT, text);
	return SESSION_OK;
}

static void on_record(void *arg, const void *data, size_t len)
{
	struct session *s = arg;

	assemble_record(s->assemble, data, len);
}

static int make_parts(struct session *s)
{
	int err;

	s->names = names_new();
	s->assemble = assemble_new(&session_records, s);
	if (!s->names || !s->assemble)
		return -ENOMEM;
	err = guard_new(GUARD_LIMIT_NS, &s->guard);
	if (!err && s->bpf)
		err = ring_open(&s->ring, bpf_ring_fd(s->bpf), on_record, s);
	if (!err)
		err = targets_new(&s->o, s->bpf, s->guard, s->names, s->sink, &s->targets);
	if (!err)
		err = pipeline_new(&s->o, s->targets, s->names, s->sink, &s->pipeline);
	if (err || (s->o.mode == SESSION_MODE_CPU && !s->o.no_bpf))
		return err;
	err = tasks_new(s->bpf, &s->tasks, NULL);
	if (!err)
		err = wall_new(&s->o, s->tasks, s->targets, s->pipeline, &s->wall);
	return err;
}

/* Pids that do not exist are told before anything that needs privileges is tried. */
static enum session_error check_pid(struct find *f, size_t i)
{
	struct discover_found gone = {.why = DISCOVER_GONE};
	pid_t pid = f->s->o.pids[i], process;
	struct task_stat st;

	if (task_stat_process(pid, &st, NULL))
		return refuse(&f->s->o, pid, &gone, f->text);
	if (task_tgid(pid, &process) == 0 && process != pid) {
		buf_printf(f->text, "%d is a thread of process %d", pid, process);
		return SESSION_NO_PROCESS;
	}
	return SESSION_OK;
}

/* BPF loads without it, and then not one process could be read: better no recording than an empty
 * one. */
static enum session_error check_reading(const struct session_options *o, struct buf *text)
{
	if (o->n_pids || capng_get_caps_process() ||
	    capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_PTRACE))
		return SESSION_OK;
	buf_puts(text, "reading other processes needs CAP_SYS_PTRACE: run as root, or give it "
		       "(scry doctor "
		       "tells what else is missing)");
	return SESSION_PERMISSION;
}

enum session_error session_start(struct session *s, struct buf *text)
{
	struct find f = {.s = s, .text = text};
	struct recording rec;
	enum session_error e = each_pid(&f, check_pid);
	int err, result;

	if (!e)
		e = check_reading(&s->o, text);
	if (!e)
		e = open_kernel(s, text);
	if (e)
		return e;
	err = make_parts(s);
	if (err) {
		buf_printf(text, "setting up: %s", strerror(-err));
		return SESSION_INTERNAL;
	}
	stamp(s, &rec);
	err = s->sink->ops->begin(s->sink, &rec);
	if (err) {
		buf_printf(text, "writing the recording: %s", strerror(-err));
		return SESSION_OUTPUT;
	}
	err = guard_run(s->guard, find_processes, &f, &result);
	if (err) {
		buf_printf(text, "starting a thread: %s", strerror(-err));
		return SESSION_INTERNAL;
	}
	return f.error;
}
