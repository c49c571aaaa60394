/* The table of code objects: found while kept, bounded. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "symbol/pycode_table.h"

#define N 4000

static void put(struct pycode_table *t, raddr_t addr, uint32_t len, uint32_t used)
{
	void *lines = calloc(1, len + 1);
	struct pycode_entry *e = pycode_table_entry(addr, lines, len, NULL, 0);

	cr_assert(lines && e);
	e->used = used;
	cr_assert_eq(pycode_table_put(t, e), 0);
	free(lines);
}

Test(pycode_table, puts_and_removes)
{
	struct pycode_table t;
	bool there[N + 1] = {false};
	uint32_t n = 0;

	cr_assert_eq(pycode_table_init(&t), 0);
	srand(1);
	for (int step = 0; step < 20 * N; step++) {
		int i = 1 + rand() % N;

		if (rand() % 2) {
			put(&t, (raddr_t)i * 16, i % 3, 0);
			there[i] = true;
		} else {
			pycode_table_remove(&t, (raddr_t)i * 16);
			there[i] = false;
		}
	}
	for (int i = 1; i <= N; i++) {
		const struct pycode_entry *e = pycode_table_find(&t, (raddr_t)i * 16);

		cr_assert_eq(e != NULL, there[i]);
		cr_assert(!e || e->addr == (raddr_t)i * 16);
		n += there[i];
	}
	cr_assert_eq(t.n, n);
	for (int i = 1; i <= N; i++)
		pycode_table_remove(&t, (raddr_t)i * 16);
	cr_assert_eq(t.n, 0);
	cr_assert_eq(t.bytes, 0);
	pycode_table_release(&t);
}

Test(pycode_table, number_is_bounded)
{
	struct pycode_table t;
	uint32_t total = PYCODE_MAX_ENTRIES + 20000, late = 0;

	cr_assert_eq(pycode_table_init(&t), 0);
	for (uint32_t i = 1; i <= total; i++)
		put(&t, (raddr_t)i * 64, 0, i / 1000);
	cr_assert_eq(t.n, PYCODE_MAX_ENTRIES);
	for (uint32_t i = total - 10000; i <= total; i++)
		late += pycode_table_find(&t, (raddr_t)i * 64) != NULL;
	cr_assert_gt(late, 9900, "the newest stay: %u of 10000", late);
	pycode_table_release(&t);
}

Test(pycode_table, memory_is_bounded)
{
	struct pycode_table t;

	cr_assert_eq(pycode_table_init(&t), 0);
	for (raddr_t i = 1; i <= 100; i++)
		put(&t, i * 64, 1u << 20, (uint32_t)i);
	cr_assert_leq(t.bytes, PYCODE_MAX_BYTES);
	cr_assert_gt(t.n, 20);
	cr_assert_not_null(pycode_table_find(&t, 100 * 64));
	cr_assert_null(pycode_table_find(&t, 64));
	pycode_table_release(&t);
}
