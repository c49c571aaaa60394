/* Forked caches, and the shim that is no function. */
#include <criterion/criterion.h>
#include <string.h>
#include "base/clock.h"
#include "tests/support/fakecode.h"

#define A 0x7f0000000040ul
#define B 0x7f0000100040ul
#define LINK 0x7f0000012340ul /* what an allocator writes over a freed block's first word */

static struct fakecache f;

static void done(void)
{
	fakecache_release(&f);
}

static void expect(struct pycode_query *q, const char *text, uint64_t calls)
{
	uint64_t cost;

	cr_assert_eq(fakecache_ask(&f, q, &cost), 0);
	cr_assert_str_eq(fakecache_text(&f, q), text);
	cr_assert_eq(cost, calls, "%d calls, not %d", (int)cost, (int)calls);
}

static struct pycode_query counter(raddr_t code, uint32_t n)
{
	struct pycode_query q = fakecode_query(&f.layout, code, 8);

	q.id.version = n;
	return q;
}

/* The static object that a class's call runs: one string of the runtime's for all of its names. */
static void shim(raddr_t at, raddr_t string, uint64_t refcnt)
{
	struct fakecode c = {.addr = at, .firstlineno = 4, .refcnt = refcnt};
	uint8_t head[FAKECODE_MAX];

	fakecode_head(&f.layout, &c, head);
	memcpy(head + f.layout.code.name, &string, 8);
	memcpy(head + f.layout.code.filename, &string, 8);
	memcpy(head + f.layout.code.qualname, &string, 8);
	fakemem_add(f.mem, at, head, f.layout.code.size);
}

Test(pycode_fork, shim_is_no_frame, .fini = done)
{
	struct pycode_query q;
	uint64_t calls;

	fakecache_init(&f, 13);
	f.layout.runtime.size = 4096;
	pycode_free(f.cache);
	f.cache =
		pycode_new(f.names, &f.layout, (struct code_types){.code = FAKECODE_TYPE}, 0x10000);
	shim(A, 0x10008, UINT32_MAX);
	q = counter(A, 5);
	cr_assert_eq(fakecache_ask(&f, &q, &calls), 0);
	cr_assert(q.ret_hidden && q.ret_named);
	cr_assert_eq(fakecache_ask(&f, &q, &calls), 0);
	cr_assert(q.ret_hidden);
	cr_assert_eq(calls, 0);
	/* what could die, or has names from elsewhere, is none */
	shim(B, 0x10008, 1);
	q = counter(B, 5);
	cr_assert_eq(fakecache_ask(&f, &q, &calls), 0);
	cr_assert(!q.ret_hidden && !q.ret_named);
	shim(B, 0x20008, UINT32_MAX);
	cr_assert_eq(fakecache_ask(&f, &q, &calls), 0);
	cr_assert(!q.ret_hidden && !q.ret_named);
}

Test(pycode_fork, forked_child_has_what_was_seen_before, .fini = done)
{
	const struct fakecode one = {
		.addr = A, .version = 5, .firstlineno = 10, .name = "one", .file = "/f.py"};
	const struct fakecode dead = {.addr = A, .version = 5, .firstlineno = 10, .refcnt = LINK};
	uint8_t head[FAKECODE_MAX];
	struct pycode_query q;
	struct pycode *parent, *late;

	fakecache_init(&f, 13);
	fakecode_put(f.mem, &f.layout, &one);
	q = counter(A, 9);
	expect(&q, "one /f.py:11/10", 2);
	parent = f.cache;
	f.cache = pycode_fork(parent, clock_mono() + 2 * NSEC_PER_SEC);
	late = pycode_fork(parent, clock_mono());
	fakecode_head(&f.layout, &dead, head);
	fakemem_add(f.mem, A, head, f.layout.code.size); /* gone in the child: its tick said that
							    nothing was made since */
	expect(&q, "one /f.py:11/10", 0);
	q = counter(A, 10);
	expect(&q, "[unreadable]", 1);
	/* read by the parent after the fork, or just before: proves nothing */
	pycode_free(f.cache);
	f.cache = late;
	q = counter(A, 9);
	expect(&q, "[unreadable]", 1);
	pycode_free(parent);
}
