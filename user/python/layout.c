/*
 * Check and compare layouts.
 *
 * One row per field: where its offset is kept in struct layout, how wide the field is in the
 * target, which struct it must end inside of, and which versions have it. A field that a version
 * does not have must be LAYOUT_NONE, so that no reader mistakes a zero for an offset.
 */
#include <errno.h>
#include <string.h>
#include "python/code.h"
#include "python/layout.h"
#include "python/unicode.h"

/* The most that a struct of a target may measure; readers size their buffers by these. */
#define LIMIT_RUNTIME (1u << 20)
#define LIMIT_INTERP (1u << 20)
#define LIMIT_TSTATE 4096
#define LIMIT_FRAME 512
#define LIMIT_OBJECT 64
#define LIMIT_TYPE 2048
#define LIMIT_GIL 256 /* also a CFrame and the head of a bytes object */

enum who { ALL, OBJECTS /* 3.8 - 3.10 */, STACKED /* 3.11+ */, WITH_GIL, WITHOUT_GIL };

struct field {
	uint16_t at;   /* of the offset, in struct layout */
	uint16_t size; /* of the struct's size, in struct layout; 0: `limit` */
	uint16_t limit;
	uint8_t width;
	uint8_t from, to; /* minor versions that have it */
	enum who who;
	bool optional;
};

#define AT(group, member) (uint16_t) offsetof(struct layout, group.member)
#define FIELD(group, member, w, first, last, ...)                                                  \
	{                                                                                          \
		.at = AT(group, member), .size = AT(group, size), .width = (w), .from = (first),   \
		.to = (last), __VA_ARGS__                                                          \
	}
#define IN_HEAD(group, member, w, head, first, last)                                               \
	{                                                                                          \
		.at = AT(group, member), .size = AT(group, head), .width = (w), .from = (first),   \
		.to = (last),                                                                      \
	}
#define LIMITED(group, member, w, max, first, last, ...)                                           \
	{                                                                                          \
		.at = AT(group, member), .limit = (max), .width = (w), .from = (first),            \
		.to = (last), __VA_ARGS__                                                          \
	}

static const struct field fields[] = {
	FIELD(runtime, interp_head, 8, 8, 15),
	FIELD(runtime, main_interp, 8, 8, 15),
	FIELD(runtime, gil, 8, 8, 11),
	FIELD(runtime, gc_collecting, 4, 8, 8),
	FIELD(runtime, finalizing, 8, 8, 15),
	FIELD(interp, next, 8, 8, 15),
	FIELD(interp, id, 8, 8, 15),
	FIELD(interp, threads_head, 8, 8, 15),
	FIELD(interp, gil_ptr, 8, 12, 15),
	FIELD(interp, modules, 8, 8, 15),
	FIELD(interp, gc_collecting, 4, 9, 15),
	FIELD(interp, next_version, 4, 13, 15, .optional = true),
	FIELD(interp, generation, 8, 14, 15),
	FIELD(interp, tlbc_generation, 4, 14, 15, .who = WITHOUT_GIL),
	LIMITED(gil, last_holder, 8, LIMIT_GIL, 8, 15),
	LIMITED(gil, locked, 4, LIMIT_GIL, 8, 15),
	LIMITED(gil, switch_number, 8, LIMIT_GIL, 8, 15),
	FIELD(tstate, prev, 8, 8, 15),
	FIELD(tstate, next, 8, 8, 15),
	FIELD(tstate, interp, 8, 8, 15),
	FIELD(tstate, thread_id, 8, 8, 15),
	FIELD(tstate, native_thread_id, 8, 11, 15),
	FIELD(tstate, frame, 8, 8, 15),
	LIMITED(tstate, frame_hop, 8, LIMIT_GIL, 11, 12),
	FIELD(tstate, base_frame, 8, 15, 15),
	FIELD(tstate, datastack_chunk, 24, 11, 15),
	FIELD(frame, previous, 8, 8, 15),
	FIELD(frame, code, 8, 8, 15),
	FIELD(frame, instr, 4, 8, 15, .who = OBJECTS),
	FIELD(frame, instr, 8, 8, 15, .who = STACKED),
	FIELD(frame, owner, 1, 11, 15),
	FIELD(frame, localsplus, 8, 8, 15),
	FIELD(frame, tlbc_index, 4, 14, 15, .who = WITHOUT_GIL),
	FIELD(code, filename, 8, 8, 15),
	FIELD(code, name, 8, 8, 15),
	FIELD(code, qualname, 8, 11, 15),
	FIELD(code, firstlineno, 4, 8, 15),
	FIELD(code, flags, 4, 8, 15),
	FIELD(code, lines, 8, 8, 15),
	FIELD(code, bytecode, 2, 11, 15),
	FIELD(code, version, 4, 12, 15),
	FIELD(code, tlbc, 8, 14, 15, .who = WITHOUT_GIL),
	FIELD(object, refcnt, 8, 8, 15, .who = WITH_GIL),
	FIELD(object, refcnt, 4, 13, 15, .who = WITHOUT_GIL),
	FIELD(object, type, 8, 8, 15),
	FIELD(object, refcnt_shared, 8, 13, 15, .who = WITHOUT_GIL),
	LIMITED(type, basicsize, 8, LIMIT_TYPE, 8, 15),
	LIMITED(type, flags, 8, LIMIT_TYPE, 8, 15),
	LIMITED(type, dictoffset, 8, LIMIT_TYPE, 8, 15),
	LIMITED(type, cached_keys, 8, LIMIT_TYPE, 8, 15),
	LIMITED(dict, keys, 8, LIMIT_OBJECT, 8, 15),
	LIMITED(dict, values, 8, LIMIT_OBJECT, 8, 15),
	IN_HEAD(str, length, 8, ascii_data, 8, 15),
	IN_HEAD(str, hash, 8, ascii_data, 8, 15),
	IN_HEAD(str, state, 4, ascii_data, 8, 15),
	LIMITED(str, ascii_data, 0, UNICODE_HEAD, 8, 15),
	LIMITED(str, compact_data, 0, UNICODE_HEAD, 8, 15),
	LIMITED(str, legacy_data, 8, UNICODE_HEAD, 8, 15),
	LIMITED(bytes, size, 8, LIMIT_GIL, 8, 15),
	LIMITED(bytes, data, 0, LIMIT_GIL, 8, 15),
};

