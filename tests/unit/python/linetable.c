/* Line tables against what the interpreters themselves say, and hostile ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "python/linetable.h"
#include "tests/support/interpreters.h"

struct counts {
	unsigned int objects, offsets, wrong;
};

static int unhex(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static enum layout_lines format_of(const char *kind)
{
	return strcmp(kind, "lnotab") == 0	   ? LAYOUT_LNOTAB
	       : strcmp(kind, "linetable310") == 0 ? LAYOUT_LINETABLE_310
						   : LAYOUT_LOCATIONS;
}

/* Checks [from, to) against a line. */
static void check_run(enum layout_lines format, const struct buf *table, uint32_t first,
		      const int64_t range[2], uint32_t line, struct counts *n)
{
	for (int64_t at = range[0]; at < range[1]; at += 2) {
		uint32_t is = linetable_line(format, table->data, table->len, first, at);

		n->offsets++;
		n->wrong += is != line;
		cr_expect_eq(is, line, "line %u instead of %u at %ld (first line %u)", is, line,
			     (long)at, first);
	}
}

/* One line of tests/tools/line-truth.py. */
static void check_line(char *text, struct counts *n)
{
	char *save, *kind = strtok_r(text, " \n", &save);
	char *first = strtok_r(NULL, " \n", &save), *size = strtok_r(NULL, " \n", &save);
	char *hex = strtok_r(NULL, " \n", &save), *runs = strtok_r(NULL, " \n", &save);
	struct buf table;
	int64_t range[2] = {0, 0};
	uint32_t line = 0;

	cr_assert(kind && first && size && hex && runs);
	buf_init(&table);
	for (; hex[0] && hex[0] != '-'; hex += 2)
		buf_u8(&table, (uint8_t)(unhex(hex[0]) << 4 | unhex(hex[1])));
	cr_assert_not(table.failed);
	for (char *run = strtok_r(runs, ",", &save); run && run[0] != '-';
	     run = strtok_r(NULL, ",", &save)) {
		range[1] = atol(run);
		check_run(format_of(kind), &table, (uint32_t)atol(first), range, line, n);
		range[0] = range[1];
		line = (uint32_t)atol(strchr(run, ':') + 1);
	}
	range[1] = atol(size);
	check_run(format_of(kind), &table, (uint32_t)atol(first), range, line, n);
	n->objects++;
	buf_release(&table);
}

static struct counts check_stream(FILE *f)
{
	struct counts n = {0};
	char *line = NULL;
	size_t cap = 0;

	while (n.wrong < 20 && getline(&line, &cap, f) > 0)
		check_line(line, &n);
	free(line);
	return n;
}

Test(linetable, golden)
{
	static const char *const versions[] = {"3.8",  "3.9",  "3.10", "3.11",
					       "3.12", "3.13", "3.14", "3.15"};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		char path[64];
		struct counts n;
		FILE *f;

		snprintf(path, sizeof(path), "tests/golden/python/lines-%s.txt", versions[i]);
		f = fopen(path, "r");
		cr_assert_not_null(f, "%s", path);
		n = check_stream(f);
		fclose(f);
		cr_assert_eq(n.wrong, 0, "%s", path);
		cr_assert_geq(n.objects, 12, "%s: %u", path, n.objects);
		cr_assert_gt(n.offsets, 400);
	}
}

static void check_interpreter(const char *name, unsigned int minor, FILE *output)
{
	struct counts n = check_stream(output);

	(void)minor;
	cr_assert_eq(n.wrong, 0, "%s", name);
	cr_assert(feof(output));
	cr_assert_gt(n.objects, 10, "%s: %u", name, n.objects);
	cr_log_info("%s: %u code objects, %u offsets", name, n.objects, n.offsets);
}

/* Every N-th file of each standard library; SCRY_LINE_STEP=6: 7.9 million offsets in 40 seconds. */
Test(linetable, interpreters, .timeout = 600)
{
	const char *step = getenv("SCRY_LINE_STEP");
	char arguments[64];

	snprintf(arguments, sizeof(arguments), "stdlib %s", step ? step : "300");
	interpreters_run("tests/tools/line-truth.py", arguments, check_interpreter);
}

static uint32_t line_of(enum layout_lines format, const char *table, size_t len, int64_t addr)
{
	return linetable_line(format, table, len, 10, addr);
}

