/* Tests of output/folded.c and format.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "tests/support/fakeprofile.h"
#include "tests/support/golden.h"

static void check(const struct profile *p, struct format_options o, const char *golden)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	cr_assert_eq(format_find("folded")->write(f, p, &o), 0);
	fclose(f);
	golden_check(golden, text, n);
	free(text);
}

Test(folded, golden)
{
	struct profile p;

	fakeprofile_small(&p);
	check(&p, (struct format_options){.outcomes = UINT32_MAX}, "small.folded");
	check(&p,
	      (struct format_options){
		      .outcomes = UINT32_MAX, .lines = true, .group = AGGREGATE_PER_THREAD},
	      "small.thread.lines.folded");
	check(&p,
	      (struct format_options){.outcomes = 1u << OUTCOME_CUT | 1u << OUTCOME_READ,
				      .group = AGGREGATE_PER_PROCESS},
	      "small.process.cut.folded");
	profile_release(&p);
}

Test(folded, the_same_in_two_processes_is_one_line_without_group)
{
	struct profile p;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	uint32_t frame, stack;

	fakeprofile_init(&p);
	frame = fakeprofile_frame(&p, "f", "x.py", 1, 1);
	stack = fakeprofile_stack(&p, &frame, 1);
	frame = fakeprofile_frame(&p, "f", "x.py", 2, 1);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread = fakeprofile_thread(&p, fakeprofile_process(&p, 7, "a"), 7, "t");

		fakeprofile_samples(&p, thread, stack, OUTCOME_EXACT, 1, 3);
		stack = fakeprofile_stack(&p, &frame, 1);
	}
	cr_assert_eq(format_find("folded")->write(f, &p,
						  &(struct format_options){.outcomes = UINT32_MAX}),
		     0);
	/* an exec'd process is another one with the same comm and pid: the same text, one line */
	cr_assert_eq(format_find("folded")->write(
			     f, &p,
			     &(struct format_options){.outcomes = UINT32_MAX,
						      .group = AGGREGATE_PER_PROCESS}),
		     0);
	fclose(f);
	cr_assert_str_eq(text, "f (x.py) 6\na[7];f (x.py) 6\n");
	free(text);
	profile_release(&p);
}

Test(folded, nothing_is_nothing)
{
	struct profile p;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fakeprofile_init(&p);
	cr_assert_eq(format_find("folded")->write(f, &p,
						  &(struct format_options){.outcomes = UINT32_MAX}),
		     0);
	fclose(f);
	cr_assert_eq(n, 0);
	free(text);
	profile_release(&p);
}

Test(folded, a_full_disk_is_told)
{
	struct profile p;
	FILE *f = fopen("/dev/full", "w");

	setvbuf(f, NULL, _IONBF, 0);
	fakeprofile_small(&p);
	cr_assert_lt(format_find("folded")->write(f, &p,
						  &(struct format_options){.outcomes = UINT32_MAX}),
		     0);
	fclose(f);
	profile_release(&p);
}

Test(folded, is_the_same_sum_as_the_profile_at_random)
{
	struct profile p;
	char *text = NULL, *at;
	size_t n = 0;
	uint64_t sum = 0;
	FILE *f = open_memstream(&text, &n);

	fakeprofile_random(&p, &(struct fakeprofile_shape){.seed = 5,
							   .processes = 3,
							   .threads = 9,
							   .functions = 40,
							   .stacks = 500,
							   .depth = 60,
							   .samples = 20000});
	cr_assert_eq(format_find("folded")->write(
			     f, &p,
			     &(struct format_options){.outcomes = UINT32_MAX,
						      .group = AGGREGATE_PER_THREAD}),
		     0);
	fclose(f);
	for (char *line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at))
		sum += strtoull(strrchr(line, ' '), NULL, 10);
	cr_assert_eq(sum, 20000);
	free(text);
	profile_release(&p);
}

Test(format, unknown_names_are_not_found)
{
	size_t n;

	cr_assert_null(format_find("svg"));
	cr_assert_null(format_find(""));
	cr_assert_str_eq(format_all(&n)[0].name, "folded");
}