static uint32_t value(const struct layout *l, size_t at)
{
	uint32_t v;

	memcpy(&v, (const char *)l + at, sizeof(v));
	return v;
}

static bool has(const struct layout *l, const struct field *f)
{
	bool had[] = {
		[ALL] = true,
		[OBJECTS] = l->object_frames,
		[STACKED] = !l->object_frames,
		[WITH_GIL] = !l->free_threaded,
		[WITHOUT_GIL] = l->free_threaded,
	};

	return l->minor >= f->from && l->minor <= f->to && had[f->who];
}

static bool field_holds(const struct layout *l, const struct field *f)
{
	uint32_t v = value(l, f->at);
	uint32_t end = f->size ? value(l, f->size) : f->limit;
	uint32_t align = f->width == 24 ? 8 : MAX(f->width, 1);

	if (v == LAYOUT_NONE)
		return f->optional;
	return v % align == 0 && v <= end && end - v >= f->width;
}

/* A field with two rows (two widths) is there when one of them says so. */
static bool row_for_another(const struct layout *l, const struct field *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].at == f->at && has(l, &fields[i]))
			return true;
	return false;
}

static bool sizes_hold(const struct layout *l)
{
	return l->runtime.size <= LIMIT_RUNTIME && l->interp.size <= LIMIT_INTERP &&
	       l->tstate.size <= LIMIT_TSTATE && l->frame.size <= LIMIT_FRAME &&
	       l->code.size <= CODE_MAX && l->object.size <= LIMIT_OBJECT &&
	       l->code.size >= l->object.size + 8 && l->frame.size > 0;
}

/* What is not an offset, and must fit the version. */
static bool kinds_hold(const struct layout *l)
{
	enum layout_instr instr = l->minor <= 9	   ? LAYOUT_LASTI_BYTES
				  : l->minor == 10 ? LAYOUT_LASTI_UNITS
				  : l->minor <= 12 ? LAYOUT_PREV_INSTR
						   : LAYOUT_INSTR_PTR;
	enum layout_lines lines = l->minor <= 9	   ? LAYOUT_LNOTAB
				  : l->minor == 10 ? LAYOUT_LINETABLE_310
						   : LAYOUT_LOCATIONS;
	bool counted = l->interp.next_version != LAYOUT_NONE;

	if (l->instr != instr || l->lines != lines || l->object_frames != (l->minor <= 10))
		return false;
	if (l->free_threaded && l->minor < 13)
		return false;
	if (l->minor < 12 ? l->frame.owner_entry != LAYOUT_NONE : l->frame.owner_entry != 3)
		return false;
	if (l->minor <= 11 ? l->proof != LAYOUT_PROOF_NAME
			   : l->proof != LAYOUT_PROOF_VERSION &&
				     (l->proof != LAYOUT_PROOF_COUNTER || !counted))
		return false;
	return l->str.has_ready == (l->minor <= 11) &&
	       (l->str.kind_shift == 2 || l->str.kind_shift == 8);
}

int layout_check(const struct layout *l)
{
	if (l->minor < LAYOUT_MINOR_MIN || l->minor > LAYOUT_MINOR_MAX)
		return -EINVAL;
	if (l->version && (l->version >> 24 != 3 || (l->version >> 16 & 0xff) != l->minor))
		return -EINVAL;
	if (!sizes_hold(l) || !kinds_hold(l))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];

		if (has(l, f) ? !field_holds(l, f)
			      : !row_for_another(l, f) && value(l, f->at) != LAYOUT_NONE)
			return -EINVAL;
	}
	return 0;
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
	/* everything in this range is a uint32_t, so there is no padding to compare */
	size_t from = offsetof(struct layout, runtime), to = offsetof(struct layout, str.has_ready);

	return a->minor == b->minor && a->version == b->version &&
	       a->free_threaded == b->free_threaded && a->object_frames == b->object_frames &&
	       a->instr == b->instr && a->lines == b->lines && a->proof == b->proof &&
	       memcmp((const char *)a + from, (const char *)b + from, to - from) == 0 &&
	       a->str.has_ready == b->str.has_ready &&
	       memcmp(&a->bytes, &b->bytes, sizeof(a->bytes)) == 0;
}