Test(linetable, new_frames)
{
	cr_assert_eq(line_of(LAYOUT_LNOTAB, "\0\1\2\1", 4, -1), 10);
	cr_assert_eq(line_of(LAYOUT_LNOTAB, "\0\1\2\1", 4, 0), 11);
	cr_assert_eq(line_of(LAYOUT_LNOTAB, "\0\1\2\1", 4, 2), 12);
	cr_assert_eq(line_of(LAYOUT_LNOTAB, "", 0, 100), 10);
	cr_assert_eq(line_of(LAYOUT_LNOTAB, "\2\377", 2, 2), 9);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2\1\2\200\2\1", 6, -1), 10);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2\1\2\200\2\1", 6, 0), 11);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2\1\2\200\2\1", 6, 2), 0);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2\1\2\200\2\1", 6, 4), 12);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2\1\2\200\2\1", 6, 6), 0);
	/* one unit, code 13, delta 1; one unit without a line; two units one line on */
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, -2), 10);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, 0), 11);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, 2), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, 4), 12);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, 6), 12);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, 8), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, -1), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\2\370\331\1\2", 6, INT64_MIN), 0);
}

Test(linetable, sums_that_are_no_line)
{
	/* below 1 */
	cr_assert_eq(line_of(LAYOUT_LNOTAB, "\0\366", 2, 0), 0);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2\365", 2, 0), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\25", 2, 0), 0); /* 10 - 10 */
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\23", 2, 0), 1); /* 10 - 9 */
	/* above INT32_MAX, and a first line that is below 0 */
	cr_assert_eq(linetable_line(LAYOUT_LOCATIONS, "\350\2", 2, INT32_MAX, 0), 0);
	cr_assert_eq(linetable_line(LAYOUT_LOCATIONS, "\350\0", 2, INT32_MAX, 0), INT32_MAX);
	cr_assert_eq(linetable_line(LAYOUT_LOCATIONS, "\350\2", 2, UINT32_MAX, 0), 0);
	cr_assert_eq(linetable_line(LAYOUT_LOCATIONS, "\350\4", 2, UINT32_MAX, 0), 1);
}

Test(linetable, truncated_and_endless)
{
	char ones[64];

	cr_assert_eq(line_of(LAYOUT_LNOTAB, "\0", 1, 0), 10);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, "\2", 1, 0), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "", 0, 0), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350", 1, 0), 0);     /* its delta is cut off */
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\100", 2, 0), 0); /* in the middle */
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\2\370", 2, 0), 0);   /* no start of an entry */
	/* a varint that does not end */
	memset(ones, 0x7f, sizeof(ones));
	ones[0] = (char)0xe8;
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, ones, sizeof(ones), 0), 0);
	/* the longest that is read: 36 bits, no line but no overflow either */
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, "\350\177\177\177\177\177\77", 7, 0), 0);
}

Test(linetable, huge)
{
	size_t len = LINETABLE_MAX + 4096;
	char *table = malloc(len);

	cr_assert_not_null(table);
	memset(table, 0x80, len); /* short entries of one unit, their columns missing */
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, table, len, 2 * LINETABLE_MAX - 2), 10);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, table, len, 2 * LINETABLE_MAX), 0);
	cr_assert_eq(line_of(LAYOUT_LOCATIONS, table, len, INT64_MAX), 0);
	memset(table, 0x7f, len); /* 127 bytes, 127 lines */
	cr_assert_eq(line_of(LAYOUT_LNOTAB, table, len, INT64_MAX), 10 + LINETABLE_MAX / 2 * 127);
	cr_assert_eq(line_of(LAYOUT_LINETABLE_310, table, len, INT64_MAX), 0);
	free(table);
}

Test(linetable, random_bytes)
{
	uint8_t table[97];
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 200000; i++) {
		size_t len = i % sizeof(table);
		uint32_t line;

		for (size_t j = 0; j < len; j++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			table[j] = (uint8_t)(seed >> 56);
		}
		line = linetable_line((enum layout_lines)(i % 3), table, len, (uint32_t)seed,
				      (int64_t)(seed >> 40) % 400 - 4);
		cr_assert_leq(line, INT32_MAX);
	}
}
