/* A process that looks like CPython to the kernel side. */
#include "tests/support/faketarget.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/child.h"

#define ADDR(p) ((uint64_t)(uintptr_t)(p))

_Static_assert(sizeof(struct fake_frame) == FAKE_FRAME, "frame");

static void burn(struct fake_world *w);

/* What another process wrote is not mapped here until it is looked at. */
static void touch(struct fake_world *w)
{
	for (size_t at = 0; at < w->used; at += 4096)
		(void)*((volatile char *)w + at);
}

static void obey(struct fake_world *w)
{
	void *addr = (void *)(uintptr_t)w->command_addr;
	pid_t pid, self;

	switch (w->command) {
	case FAKE_TOUCH:
		touch(w);
		break;
	case FAKE_DROP: /* the mapping stays, its pages go until they are touched */
		madvise(addr, w->command_len, MADV_DONTNEED);
		break;
	case FAKE_PROTECT:
		mprotect(addr, w->command_len, PROT_NONE);
		break;
	case FAKE_FORK:
		self = getpid();
		pid = fork();
		if (!pid) {
			child_dies_with(self);
			touch(w);
			w->forked = getpid();
			burn(NULL);
		}
		while (pid > 0 && !w->forked)
			usleep(1000);
		break;
	case FAKE_EXEC:
		w->command = FAKE_NONE;
		execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
		child_exit(127);
	case FAKE_MAP:
		mmap(NULL, 16 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	case FAKE_END:
		w->command = FAKE_NONE;
		child_exit(0);
	}
	w->command = FAKE_NONE;
}

static void burn(struct fake_world *w)
{
	volatile uint64_t x = 0;
	uint64_t held;

	for (;;) {
		held = w ? w->held : 0;
		for (int i = 0; i < 10000; i++) {
			x = x * 3 + i;
			__asm__ volatile("" : "+r"(held)); /* in a register all the time */
		}
		if (w && w->command)
			obey(w);
	}
}

static void wait_done(const struct fake_world *w)
{
	while (w->command)
		usleep(1000);
}

bool faketarget_start(struct faketarget *f)
{
	struct fake_world *w =
		mmap(NULL, FAKE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct fake_tstate *ts;
	pid_t self;

	if (w == MAP_FAILED)
		return false;
	f->w = w;
	w->used = (sizeof(*w) + 4095) & ~4095ul;
	w->head = ADDR(&w->interp[0]);
	for (int k = 0; k < 2; k++)
		w->interp[k].gil_ptr = ADDR(&w->interp[0].gil);
	ts = faketarget_link(f, 0, 0);
	w->interp[0].gil.holder = ADDR(ts);
	w->interp[0].gil.locked = 1;
	w->code.head[2] = 100; /* units of code */
	w->code.firstlineno = 77;
	w->code.version = 4711;
	w->code.name = ADDR(&w->name);
	w->code.filename = 0x1234560;
	w->name.hash = 0xfeedbeefcafe;
	w->command = FAKE_TOUCH;
	self = getpid();
	f->pid = fork();
	if (f->pid < 0)
		return false;
	if (f->pid) {
		wait_done(w);
		return true;
	}
	child_dies_with(self);
	prctl(PR_SET_NAME, "faketarget");
	burn(w);
	child_exit(1);
}

void faketarget_stop(struct faketarget *f)
{
	if (f->w->forked > 0)
		kill(f->w->forked, SIGKILL);
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	munmap(f->w, FAKE_BYTES);
}

void faketarget_do(struct faketarget *f, enum fake_command command, const void *addr, size_t len)
{
	f->w->command_addr = ADDR(addr);
	f->w->command_len = len;
	f->w->command = command;
	wait_done(f->w);
}

struct target_layout faketarget_layout(void)
{
	return (struct target_layout){
		.proof = TARGET_PROOF_COUNTER,
		.frame_hop = TARGET_NONE,
		.runtime_interp_head = offsetof(struct fake_world, head),
		.interp_next = offsetof(struct fake_interp, next),
		.interp_threads_head = offsetof(struct fake_interp, threads),
		.interp_gc_collecting = offsetof(struct fake_interp, gc),
		.interp_counter = offsetof(struct fake_interp, counter),
		.interp_generation = offsetof(struct fake_interp, generation),
		.interp_gil_ptr = offsetof(struct fake_interp, gil_ptr),
		.gil_holder = offsetof(struct fake_gil, holder),
		.gil_locked = offsetof(struct fake_gil, locked),
		.tstate_read = sizeof(struct fake_tstate),
		.tstate_prev = offsetof(struct fake_tstate, prev),
		.tstate_next = offsetof(struct fake_tstate, next),
		.tstate_interp = offsetof(struct fake_tstate, interp),
		.tstate_thread_id = offsetof(struct fake_tstate, thread_id),
		.tstate_frame = offsetof(struct fake_tstate, frame),
		.tstate_chunk = offsetof(struct fake_tstate, chunk),
		.gc_collecting_runtime = TARGET_NONE,
		.frame_size = FAKE_FRAME,
		.frame_previous = offsetof(struct fake_frame, previous),
		.frame_code = offsetof(struct fake_frame, code),
		.frame_lasti = offsetof(struct fake_frame, rest[5]),
		.frame_owner = offsetof(struct fake_frame, owner),
		.owner_entry = 3,
		.frame_fresh = FAKE_BYTECODE - 2,
		.frame_is_entry = offsetof(struct fake_frame, pad[1]),
		.code_from = offsetof(struct fake_code, firstlineno) & ~7u,
		.code_len =
			sizeof(struct fake_code) - (offsetof(struct fake_code, firstlineno) & ~7u),
		.code_name = offsetof(struct fake_code, name),
		.code_filename = offsetof(struct fake_code, filename),
		.code_firstlineno = offsetof(struct fake_code, firstlineno),
		.code_version = offsetof(struct fake_code, version),
		.code_units = offsetof(struct fake_code, head[2]),
		.code_bytecode = FAKE_BYTECODE,
		.str_hash = offsetof(struct fake_name, hash),
	};
}

void *faketarget_alloc(struct faketarget *f, size_t len, size_t align)
{
	size_t at = (f->w->used + align - 1) & ~(align - 1);

	if (at + len > FAKE_BYTES)
		return NULL;
	f->w->used = at + len;
	return (char *)f->w + at;
}

struct fake_chunk *faketarget_chunk(struct faketarget *f, size_t size)
{
	struct fake_tstate *ts = &f->w->tstate[0];
	struct fake_chunk *c = faketarget_alloc(f, size, 4096);
	struct fake_chunk *old = (struct fake_chunk *)(uintptr_t)ts->chunk;

	c->previous = ts->chunk;
	c->size = size;
	if (old)
		old->top = (ts->top - ADDR(old->data)) / 8;
	ts->chunk = ADDR(c);
	ts->top = ADDR(c->data);
	return c;
}

struct fake_frame *faketarget_push(struct faketarget *f, bool in)
{
	struct fake_tstate *ts = &f->w->tstate[0];
	struct fake_frame *frame;

	if (in) {
		frame = (struct fake_frame *)(uintptr_t)ts->top;
		ts->top += sizeof(*frame);
	} else {
		frame = faketarget_alloc(f, sizeof(*frame), 8);
	}
	memset(frame, 0, sizeof(*frame));
	frame->code = ADDR(&f->w->code) | 1; /* a tag bit */
	frame->previous = ts->frame;
	frame->pad[1] = !ts->frame; /* where a stack begins */
	frame->rest[0] = ADDR(frame) * 31;
	frame->rest[5] = ADDR(&f->w->code) + FAKE_BYTECODE + 4;
	ts->frame = ADDR(frame);
	return frame;
}

struct fake_tstate *faketarget_link(struct faketarget *f, int i, int k)
{
	struct fake_tstate *ts = &f->w->tstate[i];
	struct fake_interp *interp = &f->w->interp[k];

	ts->thread_id = (uint64_t)pthread_self();
	ts->interp = ADDR(interp);
	ts->prev = 0;
	ts->next = interp->threads;
	if (ts->next)
		((struct fake_tstate *)(uintptr_t)ts->next)->prev = ADDR(ts);
	interp->threads = ADDR(ts);
	return ts;
}
