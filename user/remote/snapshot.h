/* What was read of a process at one moment: bytes, looked up by remote address. */
#ifndef SCRY_REMOTE_SNAPSHOT_H
#define SCRY_REMOTE_SNAPSHOT_H

#include <stdbool.h>
#include "base/compiler.h"
#include "remote/addr.h"

#define SNAPSHOT_MAX_SPANS (1u << 18)

struct snapshot;

struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *s);
void snapshot_reset(struct snapshot *s); /* forgets all, keeps the memory */
/*
 * Adds bytes that the caller keeps alive until the reset (a seed's parts). 0, -ENOSPC, -ENOMEM, or
 * -EINVAL when the addresses would wrap around.
 */
int snapshot_add(struct snapshot *s, raddr_t addr, const void *bytes, size_t len);
/* The bytes at [addr, addr + len) when one span holds all of them, else NULL. The last added wins.
 */
const void *snapshot_at(struct snapshot *s, raddr_t addr, size_t len);

/* A span that answered: the bytes at [addr, end). */
struct snapshot_view {
	raddr_t addr, end;
	const uint8_t *bytes;
};
/* The same, for who goes on to look near by: the whole span; false when none holds it. */
bool snapshot_find(struct snapshot *s, raddr_t addr, size_t len, struct snapshot_view *ret);
/* Spans so far, which is the number of the next one that is added and not empty. */
size_t snapshot_count(const struct snapshot *s);
/* Whether a lookup was answered from this one. */
bool snapshot_used(const struct snapshot *s, size_t span);

#endif
