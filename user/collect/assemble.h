/*
 * Put the records of a sample together again, and check them.
 *
 * Records come from our own program but hold bytes of targets, so every length is bounded here and
 * nowhere else: behind it pieces are what their kind says. A sample is handed on only when all of
 * its parts are there; one that the ring buffer had no room for was counted by the kernel side
 * (EVENT_CTR_LOST), also when its first parts arrived.
 */
#ifndef SCRY_COLLECT_ASSEMBLE_H
#define SCRY_COLLECT_ASSEMBLE_H

#include "base/compiler.h"
#include "bpf/event.h"

struct assembled_piece {
	uint64_t addr;	     /* in the target; 0 for EVENT_IDENTITY */
	const uint8_t *data; /* 8-byte aligned */
	uint32_t len;	     /* EVENT_IDENTITY: a multiple of sizeof(struct event_identity) */
	uint32_t kind;	     /* enum event_piece_kind, known ones only */
};

/* Valid during the call that hands it over. */
struct assembled {
	const struct event_sample *sample;
	const struct assembled_piece *pieces; /* as the kernel met them, leaf first */
	size_t count;
	uint32_t cpu;
	uint64_t seq;
};

struct assemble_ops {
	void (*sample)(void *arg, const struct assembled *s);
	void (*unknown)(void *arg, const struct event_unknown *u);
	void (*life)(void *arg, enum event_kind kind, const struct event_life *l);
};

struct assemble_stats {
	uint64_t records;
	uint64_t incomplete; /* samples with a missing part; the kernel counted them as lost */
	uint64_t bad;	     /* records that make no sense; 0 unless something is broken */
};

struct assemble;

struct assemble *assemble_new(const struct assemble_ops *ops, void *arg); /* NULL: no memory */
void assemble_free(struct assemble *a);
void assemble_record(struct assemble *a, const void *data, size_t len); /* 8-byte aligned */
void assemble_stats(const struct assemble *a, struct assemble_stats *ret);

#endif
