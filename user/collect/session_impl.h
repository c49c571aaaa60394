/* What session.c (running) and session_start.c (starting) share; for no one else. */
#ifndef SCRY_COLLECT_SESSION_IMPL_H
#define SCRY_COLLECT_SESSION_IMPL_H

#include "collect/assemble.h"
#include "collect/bpf.h"
#include "collect/perf.h"
#include "collect/pipeline.h"
#include "collect/ring.h"
#include "collect/session.h"
#include "collect/targets.h"
#include "collect/tasks.h"
#include "collect/wall.h"
#include "remote/guard.h"

struct session {
	struct session_options o;
	struct sink *sink;
	struct names *names;
	struct bpf *bpf; /* NULL without, and so are perf and ring */
	struct perf *perf;
	struct ring *ring;
	struct assemble *assemble;
	struct guard *guard; /* everything that reads processes runs under it */
	struct targets *targets;
	struct pipeline *pipeline;
	struct tasks *tasks;	       /* modes other than cpu, and without BPF; else NULL */
	struct wall *wall;	       /* the same */
	uint64_t made, start, end;     /* monotonic ns: session_new(), events enabled, disabled */
	uint64_t idle_start, idle_end; /* of all CPUs together, then */
	uint64_t load_ns;
	int error; /* first failure while taking records */
};

/* The callbacks of assemble, in session.c. */
extern const struct assemble_ops session_records;
/* Loads, opens, finds the processes; what is missing is said in one line. */
enum session_error session_start(struct session *s, struct buf *text);

#endif
