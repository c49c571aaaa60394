/* Tests of python/witness.c: which words prove that a thread stood still. */
#include <criterion/criterion.h>
#include <string.h>
#include "python/witness.h"

static const struct witness at = {true, true, 0x1000, 7};

static struct witness with(bool locked, raddr_t holder, uint64_t number)
{
	return (struct witness){true, locked, holder, number};
}

Test(witness, nobody_but_the_holder_ran_while_nothing_changed)
{
	struct witness same = at, released = with(false, 0x1000, 7);

	cr_assert(witness_still(&at, &same, 0x2000));
	cr_assert(witness_still(&at, &released, 0x2000), "nobody has taken it since");
	cr_assert(witness_still(&released, &at, 0x2000), "only the last holder can, like this");
	cr_assert_not(witness_still(&at, &same, 0x1000), "of the holder nothing is known");
	cr_assert_not(witness_still(&released, &released, 0x1000), "it takes it back unseen");
}

Test(witness, any_switch_breaks_it)
{
	struct witness other = with(true, 0x3000, 8), back = with(true, 0x1000, 9);
	struct witness none = {0}, nobody = with(false, 0, 7);

	cr_assert_not(witness_still(&at, &other, 0x2000));
	cr_assert_not(witness_still(&at, &back, 0x2000), "it was away meanwhile");
	cr_assert_not(witness_still(&none, &none, 0x2000), "words that were not read");
	cr_assert_not(witness_still(&at, &none, 0x2000));
	cr_assert_not(witness_still(&nobody, &nobody, 0x2000), "no holder is no other thread");
}

Test(witness, holder_is_who_has_it_locked_at_both_ends)
{
	struct witness released = with(false, 0x1000, 7), other = with(true, 0x3000, 8);

	cr_assert(witness_holds(&at, &at, 0x1000));
	cr_assert_not(witness_holds(&at, &at, 0x2000));
	cr_assert_not(witness_holds(&at, &released, 0x1000));
	cr_assert_not(witness_holds(&released, &at, 0x1000));
	cr_assert_not(witness_holds(&at, &other, 0x1000));
}

Test(witness, words_are_found_in_every_version)
{
	for (uint32_t minor = 8; minor <= 12; minor++) {
		const struct layout *l = layout_table(minor);
		uint8_t gil[256] = {0};
		uint32_t from, len;
		struct witness w;
		uint64_t holder = 0x123450, number = 99;
		uint32_t locked = 1;

		memcpy(gil + l->gil.last_holder, &holder, 8);
		memcpy(gil + l->gil.locked, &locked, 4);
		memcpy(gil + l->gil.switch_number, &number, 8);
		witness_place(l, &from, &len);
		cr_assert_eq(len, 24);
		w = witness_decode(l, gil + from);
		cr_assert(w.ok && w.locked);
		cr_assert_eq(w.last_holder, holder);
		cr_assert_eq(w.switch_number, number);
		cr_assert_not(witness_decode(l, NULL).ok);
		locked = UINT32_MAX; /* before it was made: -1 */
		memcpy(gil + l->gil.locked, &locked, 4);
		cr_assert_not(witness_decode(l, gil + from).locked);
	}
}

Test(witness, futexes_of_the_gil)
{
	const struct layout *l = layout_table(12);

	cr_assert(witness_futex(l, 0x1000, 0x1000 + 40));
	cr_assert(witness_futex(l, 0x1000, 0x1000 + 150));
	cr_assert_not(witness_futex(l, 0x1000, 0xff8));
	cr_assert_not(witness_futex(l, 0x1000, 0x1000 + 256));
	cr_assert_not(witness_futex(l, 0, 40), "without a GIL");
}
