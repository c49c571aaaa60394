/* Objects in the making, which look like their predecessor under another name. */
#include <criterion/criterion.h>
#include <string.h>
#include "base/clock.h"
#include "python/code.h"
#include "tests/support/fakecode.h"

#define A 0x7f0000000040ul
#define B 0x7f0000100040ul
#define FUNCTION 0x7f0000200000ul
#define INTERP 0x2000000ul

static struct fakecache f;

static void done(void)
{
	fakecache_release(&f);
}

static void object(raddr_t at, uint32_t version, uint64_t count, const char *name)
{
	struct fakecode c = {.addr = at, .version = version, .firstlineno = 10, .refcnt = count};

	c.name = name;
	c.file = "/f.py";
	fakecode_put(f.mem, &f.layout, &c);
}

static void function(uint64_t count, raddr_t type, raddr_t code)
{
	uint8_t bytes[96] = {0};

	memcpy(bytes + f.layout.object.refcnt, &count, sizeof(count));
	memcpy(bytes + f.layout.object.type, &type, sizeof(type));
	memcpy(bytes + code_function_size(&f.layout) - 8, &code, sizeof(code));
	fakemem_add(f.mem, FUNCTION, bytes, sizeof(bytes));
}

static struct pycode_query query(raddr_t code, uint32_t n)
{
	struct pycode_query q = fakecode_query(&f.layout, code, 8);

	q.id.version = n;
	return q;
}

/* Of an interpreter that counts the code objects that die. */
static struct pycode_query query_counted(raddr_t code, uint32_t n, uint64_t deaths)
{
	struct pycode_query q = query(code, n);

	q.id.interp = INTERP;
	q.id.has_generation = true;
	q.id.generation = deaths;
	return q;
}

static void expect(struct pycode_query *q, const char *text)
{
	cr_assert_eq(fakecache_ask(&f, q, NULL), 0);
	cr_assert_str_eq(fakecache_text(&f, q), text, "%s, not %s", fakecache_text(&f, q), text);
}

/* A cache that has seen a code object die. */
static void start(uint32_t minor)
{
	struct pycode_query q;

	fakecache_init(&f, minor);
	object(B, 3, 0x7f0000012340, "dead");
	q = query(B, f.layout.proof == LAYOUT_PROOF_VERSION ? 3 : 9);
	expect(&q, "[unreadable]");
}

/* It is named once the target has moved on and it is still the same. */
static void is_doubted(uint32_t minor)
{
	struct pycode_query q;

	start(minor);
	object(A, 5, 1, "one");
	q = query(A, f.layout.proof == LAYOUT_PROOF_VERSION ? 5 : 9);
	q.function = FUNCTION;
	expect(&q, "[unreadable]");
	expect(&q, "[unreadable]");
	expect(&q, "one /f.py:11/10");
	expect(&q, "one /f.py:11/10");
}

Test(pycode_doubt, counter, .fini = done)
{
	is_doubted(13);
}

Test(pycode_doubt, version, .fini = done)
{
	is_doubted(12);
}

/* Drains that leave ticks in the ring don't count: those may be from before the reading. */
Test(pycode_doubt, while_ticks_are_left, .fini = done)
{
	struct pycode_query q;

	start(13);
	object(A, 5, 1, "one");
	q = query(A, 9);
	expect(&q, "[unreadable]");
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(pycode_resolve(f.cache, f.mem, &q, 1), 0);
		cr_assert_str_eq(fakecache_text(&f, &q), "[unreadable]");
	}
	expect(&q, "[unreadable]");
	expect(&q, "one /f.py:11/10");
}

Test(pycode_doubt, object_in_the_making, .fini = done)
{
	struct pycode_query q;

	start(13);
	object(A, 5, 1, "successor"); /* and still its predecessor's version */
	q = query(A, 9);
	expect(&q, "[unreadable]");
	object(A, 12, 1, "successor");
	for (int i = 0; i < 5; i++)
		expect(&q, "[unreadable]");
	q = query(A, 13);
	expect(&q, "[unreadable]");
	expect(&q, "[unreadable]");
	expect(&q, "successor /f.py:11/10");
}

/* Nobody was looking before the first drain: an object may have died just then. */
Test(pycode_doubt, from_the_start, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, 1, "one");
	q = query(A, 9);
	expect(&q, "[unreadable]");
}

