/* Tests of cli/table.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/table.h"
#include "tests/support/fakeprofile.h"
#include "tests/support/golden.h"

static char *rows(const struct profile *p, const struct table_options *o, size_t *ret_n)
{
	struct aggregate a;
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_n);

	cr_assert_eq(aggregate_rows(p, o->by, o->by_total, &a), 0);
	table_rows(f, p, &a, o);
	fclose(f);
	aggregate_release(&a);
	return text;
}

static void check(const struct profile *p, struct table_options o, const char *golden)
{
	size_t n = 0;
	char *text = rows(p, &o, &n);

	golden_check(golden, text, n);
	free(text);
}

Test(table, golden)
{
	struct profile p;

	fakeprofile_small(&p);
	check(&p, (struct table_options){.by = AGGREGATE_FUNCTION}, "table.function");
	check(&p, (struct table_options){.by = AGGREGATE_LINE, .by_total = true}, "table.line");
	check(&p, (struct table_options){.by = AGGREGATE_PROCESS}, "table.process");
	check(&p, (struct table_options){.by = AGGREGATE_THREAD, .rows = 2}, "table.thread");
	check(&p, (struct table_options){.by = AGGREGATE_FUNCTION, .color = true, .rows = 3},
	      "table.color");
	profile_release(&p);
	fakeprofile_wall(&p);
	check(&p, (struct table_options){.by = AGGREGATE_STATE}, "table.state");
	profile_release(&p);
}

Test(table, header)
{
	struct profile p;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	setenv("TZ", "UTC", 1);
	fakeprofile_small(&p);
	table_header(f, &p);
	p.complete = false;
	table_header(f, &p);
	p.recording.clock = false;
	snprintf(p.recording.event, sizeof(p.recording.event), "cache-\033misses");
	table_header(f, &p);
	profile_release(&p);
	fakeprofile_wall(&p);
	table_header(f, &p);
	p.recording.mode = RECORDING_GIL;
	table_header(f, &p);
	fclose(f);
	golden_check("table.header", text, n);
	free(text);
	profile_release(&p);
}

Test(table, nothing)
{
	struct profile p;

	fakeprofile_init(&p);
	check(&p, (struct table_options){.by = AGGREGATE_FUNCTION}, "table.nothing");
	profile_release(&p);
}

static size_t characters(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* No row is wider than the terminal, none has a control character, whatever the names are. */
Test(table, fits)
{
	static const unsigned int columns[] = {60, 61, 80, 133, 200};
	char name[400], file[400];
	struct profile p;

	fakeprofile_init(&p);
	for (size_t len = 1; len < sizeof(name); len += 13) {
		uint32_t process = fakeprofile_process(&p, 7, "a"), frame, stack;

		for (size_t i = 0; i < len; i++) {
			name[i] = "ab\xc3\xa9\n\x1b\xc2\x9b"[(i + len) % 8];
			file[i] = "/\xe2\x82\xacx/"[(i + len) % 6];
		}
		name[len] = file[len] = '\0';
		frame = fakeprofile_frame(&p, name, file, 1, 100000);
		stack = fakeprofile_stack(&p, &frame, 1);
		fakeprofile_samples(&p, fakeprofile_thread(&p, process, 7, "t"), stack,
				    OUTCOME_EXACT, 1, len);
	}
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		struct table_options o = {.by = AGGREGATE_FUNCTION, .columns = columns[c]};
		size_t n = 0;
		char *text = rows(&p, &o, &n), *line = text;

		for (char *end; (end = strchr(line, '\n')); line = end + 1) {
			cr_expect_leq(characters(line, (size_t)(end - line)), columns[c], "%.*s",
				      (int)(end - line), line);
			for (const char *s = line; s < end; s++)
				cr_expect((unsigned char)*s >= ' ');
		}
		cr_expect_eq(*line, '\0');
		free(text);
	}
	profile_release(&p);
}
