/* One image of one process, as the recorder keeps it. */
#ifndef SCRY_COLLECT_PROCESS_H
#define SCRY_COLLECT_PROCESS_H

#include <uthash.h>
#include "bpf/event.h"
#include "collect/bpf.h"
#include "collect/roster.h"
#include "profile/stats.h"
#include "python/discover.h"
#include "python/reader.h"
#include "symbol/pycode.h"
#include "target/task.h"

enum process_state {
	PROCESS_WAITING, /* not looked at with success yet: again at next_try */
	PROCESS_PYTHON,	 /* sampled */
	PROCESS_IGNORED, /* not Python, not wanted or not readable */
	PROCESS_EXITED,	 /* ended, or another image took its pid: freed after the next flush */
};

struct process_thread {
	uint32_t tid;
	uint64_t start; /* boottime ns: with tid it names one thread */
	uint64_t last;	/* time of its last sample */
	struct thread_info info;
	UT_hash_handle hh;
};

/* A thread pointer that the kernel side's `threads` has an entry for. */
struct process_pointer {
	uint64_t thread_ptr;
	raddr_t tstate;
	UT_hash_handle hh;
};

struct process {
	uint32_t pid;
	enum process_state state;
	struct image_id image;
	uint64_t start_boottime; /* ns; from /proc only to a clock tick */
	bool start_exact;	 /* start_boottime came from the kernel side */
	uint64_t exec_vm;	 /* pages mapped executable at its last notice, 0: none came */
	struct discover_found found;
	uint32_t layout; /* index into the kernel's `layouts` */
	struct mem *mem;
	struct pycode *code;
	struct process_info info;
	struct process_thread *threads;	  /* uthash by tid */
	struct process_pointer *pointers; /* uthash by thread_ptr */
	struct stats stats;		  /* what process_stats() does not find elsewhere */
	struct roster roster;		  /* of threads, when modes other than cpu see them */
	struct reader *reader;		  /* made when a stack is read; NULL: none was */
	struct pyname *names;		  /* the same when Python's name of a thread is */
	struct pycode_query *queries;	  /* of samples that wait for names */
	size_t n_queries, cap_queries;
	bool sampled;	/* in this drain */
	bool fresh;	/* found by its first tick or its exec, not among those that were there */
	bool announced; /* to the sink: at its first sample; info.id is set then */
	bool recheck;	/* PROCESS_IGNORED: look again when it maps code */
	uint64_t list_next;  /* monotonic ns: when its thread list may be read again */
	uint64_t sweep_next; /* the same: threads not seen for long may be looked for */
	bool unsettled;	     /* stacks that were read wait to be named */
	/* modes other than cpu, monotonic ns: the last wall tick that looked at it, and the last
	 * one at which a thread of it ran or had run; 0: none */
	uint64_t wall_seen, wall_awake;
	bool dozes;	   /* nothing of it has run for long: it is looked at more rarely */
	bool watched;	   /* by the kernel's ticker */
	bool gone;	   /* reading it said so */
	uint64_t next_try; /* PROCESS_WAITING: monotonic ns */
	unsigned int tries;
	uint64_t next_look;   /* PROCESS_IGNORED: monotonic ns, when a pass that meets it counts */
	unsigned int looks;   /* that passes have led to */
	UT_hash_handle hh;    /* by pid, one image at a time */
	struct process *next; /* exited ones */
};

/* NULL: out of memory. */
struct process *process_new(uint32_t pid);
void process_free(struct process *p);
/* All that was counted for it, its memory's and its code cache's numbers included. */
void process_stats(const struct process *p, struct stats *ret);

/* Is it, now, still the process and image that it was? By /proc. */
bool process_same(const struct process *p);

/* The thread that is seen at `time`, when it has been seen before; NULL: new, or another thread had
 * its tid. */
struct process_thread *process_thread_find(struct process *p, uint32_t tid, uint64_t start,
					   uint64_t time);
/* Adds it, without its info; forgets threads that have not been seen for long when there are many.
 */
struct process_thread *process_thread_add(struct process *p, uint32_t tid, uint64_t start,
					  uint64_t time);

/* Tells the kernel side where the state of a thread is. What is told is taken back by the next. */
void process_tell(struct process *p, struct bpf *bpf, uint64_t thread_ptr, raddr_t tstate);
void process_untell(struct process *p, struct bpf *bpf);

#endif
