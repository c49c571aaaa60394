/* A CPython process in a fake memory, by any layout: interpreters, thread states, frames, code. */
#ifndef SCRY_SUPPORT_FAKEPYTHON_H
#define SCRY_SUPPORT_FAKEPYTHON_H

#include "python/layout.h"
#include "tests/support/fakemem.h"

#define FAKEPYTHON_RUNTIME 0x100000ul
#define FAKEPYTHON_INTERP 0x2000000ul /* the first; others at + i * FAKEPYTHON_STRIDE */
#define FAKEPYTHON_STATE 0x8000000ul  /* the first; others at + i * FAKEPYTHON_STRIDE */
#define FAKEPYTHON_STRIDE 0x100000ul
#define FAKEPYTHON_GIL 0x30000000ul
#define FAKEPYTHON_FRAME 0x40000000ul /* of the first state; others at + i * FAKEPYTHON_STRIDE */
#define FAKEPYTHON_CODE 0x50000000ul  /* of the first state; others at + i * FAKEPYTHON_STRIDE */
#define FAKEPYTHON_CODE_TYPE 0x60000000ul
#define FAKEPYTHON_THREAD_ID 0x7f0000001000ul /* of the first state; others at + i */
#define FAKEPYTHON_NATIVE_ID 1000	      /* of the first state; others at + i */
#define FAKEPYTHON_VERSION 500 /* co_version of the first state's code; others at + i */

/* `states` thread states in each of `interps` interpreters (the last one is the main one). */
struct fakepython {
	const struct layout *layout;
	unsigned int interps, states;
	bool frames;	     /* each state runs one frame */
	unsigned int gil_of; /* index of the state that holds the GIL, counted from 1; 0: nobody */
};

struct mem *fakepython_new(const struct fakepython *p);
raddr_t fakepython_interp(unsigned int i);
raddr_t fakepython_state(unsigned int i);
raddr_t fakepython_frame(unsigned int i);
raddr_t fakepython_code(unsigned int i);

#endif
