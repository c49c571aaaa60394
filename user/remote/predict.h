/*
 * Which pieces of memory the next walk of something will look at, learned from what the last walks
 * of it looked at. Knows nothing of what they are: a kind is a small number, for the counts.
 */
#ifndef SCRY_REMOTE_PREDICT_H
#define SCRY_REMOTE_PREDICT_H

#include "remote/batch.h"

#define PREDICT_KINDS 6
#define PREDICT_PATIENCE 8     /* times in a row asked for in vain: it does not pay any more */
#define PREDICT_MAX (1u << 18) /* pieces */

struct predict_hits {
	uint64_t right, wrong, unused; /* looked at; another was needed; for nothing */
};

struct predict_piece {
	raddr_t addr;
	uint32_t len;
	uint32_t index; /* in the batch, or not asked for */
	uint32_t again; /* its second copy, or not asked for */
	uint32_t span;	/* in the snapshot of predict_into() */
	uint8_t kind;
	uint8_t idle; /* times in a row that it was asked for in vain */
	bool used;    /* this time: it was looked at */
	bool missed;  /* this time: it was not predicted */
	bool alone;   /* the last time a neighbour kept it from being read, or it the neighbour */
};

/* All zeroes is one that has learned nothing. */
struct predict {
	struct predict_piece *v;
	size_t n, cap;
	bool asked; /* something was predicted this time */
};

void predict_release(struct predict *p);
/* Begins a read: asks for everything that is expected. 0, -ENOMEM, or batch_near()'s failure. */
int predict_ask(struct predict *p, struct batch *b);
/* Asks for those of these kinds (a bit each) once more, to be read after all of it: a second copy.
 * 0, or batch_near()'s failure. */
int predict_ask_again(struct predict *p, struct batch *b, uint32_t kinds);
/* Adds the second copies that came to a snapshot. 0, or snapshot_add()'s failure. */
int predict_into_again(const struct predict *p, const struct batch *b, struct snapshot *s);
/* Adds what was asked for and came to a snapshot. 0, or snapshot_add()'s failure. */
int predict_into(struct predict *p, const struct batch *b, struct snapshot *s);
/* That snapshot was walked: notes what of it was looked at. Call before it is reset. */
void predict_seen(struct predict *p, const struct snapshot *s);
/*
 * A piece that was missed: asks for it now, and the next time. -EFAULT when it was asked for in
 * this read already and did not come; else batch_near()'s failure.
 */
int predict_need(struct predict *p, unsigned int kind, raddr_t addr, uint32_t len, struct batch *b);
/* How long the piece at addr shall be the next time (0 < len): grows at once, shrinks slowly. */
void predict_fit(struct predict *p, unsigned int kind, raddr_t addr, uint32_t len);
/* Ends the read: keeps what was looked at, drops what stopped paying, adds to hits by kind. */
void predict_settle(struct predict *p, const struct batch *b,
		    struct predict_hits hits[PREDICT_KINDS]);

#endif
