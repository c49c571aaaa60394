/*
 * Memory of a live process.
 *
 * By process_vm_readv: up to 1,024 pieces in a call, which the kernel copies in order. Its answer
 * is one number, the bytes copied before the first piece that could not be read: the pieces that
 * fill it are whole, the next one is bad, and reading goes on behind that one in another call.
 * Where the call is missing or forbidden, /proc/PID/mem is read instead, a call per piece.
 *
 * A process may outlive its first thread, whose memory is gone by then although the others still
 * have it: "no such process" therefore makes us try the other threads, before we believe it. A
 * pidfd, where there is one, tells after a failure whether the number still means the process.
 *
 * Reads that never return: guard.c. Every call reads into the guard's area and what arrived is
 * copied from there, since a call that was given up may still write.
 */
#include "remote/procmem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/num.h"
#include "remote/guard.h"

#define PROCMEM_MAX_SEGS 1024u	     /* IOV_MAX: of one call */
#define PROCMEM_MAX_BYTES (2u << 20) /* of one call */
#define PROCMEM_MAX_TRIED 64	     /* threads tried for the memory of one that has ended */

struct procmem {
	struct mem mem;
	struct guard *guard;
	struct guard *own; /* the same, when nobody gave one: it is never run, and guards nothing */
	pid_t pid, tid;	   /* tid: the thread by which the memory is reached */
	int pidfd;	   /* -1: not to be had */
	int fd;		   /* /proc/PID/mem once it is needed, else -1 */
	bool by_file;
	int status; /* what holds for every read from now on: -ESRCH, -ETIMEDOUT, or 0 */
};

/* What one call reads, and where to: in guard_area, which a call that never returns keeps. */
struct area {
	struct iovec remote[PROCMEM_MAX_SEGS];
	struct iovec local;
	uint8_t bytes[PROCMEM_MAX_BYTES];
};

_Static_assert(sizeof(struct area) <= GUARD_AREA, "area");

/* The threads of the process, listed once in a mem_readv() whose thread has ended. */
struct threads {
	bool listed;
	size_t next, n;
	pid_t v[PROCMEM_MAX_TRIED];
};

static long call(struct procmem *p, long nr, const long args[6])
{
	p->mem.stats.calls++;
	return guard_syscall(p->guard, nr, args);
}

static bool exited(const struct procmem *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	return p->pidfd >= 0 && poll(&fd, 1, 0) > 0;
}

static void list_threads(pid_t pid, struct threads *t)
{
	char path[32];
	struct dirent *e;
	uint64_t tid;
	DIR *dir;

	t->listed = true;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while (t->n < ARRAY_SIZE(t->v) && (e = readdir(dir)))
		if (!num_u64(e->d_name, 1, INT_MAX, &tid))
			t->v[t->n++] = (pid_t)tid;
	closedir(dir);
}

static void close_file(struct procmem *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Goes on with another thread of the process; false when there is none left to try. */
static bool other_thread(struct procmem *p, struct threads *t)
{
	if (exited(p))
		return false;
	if (!t->listed)
		list_threads(p->pid, t);
	if (t->next == t->n)
		return false;
	p->tid = t->v[t->next++];
	close_file(p);
	return true;
}

/* The class of an error that holds for the whole call; 0 for one that is the first piece's own. */
static int class_of(long err)
{
	switch (err) {
	case -ESRCH:
	case -EPERM:
	case -ETIMEDOUT:
		return (int)err;
	case -EACCES:
	case -ENOSYS:
		return -EPERM;
	default:
		return 0;
	}
}

static bool wraps(const struct mem_seg *seg)
{
	raddr_t end;

	return __builtin_add_overflow(seg->addr, seg->len, &end);
}

/* Lists the pieces that fit into one call; 0 when the first one has to go another way. */
static size_t gather(struct area *area, const struct mem_seg *segs, size_t n)
{
	size_t total = 0, k;

	for (k = 0; k < n && k < PROCMEM_MAX_SEGS; k++) {
		total += segs[k].len;
		if (wraps(&segs[k]) || total > PROCMEM_MAX_BYTES)
			break;
		area->remote[k].iov_base = (void *)(uintptr_t)segs[k].addr;
		area->remote[k].iov_len = segs[k].len;
	}
	return k;
}

/* Hands out the `got` bytes of a call over n pieces; how many pieces are settled by it. */
static size_t hand_out(const uint8_t *bytes, size_t got, struct mem_seg *segs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (got < segs[i].len) {
			segs[i].status = -EFAULT;
			return i + 1;
		}
		memcpy(segs[i].buf, bytes, segs[i].len);
		segs[i].status = 0;
		bytes += segs[i].len;
		got -= segs[i].len;
	}
	return n;
}

