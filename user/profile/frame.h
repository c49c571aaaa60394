/* Frames and stacks, interned: what a sample points at. */
#ifndef SCRY_PROFILE_FRAME_H
#define SCRY_PROFILE_FRAME_H

#include "base/intern.h"

enum frame_kind {
	FRAME_PYTHON = 1,
	FRAME_NATIVE = 2, /* an instruction in machine code (later) */
	FRAME_KERNEL = 3, /* (later) */
	FRAME_MARKER =
		4, /* not a function: [truncated], [native], [missed], [gone], [unreadable] */
};

struct frame {
	uint32_t kind;	    /* enum frame_kind */
	uint32_t func;	    /* string id: qualified name where the version has it */
	uint32_t file;	    /* string id: co_filename as it is; the empty string for markers */
	uint32_t line;	    /* being executed; 0 unknown */
	uint32_t firstline; /* of the function; 0 unknown */
};

#define STACK_EMPTY 0		/* the id of the stack without frames */
#define NAMES_MAX_STRING 65536u /* bytes; what is longer is cut */

/*
 * Tables of strings, frames and stacks, ids counted from 0, equal things have equal ids and nothing
 * is ever removed or changed: an id, once written to a recording, stays right. A stack is (the
 * stack of its callers, its leaf frame), so common callers are stored once. String 0 is the empty
 * string, stack 0 the empty stack.
 */
struct names;

struct names *names_new(void); /* NULL when out of memory */
void names_free(struct names *n);

/* All return INTERN_NONE when out of memory, and when given an id that does not exist (so that
 * INTERN_NONE can be passed on and checked once). */
uint32_t names_string(struct names *n, const void *p, size_t len);
uint32_t names_frame(struct names *n, const struct frame *f);
uint32_t names_stack(struct names *n, uint32_t callers, uint32_t frame);
/* A marker frame by its text, "[truncated]" and the like. */
uint32_t names_marker(struct names *n, const char *text);

const char *names_string_at(const struct names *n, uint32_t id, size_t *ret_len);
const struct frame *names_frame_at(const struct names *n, uint32_t id);
void names_stack_at(const struct names *n, uint32_t id, uint32_t *ret_callers, uint32_t *ret_frame);
uint32_t names_stack_depth(const struct names *n, uint32_t id); /* frames in it */

uint32_t names_strings(const struct names *n); /* how many there are */
uint32_t names_frames(const struct names *n);
uint32_t names_stacks(const struct names *n);

#endif
