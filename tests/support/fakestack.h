/* Stacks of the threads of a fake CPython (fakepython.h): chunks, frames elsewhere, code objects.
 */
#ifndef SCRY_SUPPORT_FAKESTACK_H
#define SCRY_SUPPORT_FAKESTACK_H

#include "python/discover.h"
#include "tests/support/fakepython.h"

#define FAKESTACK_CHUNK 0x100000000ul	 /* of the first state; others at + i * FAKEPYTHON_STRIDE */
#define FAKESTACK_ENTRY 0x7fff00000000ul /* its entry frame on the C stack; others the same */
#define FAKESTACK_HEAP 0x200000000ul	 /* its frame objects, 3.8 - 3.10; others the same */
#define FAKESTACK_CODE 0x300000000ul	 /* code objects, FAKESTACK_CODE_STRIDE apart */
#define FAKESTACK_CODE_STRIDE 0x1000ul
#define FAKESTACK_CHUNK_SIZE 0x4000u
#define FAKESTACK_SWITCHES 1000 /* the GIL's switch_number */

/*
 * A layout of a version: the tables' for 3.8 - 3.12; 13 is 3.12 with what 3.13 has otherwise (no
 * CFrame, a counter of code objects).
 */
struct layout fakestack_layout(uint32_t minor);
struct discover_found fakestack_found(const struct fakepython *p);

/* Writes one frame. owner: 3 is an entry frame; ignored before 3.11. */
void fakestack_frame(struct mem *m, const struct layout *l, raddr_t at, raddr_t previous,
		     raddr_t code, uint8_t owner);
/*
 * Gives state i a stack of `depth` frames that run code objects `code`, `code` + 1, … from the root
 * on: in one chunk, or as objects on the heap. Returns the leaf.
 */
raddr_t fakestack_add(struct mem *m, const struct layout *l, unsigned int i, unsigned int depth,
		      unsigned int code);
/* Points the state to its leaf frame. */
void fakestack_leaf(struct mem *m, const struct layout *l, unsigned int i, raddr_t leaf);
/* Where a frame of fakestack_add() is, counted from the root. */
raddr_t fakestack_at(const struct layout *l, unsigned int i, unsigned int frame);
raddr_t fakestack_code(unsigned int code);
/* Address of the GIL's words of the (only) GIL. */
raddr_t fakestack_gil(const struct layout *l);

#endif
