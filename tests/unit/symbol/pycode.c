/* Is a name given only when the object that was read is the one that ran? */
#include <criterion/criterion.h>
#include <errno.h>
#include "python/unicode.h"
#include "tests/support/fakecode.h"

#define A 0x7f0000000040ul
#define B 0x7f0000100040ul
#define INTERP 0x2000000ul
#define LINK 0x7f0000012340ul /* what an allocator writes over a freed block's first word */

static struct fakecache f;

static void expect(struct pycode_query *q, const char *text, uint64_t calls)
{
	uint64_t cost;

	cr_assert_eq(fakecache_ask(&f, q, &cost), 0);
	cr_assert_str_eq(fakecache_text(&f, q), text, "%s, not %s", fakecache_text(&f, q), text);
	cr_assert_eq(cost, calls, "%d calls, not %d", (int)cost, (int)calls);
}

static struct pycode_query counter(raddr_t code, uint32_t n)
{
	struct pycode_query q = fakecode_query(&f.layout, code, 8);

	q.id.version = n;
	return q;
}

static struct pycode_query generation(raddr_t code, uint32_t n, uint64_t g)
{
	struct pycode_query q = counter(code, n);

	q.id.has_generation = true;
	q.id.generation = g;
	q.id.interp = INTERP;
	return q;
}

static void object(raddr_t at, uint32_t version, const char *name)
{
	struct fakecode c = {.addr = at, .version = version, .firstlineno = 10, .name = name};

	c.file = "/f.py";
	fakecode_put(f.mem, &f.layout, &c);
}

static void freed(raddr_t at, uint32_t version)
{
	struct fakecode c = {.addr = at, .version = version, .firstlineno = 10, .refcnt = LINK};
	uint8_t head[FAKECODE_MAX];

	fakecode_head(&f.layout, &c, head);
	fakemem_add(f.mem, at, head, f.layout.code.size);
}

/* Just before piece `piece` of call `call` (of all), another object is there; its strings too. */
static void replaced_at(uint64_t call, size_t piece, const struct fakecode *c)
{
	uint8_t head[FAKECODE_MAX];

	fakecode_head(&f.layout, c, head);
	fakemem_change(f.mem, (struct fakemem_when){call, piece}, c->addr, head,
		       f.layout.code.size);
}

static void done(void)
{
	fakecache_release(&f);
}

Test(pycode, every_version, .fini = done)
{
	for (uint32_t minor = 8; minor <= 14; minor++) {
		struct pycode_query q, next;

		if (minor > 8)
			fakecache_release(&f);
		fakecache_init(&f, minor);
		object(A, 5, "one");
		q = fakecode_query(&f.layout, A, 0);
		next = fakecode_query(&f.layout, A, 8);
		q.id.version = next.id.version = f.layout.proof == LAYOUT_PROOF_COUNTER ? 6 : 5;
		q.id.firstlineno = next.id.firstlineno = 10;
		expect(&q, "one /f.py:10/10", 2);
		expect(&next, "one /f.py:11/10", 0);
		expect(&q, "one /f.py:10/10", 0);
	}
}

Test(pycode, counter_is_below_n, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, "one");
	q = counter(A, 5); /* it was made after the tick */
	expect(&q, "[unreadable]", 1);
	q = counter(A, 0); /* wrapped */
	expect(&q, "[unreadable]", 0);
	q = counter(A, 6);
	expect(&q, "one /f.py:11/10", 2);
	q.id.ok = false;
	expect(&q, "[unreadable]", 0);
	object(B, 0, "no version left");
	q = counter(B, 6);
	expect(&q, "[unreadable]", 1);
}

Test(pycode, a_freed_object_is_not_the_one, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, "one");
	freed(A, 5);
	q = counter(A, 9);
	expect(&q, "[unreadable]", 1);
	freed(A, 6);
	expect(&q, "[unreadable]", 1);
}

Test(pycode, another_type_is_not_the_one, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, "one");
	fakemem_add_u64(f.mem, A + f.layout.object.type, FAKECODE_TYPE + 0x100);
	q = counter(A, 9);
	expect(&q, "[unreadable]", 1);
}

