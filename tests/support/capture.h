/* Sample a fake target with the real programs and keep what the kernel side says of it. */
#ifndef SCRY_TESTS_CAPTURE_H
#define SCRY_TESTS_CAPTURE_H

#include "collect/assemble.h"
#include "collect/bpf.h"
#include "collect/perf.h"
#include "collect/ring.h"
#include "tests/support/faketarget.h"

#define CAPTURE_PIECES 2048

struct capture {
	struct bpf *bpf;
	struct perf *perf;
	struct ring *ring;
	struct assemble *assemble;
	struct faketarget target;
	struct event_task task; /* of the target, from its first unknown record */
	struct target entry;

	/* what was asked for, and what came */
	uint32_t pid;
	uint64_t since; /* only what was taken later counts */
	uint32_t samples, unknowns, execs, exits;
	struct event_unknown unknown;
	struct event_life life;
	struct event_sample sample;
	struct assembled_piece pieces[CAPTURE_PIECES]; /* data copied to `bytes` */
	size_t count;
	uint8_t *bytes;
};

/* Everything up to a fake target that is known as CPython; skips the test without root. */
void capture_init(struct capture *c, const struct bpf_options *o);
void capture_release(struct capture *c);
void capture_know(struct capture *c, const struct target_layout *l);

enum capture_what { CAPTURE_SAMPLE, CAPTURE_UNKNOWN, CAPTURE_EXEC, CAPTURE_EXIT };

/* What counts from now on: records about pid that are taken after now. */
void capture_begin(struct capture *c, uint32_t pid);
/* Waits for the first one of that kind since then; false: none within 10 s. */
bool capture_wait(struct capture *c, enum capture_what what);
/* Both. */
bool capture_next(struct capture *c, enum capture_what what, uint32_t pid);
/* The bytes of the target that the sample holds at an address, of pieces of one kind; NULL: not
 * there. */
const void *capture_find(const struct capture *c, uint32_t kind, const void *addr, size_t len);
size_t capture_count(const struct capture *c, uint32_t kind);

#endif
