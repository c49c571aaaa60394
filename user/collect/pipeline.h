/* What happens to a sample, from the kernel's record to the sink. */
#ifndef SCRY_COLLECT_PIPELINE_H
#define SCRY_COLLECT_PIPELINE_H

#include "collect/assemble.h"
#include "collect/targets.h"
#include "python/walk.h"

struct pipeline;

struct pipeline_counts {
	uint64_t samples, unnamed, other;
	uint64_t outcomes[OUTCOME_MAX], states[RUN_MAX], weights[RUN_MAX];
};

/* Keeps references to all of its arguments but o. 0, -ENOMEM, or -EINVAL: o->threads. */
int pipeline_new(const struct session_options *o, struct targets *t, struct names *names,
		 struct sink *sink, struct pipeline **ret);
void pipeline_free(struct pipeline *p);
/* Takes one complete sample; its bytes may go afterwards. 0 or -ENOMEM. */
int pipeline_sample(struct pipeline *p, const struct assembled *a);

/* A stack that was read, leaf first, and what proves its code objects; n 0: there is none. */
struct pipeline_frames {
	const struct walk_frame *frames;
	const struct identity *ids;
	size_t n;
	bool one_id; /* ids has one, which proves them all */
};

/* Takes a sample (all but its stack) with frames, which may go afterwards. Until the next flush
 * *ret_ticket stands for its stack. 0 or -ENOMEM. */
int pipeline_read(struct pipeline *p, struct process *proc, const struct sample *s,
		  const struct pipeline_frames *f, uint32_t *ret_ticket);
/* Takes another sample with the stack (and outcome) of that one. 0 or -ENOMEM. */
int pipeline_like(struct pipeline *p, const struct sample *s, uint32_t ticket);
/* Hands on a sample whose stack is known. 0 or -errno of the sink. */
int pipeline_again(struct pipeline *p, struct process *proc, const struct sample *s);
/* After a flush, until the next sample: what has become of the ticket's stack. False: it is not
 * worth keeping, some frame of it has no name. */
bool pipeline_settled(const struct pipeline *p, uint32_t ticket, uint32_t *ret_stack,
		      enum outcome *ret_outcome);
/* Samples that wait for the next flush are many. */
bool pipeline_full(const struct pipeline *p);
/* Names what was taken since the last flush, and hands it to the sink; emptied: the ring holds no
 * older ticks. 0 or -errno of the sink. */
int pipeline_flush(struct pipeline *p, bool emptied);
void pipeline_get_counts(const struct pipeline *p, struct pipeline_counts *ret);

#endif
