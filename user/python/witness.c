/* What the GIL says of a thread while memory is read: that it ran no Python. */
#include "python/witness.h"

#include <pthread.h>
#include "base/bytes.h"

/* Behind the words lie two pairs of condition and mutex: to wait for the GIL, and, after giving it
 * up when asked to, for another one to take it. The same C library's as ours. */
#define PAIRS (2 * (sizeof(pthread_cond_t) + sizeof(pthread_mutex_t)))

void witness_place(const struct layout *l, uint32_t *ret_offset, uint32_t *ret_len)
{
	uint32_t from = MIN(MIN(l->gil.last_holder, l->gil.locked), l->gil.switch_number);
	uint32_t end =
		MAX(MAX(l->gil.last_holder + 8, l->gil.locked + 4), l->gil.switch_number + 8);

	*ret_offset = from;
	*ret_len = end - from;
}

struct witness witness_decode(const struct layout *l, const void *bytes)
{
	const uint8_t *p = bytes;
	uint32_t from, len;

	if (!p)
		return (struct witness){0};
	witness_place(l, &from, &len);
	return (struct witness){
		.ok = true,
		.locked = bytes_load32(p + l->gil.locked - from) == 1,
		.last_holder = bytes_load64(p + l->gil.last_holder - from),
		.switch_number = bytes_load64(p + l->gil.switch_number - from),
	};
}

bool witness_still(const struct witness *a, const struct witness *b, raddr_t tstate)
{
	return a->ok && b->ok && a->last_holder && a->last_holder != tstate &&
	       a->last_holder == b->last_holder && a->switch_number == b->switch_number;
}

bool witness_holds(const struct witness *a, const struct witness *b, raddr_t tstate)
{
	return a->ok && b->ok && a->locked && b->locked && a->last_holder == tstate &&
	       b->last_holder == tstate;
}

bool witness_futex(const struct layout *l, raddr_t gil, raddr_t futex)
{
	return gil && futex >= gil && futex - gil < l->gil.switch_number + 8 + PAIRS;
}