/* Nor was anybody looking before the first drain of a child, however long its parent was seen. */
Test(pycode_doubt, from_the_fork, .fini = done)
{
	struct pycode *parent;
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, 2, "one");
	q = query(A, 9);
	for (int i = 0; i < 20; i++)
		expect(&q, "one /f.py:11/10");
	parent = f.cache;
	f.cache = pycode_fork(parent, clock_mono());
	pycode_free(parent);
	object(B, 6, 1, "two");
	q = query(B, 9);
	expect(&q, "[unreadable]");
}

Test(pycode_doubt, not_where_none_dies, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, 2, "one");
	q = query(A, 9);
	for (int i = 0; i < 20; i++)
		expect(&q, "one /f.py:11/10");
	object(B, 6, 1, "two");
	q = query(B, 9);
	expect(&q, "two /f.py:11/10");
}

Test(pycode_doubt, not_for_ever, .fini = done)
{
	struct pycode_query q;

	start(13);
	object(A, 5, 2, "one");
	q = query(A, 9);
	for (int i = 0; i < 20; i++)
		expect(&q, "one /f.py:11/10");
	object(B, 6, 1, "two");
	q = query(B, 9);
	expect(&q, "two /f.py:11/10");
}

Test(pycode_doubt, not_what_a_live_function_has, .fini = done)
{
	struct pycode_query q;

	start(13);
	object(A, 5, 1, "one");
	function(0, FAKECODE_FUNCTION_TYPE, A);
	q = query(A, 9);
	q.function = FUNCTION;
	expect(&q, "[unreadable]"); /* the function died */
	fakecache_release(&f);
	start(13);
	object(A, 5, 1, "one");
	function(1, FAKECODE_FUNCTION_TYPE, B);
	expect(&q, "[unreadable]"); /* it has another one */
	fakecache_release(&f);
	start(13);
	object(A, 5, 1, "one");
	function(1, FAKECODE_TYPE, A);
	expect(&q, "[unreadable]"); /* what it left is in an object of another type */
	fakecache_release(&f);
	start(13);
	object(A, 5, 1, "one");
	function(1, FAKECODE_FUNCTION_TYPE, A);
	expect(&q, "one /f.py:11/10");
}

Test(pycode_doubt, not_when_it_is_run, .fini = done)
{
	struct pycode_query q;

	start(13);
	object(A, 5, 1, "one");
	q = query(A, 9);
	expect(&q, "[unreadable]");
	object(A, 5, 2, "one");
	expect(&q, "one /f.py:11/10");
}

Test(pycode_doubt, not_when_none_died_since_the_tick, .fini = done)
{
	struct pycode_query q;

	start(14);
	object(A, 5, 1, "one");
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 4);
	q = query_counted(A, 9, 3);
	expect(&q, "[unreadable]");
	q.id.generation = 4;
	object(B, 6, 1, "two");
	q.code = B;
	q.instr += B - A;
	expect(&q, "two /f.py:11/10");
}

/* The first drain has seen no death, but they are counted. */
Test(pycode_doubt, first_drain, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 14);
	object(A, 5, 1, "successor");
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 4);
	q = query_counted(A, 9, 3);
	expect(&q, "[unreadable]");
}

/* None has died since the latest tick, but one has since the tick that asks. */
Test(pycode_doubt, died_before_the_latest_tick, .fini = done)
{
	struct pycode_query q[2];

	fakecache_init(&f, 14);
	object(A, 5, 1, "successor");
	object(B, 6, 2, "other");
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 4);
	for (int i = 0; i < 2; i++)
		q[i] = query_counted(i ? B : A, 9 + i, 3 + i);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 2), 0);
	cr_assert_str_eq(fakecache_text(&f, &q[0]), "[unreadable]");
	cr_assert_str_eq(fakecache_text(&f, &q[1]), "other /f.py:11/10");
}

/* Each drain finds a live object for one tick, and that another tick's has died there. */
Test(pycode_doubt, where_successors_are_asked_for, .fini = done)
{
	struct pycode_query q[2];

	fakecache_init(&f, 13);
	for (uint32_t v = 6; v < 26; v++) {
		object(A, v, 2, "next");
		q[0] = query(A, v - 1);
		q[1] = query(A, v + 1);
		cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 2), 0);
		cr_assert_str_eq(fakecache_text(&f, &q[0]), "[unreadable]");
		cr_assert_str_eq(fakecache_text(&f, &q[1]), "next /f.py:11/10");
	}
	object(B, 6, 1, "successor");
	q[0] = query(B, 27);
	expect(&q[0], "[unreadable]");
}
