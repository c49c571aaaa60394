/* Take records out of the BPF ring buffer. */
#include "collect/ring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <bpf/libbpf.h>

#include "base/clock.h"

#define RING_MAX_NS (100 * NSEC_PER_MSEC) /* of records in one ring_poll(), over its waiting */

struct ring {
	struct ring_buffer *rb;
	ring_fn fn;
	void *arg;
	uint64_t until; /* take no more records after that */
	bool more;
};

/* libbpf goes on while records come: where they come faster than we take them, for ever. */
static int on_record(void *ctx, void *data, size_t len)
{
	struct ring *r = ctx;

	r->fn(r->arg, data, len);
	r->more = clock_mono() >= r->until;
	return r->more ? -EAGAIN : 0;
}

int ring_open(struct ring **ret, int map_fd, ring_fn fn, void *arg)
{
	struct ring *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->fn = fn;
	r->arg = arg;
	r->rb = ring_buffer__new(map_fd, on_record, r, NULL);
	if (!r->rb) {
		rc = -errno;
		free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->rb);
	free(r);
}

static struct pollfd poll_of(const struct ring *r)
{
	return (struct pollfd){.fd = r ? ring_buffer__epoll_fd(r->rb) : -1, .events = POLLIN};
}

bool ring_wait(struct ring *r, struct ring *also, uint64_t ns)
{
	struct pollfd fds[] = {poll_of(r), poll_of(also)};
	const struct timespec ts = {
		.tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC),
	};

	return ppoll(fds, ARRAY_SIZE(fds), &ts, NULL) > 0 && fds[0].revents;
}

int ring_take(struct ring *r)
{
	int rc;

	r->until = clock_mono() + RING_MAX_NS;
	r->more = false;
	rc = ring_buffer__consume(r->rb);
	return r->more ? 0 : MIN(rc, 0);
}

int ring_poll(struct ring *r, int timeout_ms)
{
	int rc;

	if (!r) {
		poll(NULL, 0, timeout_ms);
		return 0;
	}
	r->until = clock_mono() + (uint64_t)timeout_ms * NSEC_PER_MSEC + RING_MAX_NS;
	r->more = false;
	rc = ring_buffer__poll(r->rb, timeout_ms);
	/* most records come without a wakeup */
	if (!r->more && (rc >= 0 || rc == -EINTR))
		rc = ring_buffer__consume(r->rb);
	return r->more ? 1 : MIN(rc, 0);
}