Test(pycode, risen_n_asks_again, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, "one");
	q = counter(A, 9);
	expect(&q, "one /f.py:11/10", 2);
	q = counter(A, 7); /* an earlier tick */
	expect(&q, "one /f.py:11/10", 0);
	q = counter(A, 5); /* too early */
	expect(&q, "[unreadable]", 1);
	q = counter(A, 10);
	expect(&q, "one /f.py:11/10", 1);
	expect(&q, "one /f.py:11/10", 0);
	cr_assert_eq(pycode_get_stats(f.cache)->revalidated, 1);
	freed(A, 5);
	expect(&q, "one /f.py:11/10", 0); /* nothing was made since: it ran */
	q = counter(A, 11);
	expect(&q, "[unreadable]", 1);
	q = counter(A, 9); /* retired */
	expect(&q, "[unreadable]", 1);
	cr_assert_eq(pycode_get_stats(f.cache)->retired, 1);
}

/* Both owners of an address ran in one drain; one is known. */
Test(pycode, successor_at_the_same_address, .fini = done)
{
	struct pycode_query q[3];

	fakecache_init(&f, 13);
	object(A, 5, "one");
	q[0] = counter(A, 9);
	expect(&q[0], "one /f.py:11/10", 2);
	object(A, 12, "two");
	q[0] = counter(A, 9);  /* known */
	q[1] = counter(A, 11); /* neither: "one" may have died before, "two" was not made yet */
	q[2] = counter(A, 13);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 3), 0);
	cr_assert_str_eq(fakecache_text(&f, &q[0]), "one /f.py:11/10");
	cr_assert_str_eq(fakecache_text(&f, &q[1]), "[unreadable]");
	cr_assert_str_eq(fakecache_text(&f, &q[2]), "two /f.py:11/10");
	cr_assert_eq(pycode_get_stats(f.cache)->retired, 1);
	cr_assert_eq(pycode_get_stats(f.cache)->unreadable, 1);
}

Test(pycode, replaced_while_strings_are_read, .fini = done)
{
	struct fakecode two = {.addr = A, .version = 6, .firstlineno = 10};
	struct pycode_query q;

	for (int piece = 0; piece < 4; piece++) {
		if (piece)
			fakecache_release(&f);
		fakecache_init(&f, 13);
		object(A, 5, "one");
		replaced_at(1, piece, &two);
		q = counter(A, 6);
		expect(&q, "[unreadable]", 2);
	}
	fakecache_release(&f);
	fakecache_init(&f, 13);
	object(A, 5, "one");
	two.version = 5;
	two.refcnt = LINK;
	replaced_at(1, 2, &two); /* dies */
	q = counter(A, 6);
	expect(&q, "[unreadable]", 2);
}

/* An import sets co_filename anew: the same object, read once more. */
Test(pycode, changed_while_strings_are_read, .fini = done)
{
	struct fakecode c = {.addr = A, .version = 5, .firstlineno = 10};
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, "one");
	fakecode_str(f.mem, &f.layout, B, "new", 1);
	c.qualname_at = B;
	replaced_at(1, 1, &c);
	q = counter(A, 6);
	expect(&q, "new /f.py:11/10", 3);
}

Test(pycode, generation_spares_a_read, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 14);
	object(A, 5, "one");
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 3);
	q = generation(A, 9, 3);
	expect(&q, "one /f.py:11/10", 2);
	q = generation(A, 30, 3); /* many were made, none died */
	expect(&q, "one /f.py:11/10", 0);
	q = generation(A, 0, 3);
	expect(&q, "one /f.py:11/10", 0);
	q = generation(A, 30, 4);
	expect(&q, "one /f.py:11/10", 1);
	q.id.interp++; /* another interpreter's numbers say nothing */
	freed(A, 5);
	expect(&q, "[unreadable]", 1);
}

/* The generation of a tick before the object was made is no proof for it. */
Test(pycode, generation_of_an_earlier_tick, .fini = done)
{
	struct pycode_query q[2];

	fakecache_init(&f, 14);
	object(A, 7, "two");
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 4);
	q[0] = generation(A, 5, 3);
	q[1] = generation(A, 9, 4);
	q[1].id.has_generation = false;
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 2), 0);
	cr_assert_str_eq(fakecache_text(&f, &q[0]), "[unreadable]");
	cr_assert_str_eq(fakecache_text(&f, &q[1]), "two /f.py:11/10");
}

