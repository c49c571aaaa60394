/* Tests of output/dump.c. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include "output/dump.h"
#include "tests/support/fakeprofile.h"
#include "tests/support/golden.h"

/* Names of every kind, all outcomes; states as they come. */
static void fill(struct moment *m)
{
	struct profile p;

	fakeprofile_small(&p);
	p.processes[1].ppid = p.processes[0].pid;
	p.threads[0].python = p.threads[0].name;
	p.threads[1].python = fakeprofile_string(&p, "a n\303\244me\033 of \"its\" own");
	for (size_t i = 0; i < p.n_samples; i++) {
		p.samples[i].state = (enum run_state)(p.samples[i].thread % 2 ? RUN_GIL : RUN_GC);
		p.samples[i].holds_gil = p.samples[i].thread == 0;
	}
	cr_assert_eq(moment_init(m), 0);
	cr_assert_eq(fakeprofile_replay(&p, moment_sink(m), true), 0);
	cr_assert_eq(moment_note(m, 0, 4720, "no Python", 'S'), 0);
	cr_assert_eq(moment_refuse(m, 4799, "its memory may not be read"), 0);
	m->processes[2].info.start_boottime = UINT64_MAX;
	moment_sort(m);
	profile_release(&p);
}

static char *write(void (*dump)(FILE *f, const struct moment *m), const struct moment *m, size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);

	dump(f, m);
	cr_assert_eq(fclose(f), 0);
	return text;
}

Test(dump, golden)
{
	struct moment m;
	size_t n;
	char *text;

	fill(&m);
	text = write(dump_text, &m, &n);
	golden_check("dump.txt", text, n);
	free(text);
	text = write(dump_json, &m, &n);
	golden_check("dump.json", text, n);
	free(text);
	moment_release(&m);
}

Test(dump, json_is_json)
{
	json_t *root, *frames;
	struct moment m;
	size_t n;
	char *text;

	fill(&m);
	text = write(dump_json, &m, &n);
	root = json_loadb(text, n, 0, NULL);
	cr_assert_not_null(root);
	cr_assert_eq(json_array_size(json_object_get(root, "processes")), 3);
	frames = json_object_get(
		json_array_get(
			json_object_get(json_array_get(json_object_get(root, "processes"), 0),
					"threads"),
			0),
		"frames");
	cr_assert_gt(json_array_size(frames), 1);
	cr_assert_str_eq(json_string_value(json_object_get(
				 json_array_get(frames, json_array_size(frames) - 1), "function")),
			 "<module>");
	json_decref(root);
	free(text);
	moment_release(&m);
}

Test(dump, nothing_of_a_target_steers_a_terminal)
{
	struct moment m;
	size_t n;
	char *text;

	fill(&m);
	text = write(dump_text, &m, &n);
	for (size_t i = 0; i < n; i++)
		cr_assert((unsigned char)text[i] >= ' ' || text[i] == '\n');
	free(text);
	moment_release(&m);
}
