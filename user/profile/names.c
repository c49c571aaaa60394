/*
 * Frames and stacks, interned.
 *
 * Strings live in an intern table. Frames and stacks are arrays in the order of their ids, each
 * with an open-addressed table of ids + 1 (0: empty) that is at most half full; both are on the
 * path of every sample, and nothing is ever removed, so that is all a table has to do.
 */
#include "profile/frame.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define NAMES_MIN_SLOTS 256u

struct table {
	uint32_t *slots;
	size_t n_slots; /* a power of two */
	uint32_t n;	/* things in the array, and in the table */
	uint32_t cap;	/* of the array */
};

struct stack {
	uint32_t callers, frame, depth;
};

struct names {
	struct intern *strings;
	struct table frames, stacks;
	struct frame *frame;
	struct stack *stack;
};

_Static_assert(sizeof(struct frame) == 5 * sizeof(uint32_t), "frames are hashed as bytes");

static uint64_t hash_frame(const struct frame *f)
{
	return XXH3_64bits(f, sizeof(*f));
}

static uint64_t hash_stack(uint32_t callers, uint32_t frame)
{
	uint64_t key = (uint64_t)callers << 32 | frame;

	return XXH3_64bits(&key, sizeof(key));
}

/* The hash of what is already in the array under this id. */
typedef uint64_t hash_fn(const struct names *n, uint32_t id);

static uint64_t hash_frame_at(const struct names *n, uint32_t id)
{
	return hash_frame(&n->frame[id]);
}

static uint64_t hash_stack_at(const struct names *n, uint32_t id)
{
	return hash_stack(n->stack[id].callers, n->stack[id].frame);
}

static void place(struct table *t, uint64_t hash, uint32_t id)
{
	size_t i = hash & (t->n_slots - 1);

	while (t->slots[i])
		i = (i + 1) & (t->n_slots - 1);
	t->slots[i] = id + 1;
}

/* Makes room for one more thing in the table and in its array. */
static bool reserve(struct names *n, struct table *t, void **array, size_t size, hash_fn *hash)
{
	if (t->n == INTERN_NONE - 1)
		return false;
	if (t->n == t->cap) {
		uint32_t cap =
			t->cap < UINT32_MAX / 2 ? MAX(t->cap * 2, NAMES_MIN_SLOTS / 2) : UINT32_MAX;
		void *p = reallocarray(*array, cap, size);

		if (!p)
			return false;
		*array = p;
		t->cap = cap;
	}
	if ((size_t)t->n * 2 >= t->n_slots) {
		size_t n_slots = MAX(t->n_slots * 2, (size_t)NAMES_MIN_SLOTS);
		uint32_t *slots = calloc(n_slots, sizeof(*slots));

		if (!slots)
			return false;
		free(t->slots);
		t->slots = slots;
		t->n_slots = n_slots;
		for (uint32_t id = 0; id < t->n; id++)
			place(t, hash(n, id), id);
	}
	return true;
}

struct names *names_new(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->strings = intern_new();
	if (!n->strings || intern_put(n->strings, "", 0) != 0 ||
	    !reserve(n, &n->stacks, (void **)&n->stack, sizeof(*n->stack), hash_stack_at))
		goto err;
	/* The empty stack is in the array but not in the table: no (callers, frame) is it. */
	n->stack[0] = (struct stack){INTERN_NONE, INTERN_NONE, 0};
	n->stacks.n = 1;
	return n;
err:
	names_free(n);
	return NULL;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	intern_free(n->strings);
	free(n->frames.slots);
	free(n->stacks.slots);
	free(n->frame);
	free(n->stack);
	free(n);
}

uint32_t names_string(struct names *n, const void *p, size_t len)
{
	return intern_put(n->strings, p, MIN(len, (size_t)NAMES_MAX_STRING));
}

uint32_t names_frame(struct names *n, const struct frame *f)
{
	struct table *t = &n->frames;
	uint64_t hash = hash_frame(f);

	if (f->func >= names_strings(n) || f->file >= names_strings(n))
		return INTERN_NONE;
	for (size_t i = hash & (t->n_slots - 1); t->n && t->slots[i];
	     i = (i + 1) & (t->n_slots - 1)) {
		if (memcmp(&n->frame[t->slots[i] - 1], f, sizeof(*f)) == 0)
			return t->slots[i] - 1;
	}
	if (!reserve(n, t, (void **)&n->frame, sizeof(*n->frame), hash_frame_at))
		return INTERN_NONE;
	n->frame[t->n] = *f;
	place(t, hash, t->n);
	return t->n++;
}

uint32_t names_stack(struct names *n, uint32_t callers, uint32_t frame)
{
	struct table *t = &n->stacks;
	uint64_t hash = hash_stack(callers, frame);

	if (callers >= t->n || frame >= n->frames.n)
		return INTERN_NONE;
	for (size_t i = hash & (t->n_slots - 1); t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
		const struct stack *s = &n->stack[t->slots[i] - 1];

		if (s->callers == callers && s->frame == frame)
			return t->slots[i] - 1;
	}
	if (!reserve(n, t, (void **)&n->stack, sizeof(*n->stack), hash_stack_at))
		return INTERN_NONE;
	n->stack[t->n] = (struct stack){callers, frame, n->stack[callers].depth + 1};
	place(t, hash, t->n);
	return t->n++;
}

uint32_t names_marker(struct names *n, const char *text)
{
	struct frame f = {.kind = FRAME_MARKER, .func = names_string(n, text, strlen(text))};

	return f.func == INTERN_NONE ? INTERN_NONE : names_frame(n, &f);
}

const char *names_string_at(const struct names *n, uint32_t id, size_t *ret_len)
{
	return intern_get(n->strings, id, ret_len);
}

const struct frame *names_frame_at(const struct names *n, uint32_t id)
{
	return &n->frame[id];
}

void names_stack_at(const struct names *n, uint32_t id, uint32_t *ret_callers, uint32_t *ret_frame)
{
	*ret_callers = n->stack[id].callers;
	*ret_frame = n->stack[id].frame;
}

uint32_t names_stack_depth(const struct names *n, uint32_t id)
{
	return n->stack[id].depth;
}

uint32_t names_strings(const struct names *n)
{
	return intern_count(n->strings);
}

uint32_t names_frames(const struct names *n)
{
	return n->frames.n;
}

uint32_t names_stacks(const struct names *n)
{
	return n->stacks.n;
}