/* Several interpreters, or the counter at its end: N is 0. */
Test(pycode, generation_alone, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 14);
	object(A, 5, "one");
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 4);
	q = generation(A, 0, 3); /* something died since */
	expect(&q, "[unreadable]", 2);
	q = generation(A, 0, 4);
	expect(&q, "one /f.py:11/10", 1);
	expect(&q, "one /f.py:11/10", 0);
	object(B, 0, "two");
	q = generation(B, 0, 4);
	expect(&q, "two /f.py:11/10", 2);
	fakemem_add_u64(f.mem, INTERP + f.layout.interp.generation, 5);
	q = generation(B, 0, 5);
	expect(&q, "two /f.py:11/10", 1);
	q = generation(B, 9, 6); /* nor does N say anything of version 0 */
	expect(&q, "[unreadable]", 1);
	expect(&q, "[unreadable]", 1);
	q = generation(B, 0, 6); /* a tick can't be later than the read */
	expect(&q, "[unreadable]", 1);
}

Test(pycode, version, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 12);
	object(A, 5, "one");
	q = counter(A, 4);
	expect(&q, "[unreadable]", 1);
	q = counter(A, 0); /* might be a shim */
	expect(&q, "[unreadable]", 1);
	q = counter(A, 5);
	expect(&q, "one /f.py:11/10", 2);
	object(A, 9, "two");
	expect(&q, "one /f.py:11/10", 0); /* the proof was taken at the tick */
	q = counter(A, 9);
	expect(&q, "two /f.py:11/10", 2);
	freed(A, 9);
	q = counter(A, 10);
	expect(&q, "[unreadable]", 1);
}

/* Interpreters number alike. */
Test(pycode, version_of_another_interpreter, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 12);
	object(A, 5, "one");
	q = counter(A, 5);
	q.id.interp = INTERP;
	q.id.filename = fakecode_file_at(A);
	q.id.firstlineno = 11;
	expect(&q, "[unreadable]", 1);
	q.id.firstlineno = 10;
	q.id.filename += 16;
	expect(&q, "[unreadable]", 1);
	q.id.filename -= 16;
	expect(&q, "one /f.py:11/10", 2);
	expect(&q, "one /f.py:11/10", 0);
	q.id.firstlineno = 11;
	expect(&q, "[unreadable]", 1);
	q.id.firstlineno = 10;
	q.id.interp++;
	expect(&q, "[unreadable]", 1);
}

static struct pycode_query name(raddr_t code, uint64_t hash)
{
	struct pycode_query q = fakecode_query(&f.layout, code, 8);

	q.id.name_hash = hash;
	q.id.firstlineno = 10;
	return q;
}

Test(pycode, name, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 11);
	object(A, 0, "one");
	q = name(A, 76); /* another name */
	expect(&q, "[unreadable]", 2);
	q = name(A, 77);
	q.id.firstlineno = 11;
	expect(&q, "[unreadable]", 1);
	q = name(A, 77);
	q.id.filename += 16;
	expect(&q, "[unreadable]", 1);
	q = name(A, UINT64_MAX); /* no hash yet: every such name looks the same */
	expect(&q, "[unreadable]", 0);
	q = name(A, 0);
	expect(&q, "[unreadable]", 0);
	q = name(A, 77);
	expect(&q, "one /f.py:11/10", 0); /* the first one read it */
	freed(A, 0);
	expect(&q, "one /f.py:11/10", 0);
	freed(B, 0);
	q = name(B, 77);
	expect(&q, "[unreadable]", 1);
}

/* A string that nobody hashed is known by its length and characters, also once it has a hash. */
Test(pycode, name_without_hash, .fini = done)
{
	struct unicode u = {.chars = 3, .kind = 1, .bytes = 3};
	struct pycode_query q;

	fakecache_init(&f, 11);
	object(A, 0, "one");
	fakecode_str(f.mem, &f.layout, fakecode_name_at(A), "one", UINT64_MAX);
	q = name(A, unicode_mark(&u, "two"));
	expect(&q, "[unreadable]", 2);
	q = name(A, unicode_mark(&u, "one"));
	expect(&q, "one /f.py:11/10", 0);
	fakecode_str(f.mem, &f.layout, fakecode_name_at(A), "one", 77);
	q = name(A, 77);
	expect(&q, "one /f.py:11/10", 2);
	q = name(A, unicode_mark(&u, "one"));
	expect(&q, "one /f.py:11/10", 0);
}