/* One call; the number of pieces settled (at least 1) or a class. */
static long read_vm(struct procmem *p, struct mem_seg *segs, size_t n)
{
	struct area *area = guard_area(p->guard);
	size_t total = 0, k = gather(area, segs, n);
	long r;

	for (size_t i = 0; i < k; i++)
		total += segs[i].len;
	area->local = (struct iovec){.iov_base = area->bytes, .iov_len = total};
	r = call(p, SYS_process_vm_readv,
		 (long[6]){p->tid, (long)&area->local, 1, (long)area->remote, (long)k, 0});
	if (r < 0 && class_of(r))
		return class_of(r);
	return (long)hand_out(area->bytes, r < 0 ? 0 : (size_t)r, segs, k);
}

static int open_file(struct procmem *p)
{
	char path[64];

	if (p->fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", p->pid, p->tid);
	p->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : -EPERM;
	return 0;
}

/* One piece, of at most PROCMEM_MAX_BYTES; 1 or a class. */
static long read_file(struct procmem *p, struct mem_seg *seg)
{
	struct area *area = guard_area(p->guard);
	uint32_t done = 0;
	long r = open_file(p);

	if (r)
		return r;
	while (done < seg->len) {
		r = call(p, SYS_pread64,
			 (long[6]){p->fd, (long)area->bytes, seg->len - done,
				   (long)(seg->addr + done)});
		if (!r) { /* the memory that was opened is no more; an exec has brought another */
			close_file(p);
			return -ESRCH;
		}
		if (r < 0)
			break;
		memcpy((uint8_t *)seg->buf + done, area->bytes, (size_t)r);
		done += (uint32_t)r;
	}
	if (done < seg->len && class_of(r))
		return class_of(r);
	seg->status = done < seg->len ? -EFAULT : 0;
	return 1;
}

static bool by_file(const struct procmem *p)
{
	return p->by_file || guard_full(p->guard);
}

/* A piece that is larger than a call; 1 or a class. */
static long read_large(struct procmem *p, struct mem_seg *seg)
{
	uint32_t done = 0;

	while (done < seg->len) {
		struct mem_seg part = {
			.addr = seg->addr + done,
			.len = MIN(seg->len - done, PROCMEM_MAX_BYTES),
			.buf = (uint8_t *)seg->buf + done,
		};
		long r = by_file(p) ? read_file(p, &part) : read_vm(p, &part, 1);

		if (r < 0)
			return r;
		seg->status = part.status;
		if (part.status)
			break;
		done += part.len;
	}
	return 1;
}

/* Settles some pieces, at least the first; how many, or a class. */
static long read_some(struct procmem *p, struct mem_seg *segs, size_t n)
{
	if (wraps(segs)) {
		segs->status = -EFAULT;
		return 1;
	}
	if (segs->len > PROCMEM_MAX_BYTES)
		return read_large(p, segs);
	return by_file(p) ? read_file(p, segs) : read_vm(p, segs, n);
}

static void fill(struct mem_seg *segs, size_t n, int status)
{
	for (size_t i = 0; i < n; i++)
		segs[i].status = status;
}

static bool any_unmapped(const struct mem_seg *segs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (segs[i].status == -EFAULT)
			return true;
	return false;
}

static int procmem_readv(struct mem *m, struct mem_seg *segs, size_t n)
{
	struct procmem *p = container_of(m, struct procmem, mem);
	struct threads threads = {.listed = false};
	int err = p->status;
	size_t i = 0;

	while (i < n && !err) {
		long r = read_some(p, segs + i, n - i);

		if (r > 0)
			i += (size_t)r;
		else if (r == -EPERM && !p->by_file)
			p->by_file = true;
		else if (r != -ESRCH || !other_thread(p, &threads))
			err = (int)r;
	}
	if (!err && any_unmapped(segs, n) && exited(p)) {
		/* the number may be somebody else's by now: nothing of this call counts */
		err = -ESRCH;
		i = 0;
	}
	fill(segs + i, n - i, err);
	if (err != -EPERM)
		p->status = err;
	return err;
}

static void procmem_free(struct mem *m)
{
	struct procmem *p = container_of(m, struct procmem, mem);

	close_file(p);
	if (p->pidfd >= 0)
		close(p->pidfd);
	guard_free(p->own);
	free(p);
}

int procmem_new_guarded(pid_t pid, struct guard *g, struct mem **ret)
{
	static const struct mem_ops ops = {.readv = procmem_readv, .free = procmem_free};
	struct procmem *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->mem.ops = &ops;
	p->pid = p->tid = pid;
	p->guard = g;
	p->fd = -1;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p->pidfd < 0 && errno == ESRCH) {
		free(p);
		return -ESRCH;
	}
	*ret = &p->mem;
	return 0;
}

int procmem_new(pid_t pid, struct mem **ret)
{
	struct guard *own;
	int err = guard_new(GUARD_LIMIT_NS, &own);

	if (err)
		return err;
	err = procmem_new_guarded(pid, own, ret);
	if (err)
		guard_free(own);
	else
		container_of(*ret, struct procmem, mem)->own = own;
	return err;
}
