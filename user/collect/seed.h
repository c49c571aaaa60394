/* The frames of a sample, from what the interrupt recorded. */
#ifndef SCRY_COLLECT_SEED_H
#define SCRY_COLLECT_SEED_H

#include "collect/assemble.h"
#include "profile/sample.h"
#include "python/reader.h"
#include "symbol/pycode.h"

#define SEED_MAX_FRAMES 8192 /* more than 256 KiB of chunks can hold beside 512 frames outside */

/* The stack of one sample, leaf first: each frame with what proves its code object. */
struct seed {
	struct walk_frame *frames;
	struct identity *ids;
	bool one_id; /* ids has one, which proves them all */
	size_t n, cap_frames, cap_ids;
	struct walk_frame *before; /* of the reading before: seed_read() compares two */
	size_t cap_before;
	enum outcome outcome; /* of the stack alone; naming may still turn it into OUTCOME_GONE */
	/* seed.c's own: an identity of each code object of this sample, once it is asked for */
	const struct event_identity **codes;
	bool indexed;
};

int seed_init(struct seed *s); /* 0 or -ENOMEM */
void seed_release(struct seed *s);
/* Decodes a sample that was recorded with its frames. `scratch` is reset and used. 0 or -ENOMEM. */
int seed_decode(struct seed *s, const struct layout *l, const struct assembled *a,
		struct snapshot *scratch);
/*
 * Reads the stack of a sample that was recorded without frames (--seed=tstate|leaf) from its
 * process, now: OUTCOME_READ where the GIL's words prove that the thread stood still; else read
 * until two readings in a row agree, and OUTCOME_UNPROVEN all the same: a thread that runs can
 * change its frames and bring back every word that is compared (design.md §1). 0 or -ENOMEM.
 */
int seed_read(struct seed *s, struct reader *r, const struct event_sample *e);

#endif
