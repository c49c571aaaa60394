/* A live recording: from options to a sink full of samples. */
#ifndef SCRY_COLLECT_SESSION_H
#define SCRY_COLLECT_SESSION_H

#include <signal.h>
#include <sys/types.h>
#include "base/buf.h"
#include "profile/sink.h"

#define SESSION_MAX_PIDS 1024
#define SESSION_MAX_FRAMES 512 /* of max_frames */
#define SESSION_FRAMES 256     /* what it is unless asked for */

enum session_seed { SESSION_SEED_STACK, SESSION_SEED_LEAF, SESSION_SEED_TSTATE };

/* What a sample stands for: see enum recording_mode. */
enum session_mode { SESSION_MODE_CPU, SESSION_MODE_WALL, SESSION_MODE_GIL };

/* Why a session could not start or stopped: the exit statuses of cli/ map from these. */
enum session_error {
	SESSION_OK,
	SESSION_PERMISSION,  /* no root, a missing capability, lockdown */
	SESSION_KERNEL,	     /* BPF or perf events are not there */
	SESSION_EVENT,	     /* unknown event, or this machine lacks it */
	SESSION_NO_PROCESS,  /* no such pid */
	SESSION_NOT_PYTHON,  /* pid is not Python and has no Python descendant */
	SESSION_UNSUPPORTED, /* a Python that scry can't read */
	SESSION_OUTPUT,	     /* the sink failed */
	SESSION_INTERNAL,
};

struct session_options {
	const pid_t *pids; /* n_pids 0: the whole machine */
	size_t n_pids;
	/* NULL: one of pids that can't be sampled ends it. Else it is told by this, maybe twice,
	 * and left out, and only when none is left it ends. */
	void (*refused)(size_t i, enum session_error e, const char *why, void *arg);
	void *refused_arg;
	bool inherit;	  /* forked and exec'd children of pids too */
	pid_t launched;	  /* pid of a command that scry started (it is also in pids), 0: none */
	uint64_t wait_ns; /* how long a pid may take to become Python (--wait) */
	const volatile sig_atomic_t *stop; /* ends that waiting when it is set; may be NULL */
	const char *event;
	bool freq; /* rate is Hz, else the period */
	uint64_t rate;
	uint32_t max_frames;
	enum session_seed seed; /* SESSION_MODE_CPU */
	enum session_mode mode;
	bool no_bpf;		 /* read on a timer, with the scheduler's facts from /proc */
	const char *without_bpf; /* how to do so, told where BPF is refused; NULL: nothing */
	bool exclude_idle;	 /* no samples of threads that neither run nor would */
	const char *threads;	 /* regular expression (ERE) of thread names, NULL: all */
	bool python_names;	 /* read what Python calls each thread */
	bool stats;		 /* tell the sink what the engine did, by process */
	uint64_t duration_ns;	 /* 0: until stopped */
	const char *command;	 /* scry's own command line, for the recording */
};

struct session_progress {
	uint64_t elapsed_ns, samples, processes, lost;
};

struct session;

/*
 * Loads BPF, opens the events, finds the processes. On failure *ret_text gets one line that names
 * the thing, what was tried and what to do. The text of a started session that fails later comes
 * from session_run().
 */
enum session_error session_new(const struct session_options *o, struct sink *sink,
			       struct session **ret, struct buf *ret_text);
/*
 * Records until the duration is over, *stop becomes non-zero (a signal handler's), every wanted
 * process has ended, or `done` (may be NULL) returns true. `progress` (may be NULL) is called about
 * twice a second. Ends the sink.
 */
enum session_error session_run(struct session *s, volatile sig_atomic_t *stop, bool (*done)(void *),
			       void (*progress)(const struct session_progress *, void *), void *arg,
			       struct buf *ret_text);
size_t session_processes(const struct session *s); /* that are sampled now */
/* Calls fn for each wanted process with a Python that can't be sampled, until it returns non-zero,
 * which is returned. */
int session_refused(const struct session *s, int (*fn)(pid_t pid, const char *reason, void *arg),
		    void *arg);
void session_summary(const struct session *s, struct summary *ret);
/* What was counted by process (options: stats); rows are valid as long as the session. 0 or
 * -ENOMEM. */
int session_stats(const struct session *s, struct stats_table *ret);
void session_free(struct session *s);

#endif
