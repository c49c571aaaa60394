/* Records that come faster than they can be taken keep nobody from ending. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "tests/support/capture.h"

#define RECORD_NS (20 * NSEC_PER_MSEC) /* the target makes one a millisecond that it runs */
#define CALLS 5
#define WAIT (10 * NSEC_PER_SEC)

struct taker {
	uint32_t taken;
	uint64_t ns; /* for each */
};

static void take(void *arg, const void *data, size_t len)
{
	struct taker *t = arg;
	uint64_t end = clock_mono() + t->ns;

	cr_assert(data && len);
	t->taken++;
	while (clock_mono() < end)
		;
}

Test(bpf_ring, ends_though_records_go_on_coming, .timeout = 60)
{
	static struct capture c;
	struct ring *ring = NULL;
	struct taker t = {.ns = RECORD_NS};
	uint64_t until;
	uint32_t before;

	capture_init(&c, NULL);
	cr_assert_eq(ring_open(&ring, bpf_ring_fd(c.bpf), take, &t), 0);
	/* the target may have to wait for a CPU */
	until = clock_mono() + WAIT;
	while (!t.taken && clock_mono() < until)
		cr_assert_geq(ring_poll(ring, 10), 0);
	before = t.taken;
	cr_assert_gt(before, 0, "no records");
	for (int i = 0; i < CALLS; i++) {
		cr_expect_geq(ring_poll(ring, 10), 0);
		cr_expect_gt(t.taken, before, "each call takes some");
		before = t.taken;
	}
	cr_expect_eq(perf_disable(c.perf), 0);
	cr_expect_eq(ring_poll(ring, 0), 1, "there is more");
	t.ns = 0;
	while (ring_poll(ring, 0) == 1)
		;
	before = t.taken;
	cr_expect_eq(ring_poll(ring, 0), 0);
	cr_expect_eq(t.taken, before, "all were taken");
	ring_close(ring);
	capture_release(&c);
}
