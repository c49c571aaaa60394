/* Tests of collect/pyname.c: both names, and how often Python's is read. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "collect/pyname.h"
#include "tests/support/fakethreading.h"

struct crew {
	struct fakethreading w;
	struct process p;
	struct threadname *n;
	struct targets_who who;
};

static void start(struct crew *c, const char *name, const char *regex)
{
	*c = (struct crew){.who = {.tid = 9000,
				   .ns_tid = FAKETHREADING_TID,
				   .thread_ptr = FAKETHREADING_IDENT,
				   .start = clock_boot(),
				   .comm = "python3"}};
	fakethreading_init(&c->w, layout_table(12), FAKETHREADING_VALUES, name);
	c->p.found = c->w.found;
	c->p.mem = c->w.mem;
	cr_assert_eq(threadname_new(regex, &c->n, NULL), 0);
}

static void end(struct crew *c)
{
	pyname_free(c->p.names);
	threadname_free(c->n);
	fakethreading_release(&c->w);
}

static bool wants(struct crew *c, uint64_t *ret_calls)
{
	uint64_t before = c->w.mem->stats.calls;
	bool wanted = pyname_wants(c->n, &c->p, &c->who, NULL);

	*ret_calls = c->w.mem->stats.calls - before;
	return wanted;
}

Test(pyname, either_name)
{
	struct crew c;
	uint64_t calls;

	start(&c, "a name of more than fifteen bytes", "fifteen bytes$");
	cr_expect(wants(&c, &calls));
	cr_expect_gt(calls, 0);
	cr_expect(wants(&c, &calls));
	cr_expect_eq(calls, 0, "it is known");
	c.who.ns_tid++; /* what is known was proven when it was met */
	cr_expect(wants(&c, &calls));
	c.who.start++; /* another thread with its id */
	cr_expect_not(wants(&c, &calls));
	c.who.comm = "fifteen bytes";
	cr_expect(wants(&c, &calls), "the kernel's name");
	cr_expect_eq(calls, 0);
	cr_expect(pyname_wants(NULL, &c.p, &c.who, NULL));
	end(&c);
}

/* It ended before it was looked at again: what was proven of it holds. */
Test(pyname, stays_wanted_when_it_has_ended)
{
	uint64_t calls, looks = 0, until = clock_boot() + 5 * NSEC_PER_SEC;
	struct crew c;

	start(&c, "worker", "^worker$");
	cr_expect(wants(&c, &calls));
	fakemem_add_u64(c.w.mem, c.w.name_at, 0);
	while (!looks && clock_boot() < until) {
		cr_assert(wants(&c, &calls));
		looks += calls;
	}
	cr_expect_gt(looks, 0);
	end(&c);
}

/* What is not known of it yet says nothing about its name. */
Test(pyname, waits_for_what_it_is_found_by)
{
	bool settled = true;
	struct crew c;
	uint64_t calls;

	start(&c, "worker", "^worker$");
	c.who.start = 1;
	c.who.thread_ptr = 0;
	cr_expect_not(pyname_wants(c.n, &c.p, &c.who, &settled));
	cr_expect_not(settled);
	c.who.thread_ptr = FAKETHREADING_IDENT;
	cr_expect(wants(&c, &calls));
	end(&c);
}

/* An old one is met once, a young one again when it has become twice as old. */
Test(pyname, may_be_named_later)
{
	struct crew c;
	uint64_t calls, until = clock_boot() + 5 * NSEC_PER_SEC;

	start(&c, "worker", "^worker$");
	fakemem_add_u64(c.w.mem, c.w.name_at, fakethreading_str(&c.w, "Thread-1"));
	cr_expect_not(wants(&c, &calls));
	fakemem_add_u64(c.w.mem, c.w.name_at, c.w.name);
	while (!wants(&c, &calls) && clock_boot() < until)
		;
	cr_expect_lt(clock_boot(), until);
	c.who.tid++;
	c.who.start = 1;
	fakemem_add_u64(c.w.mem, c.w.name_at, fakethreading_str(&c.w, "Thread-1"));
	cr_expect_not(wants(&c, &calls));
	fakemem_add_u64(c.w.mem, c.w.name_at, c.w.name);
	until = clock_boot() + 50 * NSEC_PER_MSEC;
	while (clock_boot() < until)
		cr_assert_not(wants(&c, &calls));
	end(&c);
}

Test(pyname, of_what_is_gone)
{
	struct crew c;
	struct buf b;
	uint64_t calls;

	start(&c, "x", "x");
	c.p.gone = true;
	buf_init(&b);
	cr_expect_eq(pyname_read(&c.p, &c.who, &b), -ESRCH);
	cr_expect_not(wants(&c, &calls));
	cr_expect_eq(calls, 0);
	buf_release(&b);
	end(&c);
}

/* What a look costs is up to the process: its looks have an allowance, and then there are none for
 * a while. */
Test(pyname, huge_dicts_have_an_allowance)
{
	enum {
		ENTRIES = 65536,
		LOG2_INDEX = 17,
		HEAD = 32,
		LEN = HEAD + (1 << LOG2_INDEX) + ENTRIES * 16
	};
	uint8_t *keys = calloc(1, LEN);
	uint64_t entries = ENTRIES;
	struct buf name;
	struct crew c;
	int err = 0, looks = 0;

	start(&c, "worker", "^worker$");
	cr_assert_not_null(keys);
	keys[9] = LOG2_INDEX;
	keys[10] = 1; /* all keys are str, none of them readable */
	memcpy(keys + 24, &entries, sizeof(entries));
	fakemem_add(c.w.mem, 0x40000000, keys, LEN);
	fakemem_add_u64(c.w.mem, c.w.class + c.p.found.layout.type.cached_keys, 0x40000000);
	buf_init(&name);
	for (; looks < 100000 && err != -EBUSY; looks++) {
		err = pyname_read(&c.p, &c.who, &name);
		cr_assert(err == -ENOENT || err == -EBUSY, "%d", err);
	}
	cr_expect_eq(err, -EBUSY);
	cr_expect_eq(name.len, 0);
	buf_release(&name);
	free(keys);
	end(&c);
}
