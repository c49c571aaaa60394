/* The data model of a recording: what was asked, processes, threads, samples, the sum at the end.
 */
#ifndef SCRY_PROFILE_SAMPLE_H
#define SCRY_PROFILE_SAMPLE_H

#include <stdbool.h>
#include "profile/frame.h"
#include "profile/run_state.h"

/* What became of a sample; design.md §1 defines each. The order is part of the recording's format.
 */
enum outcome {
	OUTCOME_EXACT,
	OUTCOME_JOINED,
	OUTCOME_READ,
	OUTCOME_CUT,
	OUTCOME_UNPROVEN,
	OUTCOME_GONE,
	OUTCOME_NATIVE,
	OUTCOME_MISSED,
	OUTCOME_MAX,
};

/* What a sample stands for. The order is part of the recording's format. */
enum recording_mode {
	RECORDING_CPU,	/* CPU time (or events) of what ran */
	RECORDING_WALL, /* elapsed time of every thread */
	RECORDING_GIL,	/* elapsed time of who holds the GIL */
	RECORDING_MODES,
};

const char *outcome_name(enum outcome o);		/* "exact", … */
int outcome_parse(const char *name, enum outcome *ret); /* 0 or -EINVAL */

struct process_info {
	uint32_t id; /* counted from 0 in a recording: one image of one process */
	uint32_t pid, ppid, uid;
	uint64_t start_boottime;	   /* ns */
	uint32_t comm, cmdline, container; /* string ids */
	uint32_t python;		   /* string id: "3.13.18", "3.11" */
	uint32_t exe;			   /* string id: the file that holds the runtime */
	uint64_t start_code, start_stack;  /* image id of the kernel's mm; 0 unknown */
};

struct thread_info {
	uint32_t id;	  /* counted from 0 in a recording */
	uint32_t process; /* process_info.id */
	uint32_t tid;
	uint32_t name, python; /* string ids: the kernel's, Python's (0: not known, not recorded) */
};

struct sample {
	uint64_t time;	 /* CLOCK_MONOTONIC ns */
	uint64_t weight; /* the event's period (ns for clocks), of all its ticks together */
	uint32_t more;	 /* ticks before its own at which the thread stood just like this, which it
			    stands for too: it counts as 1 + more samples */
	uint32_t process, thread; /* ids */
	uint32_t cpu;
	uint32_t stack; /* root first: its chain of callers; OUTCOME_MISSED etc. have their marker
			   as only frame */
	enum outcome outcome;
	enum run_state state;
	bool holds_gil; /* not recorded: for sinks that show a moment */
};

/* What was asked, and where. Strings are plain C strings here (few, and known before any table
 * exists). */
struct recording {
	char host[128], kernel[128], scry[32], event[64];
	char command[1024]; /* scry's command line */
	enum recording_mode mode;
	bool clock; /* weight is nanoseconds */
	bool freq;  /* rate is Hz, else every `rate` events */
	uint64_t rate;
	uint32_t cpus;
	uint64_t start_mono, start_real; /* ns */
};

struct summary {
	uint64_t samples, lost, other, unnamed; /* unnamed: frames whose names could not be read */
	uint64_t outcomes[OUTCOME_MAX], states[RUN_MAX]; /* samples */
	uint64_t weights[RUN_MAX]; /* by state, ns for clocks; of a recording that is read, the sum
				      of its samples */
	uint64_t processes, threads;
	uint64_t refused;	    /* processes with a Python that could not be profiled */
	uint64_t reads, read_bytes; /* process_vm_readv calls and bytes */
	uint64_t ticks, idle;
	uint64_t cpu_ns;	 /* own, user + system, bpf_ns not included */
	uint64_t bpf_ns;	 /* run time of the BPF programs; 0 when the kernel does not say */
	uint64_t peak_rss_bytes; /* own memory at its largest, BPF maps and ring included */
	uint64_t map_bytes;	 /* of these: BPF maps and ring */
	uint64_t duration_ns;
	uint64_t load_ns;    /* to load the BPF programs */
	uint64_t startup_ns; /* from the start of the session to the first tick that could be */
	uint64_t rate_asked_mhz, rate_reached_mhz; /* samples per second and CPU, in thousandths */
};

#endif
