/* Stacks of the threads of a fake CPython (fakepython.h): chunks, frames elsewhere, code objects.
 */
#include "tests/support/fakestack.h"

#include <string.h>

#define CHUNK_HEAD 24
#define COUNTER_AT 0x4000 /* of next_version, in the interpreter */
#define SPACE 160	  /* from one frame to the next in a chunk */
#define HEAP_SPACE 0x400

static const uint8_t zero[1024];

struct layout fakestack_layout(uint32_t minor)
{
	struct layout l = *layout_table(MIN(minor, 12u));

	if (minor < 13)
		return l;
	l.minor = 13;
	l.instr = LAYOUT_INSTR_PTR;
	l.proof = LAYOUT_PROOF_COUNTER;
	l.interp.next_version = COUNTER_AT;
	l.tstate.frame_hop = LAYOUT_NONE;
	return l;
}

struct discover_found fakestack_found(const struct fakepython *p)
{
	return (struct discover_found){
		.layout = *p->layout,
		.minor = p->layout->minor,
		.runtime = FAKEPYTHON_RUNTIME,
		.main_interp = fakepython_interp(p->interps - 1),
		.gil = fakestack_gil(p->layout),
	};
}

raddr_t fakestack_gil(const struct layout *l)
{
	return l->runtime.gil == LAYOUT_NONE ? FAKEPYTHON_GIL : FAKEPYTHON_RUNTIME + l->runtime.gil;
}

raddr_t fakestack_code(unsigned int code)
{
	return FAKESTACK_CODE + code * FAKESTACK_CODE_STRIDE;
}

raddr_t fakestack_at(const struct layout *l, unsigned int i, unsigned int frame)
{
	if (l->object_frames)
		return FAKESTACK_HEAP + i * FAKEPYTHON_STRIDE + frame * HEAP_SPACE;
	return FAKESTACK_CHUNK + i * FAKEPYTHON_STRIDE + CHUNK_HEAD + frame * SPACE;
}

/* A code object with a version, and names with a hash of their own. */
static void add_code(struct mem *m, const struct layout *l, unsigned int code)
{
	raddr_t at = fakestack_code(code), name = at + 0x400, file = at + 0x800;

	fakemem_add(m, at, zero, l->code.size);
	fakemem_add_u64(m, at + l->code.filename, file);
	fakemem_add_u64(m, at + l->code.name, name);
	if (l->code.qualname != LAYOUT_NONE)
		fakemem_add_u64(m, at + l->code.qualname, name);
	fakemem_add_u32(m, at + l->code.firstlineno, code + 1);
	if (l->code.version != LAYOUT_NONE)
		fakemem_add_u32(m, at + l->code.version, FAKEPYTHON_VERSION + code);
	for (int i = 0; i < 2; i++) {
		raddr_t str = i ? file : name;

		fakemem_add(m, str, zero, 256);
		fakemem_add_u64(m, str + l->str.length, 8);
		fakemem_add_u32(m, str + l->str.state,
				(1 | 8 | 16 | (l->str.has_ready ? 32 : 0)) << l->str.kind_shift);
		/* the file name's was never computed */
		fakemem_add_u64(m, str + l->str.hash, i ? UINT64_MAX : 0x1000 + code);
	}
}

void fakestack_frame(struct mem *m, const struct layout *l, raddr_t at, raddr_t previous,
		     raddr_t code, uint8_t owner)
{
	fakemem_add(m, at, zero, l->frame.size);
	fakemem_add_u64(m, at + l->frame.previous, previous);
	fakemem_add_u64(m, at + l->frame.code, code);
	if (l->frame.owner == LAYOUT_NONE)
		return;
	fakemem_add(m, at + l->frame.owner, &owner, 1);
	if (l->minor == 11 && !previous)
		fakemem_add(m, at + l->frame.owner - 1, "\1", 1);
}

void fakestack_leaf(struct mem *m, const struct layout *l, unsigned int i, raddr_t leaf)
{
	raddr_t at = fakepython_state(i), chunk = FAKESTACK_CHUNK + i * FAKEPYTHON_STRIDE;
	bool inside = leaf - chunk < FAKESTACK_CHUNK_SIZE;

	if (l->tstate.frame_hop == LAYOUT_NONE)
		fakemem_add_u64(m, at + l->tstate.frame, leaf);
	else
		fakemem_add_u64(m, at + 0x1000 + l->tstate.frame_hop, leaf);
	if (l->tstate.datastack_chunk == LAYOUT_NONE || !inside)
		return;
	fakemem_add_u64(m, at + l->tstate.datastack_chunk, chunk);
	fakemem_add_u64(m, at + l->tstate.datastack_chunk + 8, leaf + SPACE);
	fakemem_add_u64(m, at + l->tstate.datastack_chunk + 16, chunk + FAKESTACK_CHUNK_SIZE);
}

raddr_t fakestack_add(struct mem *m, const struct layout *l, unsigned int i, unsigned int depth,
		      unsigned int code)
{
	static const uint8_t chunk[FAKESTACK_CHUNK_SIZE];
	raddr_t previous = 0, entry = FAKESTACK_ENTRY + i * FAKEPYTHON_STRIDE;

	if (!l->object_frames)
		fakemem_add(m, FAKESTACK_CHUNK + i * FAKEPYTHON_STRIDE, chunk, sizeof(chunk));
	if (l->frame.owner_entry != LAYOUT_NONE) {
		fakestack_frame(m, l, entry, 0, 0x1230, 3);
		previous = entry;
	}
	for (unsigned int k = 0; k < depth; k++) {
		raddr_t at = fakestack_at(l, i, k);

		add_code(m, l, code + k);
		fakestack_frame(m, l, at, previous, fakestack_code(code + k), 0);
		previous = at;
	}
	fakestack_leaf(m, l, i, previous);
	return previous;
}
