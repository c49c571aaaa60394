/* Layouts as the kernel side needs them. */
#include "collect/layouts.h"

#include <errno.h>
#include <stdbool.h>
#include "python/code.h"

_Static_assert(CODE_MAX <= TARGET_CODE_MAX, "layout_check() bounds code objects");
_Static_assert(LAYOUT_NONE == TARGET_NONE, "absent fields have one mark");
_Static_assert((int)LAYOUT_PROOF_NAME == TARGET_PROOF_NAME, "proofs have one numbering");
_Static_assert((int)LAYOUT_PROOF_VERSION == TARGET_PROOF_VERSION, "proofs have one numbering");
_Static_assert((int)LAYOUT_PROOF_COUNTER == TARGET_PROOF_COUNTER, "proofs have one numbering");

/* The name that is shown. */
static uint32_t name_of(const struct layout *l)
{
	return l->code.qualname != LAYOUT_NONE ? l->code.qualname : l->code.name;
}

/* The smallest window of the code object that holds all of the identity's words. */
static void code_window(const struct layout *l, struct target_layout *t)
{
	const uint32_t fields[] = {name_of(l), l->code.filename, l->code.firstlineno,
				   l->code.version};
	uint32_t from = UINT32_MAX, to = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i] == LAYOUT_NONE)
			continue;
		from = MIN(from, fields[i] & ~7u);
		to = MAX(to, (fields[i] & ~7u) + 8);
	}
	t->code_from = from;
	t->code_len = to - from;
}

/* The offset of the last word of a thread state that is looked at. */
static uint32_t last_of_tstate(const struct layout *l)
{
	const uint32_t fields[] = {l->tstate.prev, l->tstate.next, l->tstate.interp,
				   l->tstate.thread_id, l->tstate.frame};
	uint32_t last = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		last = MAX(last, fields[i]);
	if (l->tstate.datastack_chunk != LAYOUT_NONE)
		last = MAX(last, l->tstate.datastack_chunk + 8);
	return last;
}

/* The programs mask offsets: what lies behind their copies would be read at another place in it. */
static bool fits(const struct target_layout *t)
{
	return t->tstate_read <= TARGET_TSTATE_MAX && t->frame_size <= TARGET_FRAME_MAX &&
	       t->frame_previous + 8 <= t->frame_size;
}

/* 3.11: the byte before the owner, which says so of a frame that C code entered. */
static uint32_t is_entry(const struct layout *l)
{
	if (l->frame.owner == LAYOUT_NONE || l->frame.owner_entry != LAYOUT_NONE)
		return LAYOUT_NONE;
	return l->frame.owner - 1;
}

int layouts_to_kernel(const struct layout *l, struct target_layout *ret)
{
	struct target_layout t = {
		.object_frames = l->object_frames,
		.proof = l->proof,
		.frame_hop = l->tstate.frame_hop,
		.runtime_interp_head = l->runtime.interp_head,
		.interp_next = l->interp.next,
		.interp_threads_head = l->interp.threads_head,
		.interp_gc_collecting = l->interp.gc_collecting,
		.interp_counter = l->interp.next_version,
		.interp_generation = l->interp.generation,
		.gil_holder = l->gil.last_holder,
		.gil_locked = l->gil.locked,
		.interp_gil_ptr = l->interp.gil_ptr,
		.tstate_read = last_of_tstate(l) + 8,
		.tstate_prev = l->tstate.prev,
		.tstate_next = l->tstate.next,
		.tstate_interp = l->tstate.interp,
		.tstate_thread_id = l->tstate.thread_id,
		.tstate_frame = l->tstate.frame,
		.tstate_chunk = l->tstate.datastack_chunk,
		.gc_collecting_runtime = l->runtime.gc_collecting,
		.frame_size = l->frame.size,
		.frame_previous = l->frame.previous,
		.frame_code = l->frame.code,
		.frame_lasti = l->frame.instr,
		.frame_owner = l->frame.owner,
		.owner_entry = l->frame.owner_entry,
		.frame_is_entry = is_entry(l),
		.frame_fresh = l->instr == LAYOUT_PREV_INSTR ? l->code.bytecode - 2 : LAYOUT_NONE,
		.code_name = name_of(l),
		.code_filename = l->code.filename,
		.code_firstlineno = l->code.firstlineno,
		.code_version = l->code.version,
		.code_units = l->object.size, /* ob_size of a PyVarObject */
		.code_bytecode = l->code.bytecode,
		.str_hash = l->str.hash,
	};
	code_window(l, &t);
	/* the kernel reads a PyFrameObject only up to what it needs */
	if (l->object_frames)
		t.frame_size = (MAX(l->frame.instr, l->frame.code) | 7) + 1;
	if (!fits(&t))
		return -EINVAL;
	*ret = t;
	return 0;
}