Test(pycode, name_in_another_file, .fini = done)
{
	struct unicode u = {.chars = 5, .kind = 1, .bytes = 5};
	struct pycode_query q;

	fakecache_init(&f, 10);
	object(A, 0, "one");
	q = name(A, 77);
	q.id.file_mark = (uint32_t)unicode_mark(&u, "/g.py");
	expect(&q, "[unreadable]", 2);
	q.id.file_mark = (uint32_t)unicode_mark(&u, "/f.py");
	expect(&q, "one /f.py:11/10", 0);
	q.id.file_mark = 78; /* its hash */
	expect(&q, "one /f.py:11/10", 0);
}

/* Same pointer, another file there: noticed before long. */
Test(pycode, name_is_read_again, .fini = done)
{
	struct pycode_query q;
	int changed = 0;

	fakecache_init(&f, 9);
	object(A, 0, "one");
	q = name(A, 77);
	expect(&q, "one /f.py:11/10", 2);
	fakecode_str(f.mem, &f.layout, fakecode_file_at(A), "/g.py", 1);
	for (int i = 0; i < 25; i++) {
		uint64_t calls;

		fakecache_ask(&f, &q, &calls);
		cr_assert(calls == 0 || calls == 2);
		changed += calls == 2;
	}
	cr_assert_str_eq(fakecache_text(&f, &q), "one /g.py:11/10");
	cr_assert_eq(changed, 2);
}

Test(pycode, process_gone, .fini = done)
{
	struct pycode_query q[2];

	fakecache_init(&f, 13);
	object(A, 5, "one");
	q[0] = counter(A, 9);
	expect(&q[0], "one /f.py:11/10", 2);
	fakemem_state(f.mem, -ESRCH);
	q[1] = counter(B, 9);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 2), -ESRCH);
	cr_assert_str_eq(fakecache_text(&f, &q[0]), "one /f.py:11/10");
	cr_assert_str_eq(fakecache_text(&f, &q[1]), "[unreadable]");
	q[0] = counter(A, 10);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 1), -ESRCH);
	cr_assert_str_eq(fakecache_text(&f, &q[0]), "[unreadable]");
}

Test(pycode, process_goes_between_calls, .fini = done)
{
	struct pycode_query q;

	fakecache_init(&f, 13);
	object(A, 5, "one");
	fakemem_die(f.mem, (struct fakemem_when){1, 2}, -ESRCH);
	q = counter(A, 9);
	cr_assert_eq(fakecache_ask(&f, &q, NULL), -ESRCH);
	cr_assert_str_eq(fakecache_text(&f, &q), "[unreadable]");
}

/* However many objects: the calls stay the same. */
Test(pycode, many_at_once, .fini = done)
{
	struct pycode_query q[200];
	uint64_t calls;

	fakecache_init(&f, 13);
	for (int i = 0; i < 50; i++)
		object(A + i * 0x100000ul, 5 + i, i % 2 ? "odd" : "even");
	for (int i = 0; i < 200; i++)
		q[i] = counter(A + (i * 7 % 50) * 0x100000ul, 100);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 200), 0);
	calls = f.mem->stats.calls;
	cr_assert_eq(calls, 2);
	for (int i = 0; i < 200; i++)
		cr_assert_str_eq(fakecache_text(&f, &q[i]),
				 i * 7 % 50 % 2 ? "odd /f.py:11/10" : "even /f.py:11/10");
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 200), 0);
	cr_assert_eq(f.mem->stats.calls, calls);
	cr_assert_eq(pycode_get_stats(f.cache)->hits, 200);
	for (int i = 0; i < 200; i++)
		q[i].id.version = 200; /* all at once again */
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 200), 0);
	cr_assert_eq(f.mem->stats.calls, calls + 1);
}
