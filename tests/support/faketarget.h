/*
 * A process that looks like CPython to the kernel side: structures built by hand in shared memory,
 * and a child that burns CPU beside them.
 *
 * The memory is shared and lies at the same addresses in both, so a test may change it while the
 * child runs and compare. fork keeps the thread pointer: the child's is the test's pthread_self().
 */
#ifndef SCRY_TESTS_FAKETARGET_H
#define SCRY_TESTS_FAKETARGET_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/compiler.h"
#include "bpf/target.h"

enum { FAKE_CHUNK = 16384, FAKE_FRAME = 88, FAKE_BYTES = 4 << 20, FAKE_BYTECODE = 0x100 };

struct fake_gil {
	uint64_t holder, locked;
};

struct fake_interp {
	uint64_t next, threads;
	uint32_t gc, counter;
	uint64_t generation, gil_ptr;
	struct fake_gil gil;
};

struct fake_tstate {
	uint64_t prev, next, interp, thread_id, frame, chunk, top;
};

struct fake_frame {
	uint64_t code, previous;
	uint64_t rest[7];
	uint8_t pad[2], owner, more[13];
};

struct fake_code {
	uint64_t head[8];
	uint32_t pad, firstlineno;
	uint64_t name, filename;
	uint32_t version, end;
};

struct fake_name {
	uint64_t head[2], length, hash, state, wstr;
	char text[160];
};

struct fake_chunk {
	uint64_t previous, size, top, data[];
};

/* What the child does when it is told to. */
enum fake_command {
	FAKE_NONE,
	FAKE_TOUCH,
	FAKE_DROP,
	FAKE_PROTECT,
	FAKE_FORK,
	FAKE_EXEC,
	FAKE_MAP,
	FAKE_END
};

struct fake_world {
	uint64_t head; /* _PyRuntime: the list of interpreters */
	struct fake_interp interp[2];
	struct fake_tstate tstate[4];
	volatile uint32_t command; /* enum fake_command; back to 0 when done */
	volatile uint64_t command_addr, command_len;
	volatile pid_t forked;
	volatile uint64_t held; /* in a register */
	size_t used;		/* of the memory behind */
	struct fake_code code;
	struct fake_name name, file;
};

struct faketarget {
	pid_t pid;
	struct fake_world *w;
};

/* One interpreter, one thread state of this thread that holds the GIL, no frame. */
bool faketarget_start(struct faketarget *f);
void faketarget_stop(struct faketarget *f);
void faketarget_do(struct faketarget *f, enum fake_command command, const void *addr, size_t len);
struct target_layout faketarget_layout(void);

/* Memory of the target, zeroed, at a multiple of align. */
void *faketarget_alloc(struct faketarget *f, size_t len, size_t align);
/* A chunk of the given size on top of the first thread state's. */
struct fake_chunk *faketarget_chunk(struct faketarget *f, size_t size);
/* A new leaf frame in the top chunk (in = true), or somewhere else. */
struct fake_frame *faketarget_push(struct faketarget *f, bool in);
/* Makes tstate[i] a state of interpreter k, at the head of its list. */
struct fake_tstate *faketarget_link(struct faketarget *f, int i, int k);

#endif
