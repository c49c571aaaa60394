/* A CPython process in a fake memory, by any layout: interpreters, thread states, frames, code. */
#include "tests/support/fakepython.h"

static const uint8_t zero[0x5000];

raddr_t fakepython_interp(unsigned int i)
{
	return FAKEPYTHON_INTERP + i * FAKEPYTHON_STRIDE;
}

raddr_t fakepython_state(unsigned int i)
{
	return FAKEPYTHON_STATE + i * FAKEPYTHON_STRIDE;
}

raddr_t fakepython_frame(unsigned int i)
{
	return FAKEPYTHON_FRAME + i * FAKEPYTHON_STRIDE;
}

raddr_t fakepython_code(unsigned int i)
{
	return FAKEPYTHON_CODE + i * FAKEPYTHON_STRIDE;
}

/* One frame that runs one code object, and calls nobody. */
static void add_frame(struct mem *m, const struct layout *l, unsigned int i)
{
	raddr_t frame = fakepython_frame(i), code = fakepython_code(i);

	fakemem_add(m, frame, zero, l->frame.size);
	fakemem_add(m, code, zero, l->code.size);
	fakemem_add_u64(m, frame + l->frame.previous, 0);
	fakemem_add_u64(m, frame + l->frame.code, code);
	fakemem_add_u64(m, code + l->object.type, FAKEPYTHON_CODE_TYPE);
	if (l->code.version != LAYOUT_NONE)
		fakemem_add_u32(m, code + l->code.version, FAKEPYTHON_VERSION + i);
}

static void add_state(struct mem *m, const struct fakepython *p, unsigned int i, raddr_t interp)
{
	const struct layout *l = p->layout;
	raddr_t at = fakepython_state(i), frame = p->frames ? fakepython_frame(i) : 0;
	unsigned int in_list = i % p->states;

	fakemem_add(m, at, zero, l->tstate.size);
	fakemem_add_u64(m, at + l->tstate.prev, in_list ? fakepython_state(i - 1) : 0);
	fakemem_add_u64(m, at + l->tstate.next,
			in_list + 1 < p->states ? fakepython_state(i + 1) : 0);
	fakemem_add_u64(m, at + l->tstate.interp, interp);
	fakemem_add_u64(m, at + l->tstate.thread_id, FAKEPYTHON_THREAD_ID + i);
	if (l->tstate.native_thread_id != LAYOUT_NONE)
		fakemem_add_u64(m, at + l->tstate.native_thread_id, FAKEPYTHON_NATIVE_ID + i);
	if (l->tstate.frame_hop == LAYOUT_NONE) {
		fakemem_add_u64(m, at + l->tstate.frame, frame);
	} else {
		fakemem_add_u64(m, at + l->tstate.frame, at + 0x1000);
		fakemem_add_u64(m, at + 0x1000 + l->tstate.frame_hop, frame);
	}
	if (p->frames)
		add_frame(m, l, i);
}

static void add_gil(struct mem *m, const struct fakepython *p, raddr_t gil)
{
	const struct layout *l = p->layout;

	fakemem_add(m, gil, zero, 64);
	fakemem_add_u64(m, gil + l->gil.last_holder,
			p->gil_of ? fakepython_state(p->gil_of - 1) : 0);
	fakemem_add_u32(m, gil + l->gil.locked, p->gil_of > 0);
}

struct mem *fakepython_new(const struct fakepython *p)
{
	const struct layout *l = p->layout;
	struct mem *m = fakemem_new();
	raddr_t type_name = FAKEPYTHON_CODE_TYPE + 0x1000;
	fakemem_add(m, FAKEPYTHON_RUNTIME, zero, 4096);
	fakemem_add_u64(m, FAKEPYTHON_RUNTIME + l->runtime.interp_head,
			p->interps ? fakepython_interp(0) : 0);
	fakemem_add_u64(m, FAKEPYTHON_RUNTIME + l->runtime.main_interp,
			p->interps ? fakepython_interp(p->interps - 1) : 0);
	for (unsigned int i = 0; i < p->interps; i++) {
		raddr_t at = fakepython_interp(i);

		fakemem_add(m, at, zero, sizeof(zero));
		fakemem_add_u64(m, at + l->interp.next,
				i + 1 < p->interps ? fakepython_interp(i + 1) : 0);
		fakemem_add_u64(m, at + l->interp.threads_head,
				p->states ? fakepython_state(i * p->states) : 0);
		if (l->interp.gil_ptr != LAYOUT_NONE)
			fakemem_add_u64(m, at + l->interp.gil_ptr, FAKEPYTHON_GIL);
		for (unsigned int k = 0; k < p->states; k++)
			add_state(m, p, i * p->states + k, at);
	}
	add_gil(m, p,
		l->runtime.gil == LAYOUT_NONE ? FAKEPYTHON_GIL
					      : FAKEPYTHON_RUNTIME + l->runtime.gil);
	fakemem_add_u64(m, FAKEPYTHON_CODE_TYPE + l->object.size + 8, type_name);
	fakemem_add(m, type_name, "code", sizeof("code"));
	return m;
}
