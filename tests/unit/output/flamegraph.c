/* Tests of output/flamegraph.c: the data in the page. tests/live/test_flamegraph.py looks at the
 * page. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "tests/support/fakeprofile.h"

#define DATA_BEGIN "<script type=\"application/json\" id=\"data\">"
#define SCRIPT_END "</script>"

static char *written(const struct profile *p, const struct format_options *o)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	cr_assert_eq(format_find("flamegraph")->write(f, p, o), 0);
	fclose(f);
	return text;
}

static json_t *data_of(const char *text)
{
	const char *begin = strstr(text, DATA_BEGIN), *end;
	json_t *v;

	cr_assert_not_null(begin);
	begin += strlen(DATA_BEGIN);
	end = strstr(begin, SCRIPT_END);
	v = json_loadb(begin, (size_t)(end - begin), 0, NULL);
	cr_assert_not_null(v, "the data is no JSON");
	return v;
}

static size_t occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static json_int_t number(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

/* The sum of what the nodes have themselves; every number is checked to be in its range. */
static json_int_t sum_of(const json_t *data)
{
	const json_t *nodes = json_object_get(data, "nodes"),
		     *labels = json_object_get(data, "labels");
	size_t strings = json_array_size(json_object_get(data, "strings"));
	json_int_t depth = 0, sum = 0;

	cr_assert_eq(json_array_size(nodes) % 3, 0);
	cr_assert_eq(json_array_size(labels) % 4, 0);
	for (size_t i = 0; i < json_array_size(labels); i += 4) {
		cr_assert_lt((size_t)number(labels, i + 1), strings);
		cr_assert_lt((size_t)number(labels, i + 2), strings);
	}
	for (size_t i = 0; i < json_array_size(nodes); i += 3) {
		depth += 1 - number(nodes, i);
		cr_assert_gt(depth, 0);
		cr_assert_lt((size_t)number(nodes, i + 1), json_array_size(labels) / 4);
		/* processes, then threads, then frames */
		cr_assert_eq(number(labels, 4 * (size_t)number(nodes, i + 1)) >= 5, depth <= 2);
		sum += number(nodes, i + 2);
	}
	return sum;
}

Test(flamegraph, the_data_has_every_sample)
{
	struct profile p;
	struct format_options o = {
		.outcomes = UINT32_MAX, .group = AGGREGATE_PER_PROCESS, .title = "a <b> title"};
	char *text;
	json_t *data;

	fakeprofile_small(&p);
	text = written(&p, &o);
	data = data_of(text);
	cr_assert_eq(sum_of(data), 116);
	cr_assert_eq(json_integer_value(json_object_get(data, "samples")), 116);
	cr_assert_str_eq(json_string_value(json_object_get(data, "group")), "process");
	cr_assert_str_eq(json_string_value(json_object_get(data, "title")), "a <b> title");
	json_decref(data);
	free(text);
	o.outcomes = 1u << OUTCOME_EXACT;
	text = written(&p, &o);
	data = data_of(text);
	cr_assert_eq(sum_of(data), 96);
	json_decref(data);
	free(text);
	profile_release(&p);
}

/* Also where samples weigh more or less than a period, as in wall mode. */
Test(flamegraph, the_data_has_all_time)
{
	struct format_options o = {.outcomes = UINT32_MAX};
	json_int_t want = 0, sum = 0;
	const json_t *times;
	struct profile p;
	char *text;
	json_t *data;

	fakeprofile_wall(&p);
	for (size_t i = 0; i < p.n_samples; i++)
		want += (json_int_t)p.samples[i].weight;
	text = written(&p, &o);
	data = data_of(text);
	times = json_object_get(data, "times");
	for (size_t i = 0; i < json_array_size(times); i++)
		sum += number(times, i);
	cr_assert_eq(sum, want);
	json_decref(data);
	free(text);
	p.recording.clock = false;
	text = written(&p, &o);
	data = data_of(text);
	cr_assert_eq(json_array_size(json_object_get(data, "times")), 0);
	json_decref(data);
	free(text);
	profile_release(&p);
}

Test(flamegraph, is_one_page_whatever_the_names_are)
{
	struct profile p;
	struct format_options o = {.outcomes = UINT32_MAX};
	char *text;

	fakeprofile_small(&p); /* with </script> and U+2028 in its names */
	text = written(&p, &o);
	cr_assert_eq(occurrences(text, SCRIPT_END), 2);
	cr_assert_eq(occurrences(text, "\xe2\x80\xa8"), 0);
	cr_assert_eq(occurrences(text, "@DATA@"), 0);
	cr_assert_eq(occurrences(text, "@SCRIPT@"), 0);
	cr_assert_eq(occurrences(text, "://"), 0, "it names an address");
	cr_assert_eq(strncmp(text, "<!DOCTYPE html>", 15), 0);
	cr_assert_str_eq(text + strlen(text) - 8, "</html>\n");
	free(text);
	profile_release(&p);
}

Test(flamegraph, labels_are_functions_or_lines)
{
	struct profile p;
	struct format_options o = {.outcomes = UINT32_MAX};
	char *text;
	json_t *data;
	size_t functions;

	fakeprofile_small(&p);
	text = written(&p, &o);
	data = data_of(text);
	functions = json_array_size(json_object_get(data, "labels")) / 4;
	json_decref(data);
	free(text);
	o.lines = true;
	text = written(&p, &o);
	data = data_of(text);
	cr_assert_eq(json_array_size(json_object_get(data, "labels")) / 4, functions + 1);
	json_decref(data);
	free(text);
	profile_release(&p);
}

Test(flamegraph, at_random_and_empty)
{
	struct profile p;
	struct format_options o = {.outcomes = UINT32_MAX};
	char *text;
	json_t *data;

	fakeprofile_random(&p, &(struct fakeprofile_shape){.seed = 5,
							   .processes = 3,
							   .threads = 9,
							   .functions = 40,
							   .stacks = 500,
							   .depth = 60,
							   .samples = 20000});
	text = written(&p, &o);
	data = data_of(text);
	cr_assert_eq(sum_of(data), 20000);
	json_decref(data);
	free(text);
	profile_release(&p);
	fakeprofile_init(&p);
	text = written(&p, &o);
	data = data_of(text);
	cr_assert_eq(sum_of(data), 0);
	json_decref(data);
	free(text);
	profile_release(&p);
}

Test(flamegraph, a_full_disk_is_told)
{
	struct profile p;
	struct format_options o = {.outcomes = UINT32_MAX};
	FILE *f = fopen("/dev/full", "w");

	setvbuf(f, NULL, _IONBF, 0);
	fakeprofile_small(&p);
	cr_assert_lt(format_find("flamegraph")->write(f, &p, &o), 0);
	fclose(f);
	profile_release(&p);
}
