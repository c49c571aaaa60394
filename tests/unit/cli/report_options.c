/* Tests of cli/report_options.c and export_options.c. */
#include <criterion/criterion.h>
#include <string.h>
#include "cli/export_options.h"
#include "cli/report_options.h"

#define MAX_WORDS 16

static char words[1024], text[256];
static char *argv[MAX_WORDS + 1];

static enum options_action run(const struct argp *argp, const char *line, void *input)
{
	char *save = NULL;
	enum options_action action;
	struct buf b;
	int argc = 0;

	snprintf(words, sizeof(words), "x %s", line);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		cr_assert_lt(argc, MAX_WORDS);
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	buf_init(&b);
	action = options_parse(argp, argc, argv, input, &b);
	snprintf(text, sizeof(text), "%s", b.data ? b.data : "");
	buf_release(&b);
	return action;
}

static enum options_action report(const char *line, struct report_options *o)
{
	report_options_init(o);
	return run(&report_options_argp, line, o);
}

static enum options_action export_(const char *line, struct export_options *o)
{
	export_options_init(o);
	return run(&export_options_argp, line, o);
}

Test(report_options, good)
{
	struct report_options o;

	cr_expect_eq(report("", &o), OPTIONS_RUN);
	cr_expect_str_eq(o.input, "scry.data");
	cr_expect_eq(o.rows, 30);
	cr_expect_not(o.by_total);
	cr_expect_eq(o.by, AGGREGATE_FUNCTION);
	cr_expect_eq(o.color, SCREEN_AUTO);
	cr_expect_eq(report("-i x -n 0 --sort total --by thread --color=never", &o), OPTIONS_RUN);
	cr_expect_str_eq(o.input, "x");
	cr_expect_eq(o.rows, 0);
	cr_expect(o.by_total);
	cr_expect_eq(o.by, AGGREGATE_THREAD);
	cr_expect_eq(o.color, SCREEN_NEVER);
	cr_expect_not(o.stats);
	cr_expect_eq(report("--by state --stats", &o), OPTIONS_RUN);
	cr_expect_eq(o.by, AGGREGATE_STATE);
	cr_expect(o.stats);
}

Test(report_options, errors)
{
	static const char *const cases[][2] = {
		{"x.data", "what is 'x.data'? A recording is given by -i"},
		{"-- x.data", "what is 'x.data'? A recording is given by -i"},
		{"-n x", "-n 'x' is not a number from 0 to 1000000000"},
		{"--sort time", "--sort 'time' is not self or total"},
		{"--by file", "--by 'file' is not function, line, process, thread or state"},
		{"--color on", "--color 'on' is not auto, always or never"},
		{"--input=", "-i needs a name, not an empty one"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report_options o;

		cr_expect_eq(report(cases[i][0], &o), OPTIONS_ERROR, "%s", cases[i][0]);
		cr_expect_str_eq(text, cases[i][1]);
	}
}

Test(export_options, good)
{
	struct export_options o;

	cr_expect_eq(export_("-f folded", &o), OPTIONS_RUN);
	cr_expect_str_eq(o.format, "folded");
	cr_expect_str_eq(o.input, "scry.data");
	cr_expect_null(o.output);
	cr_expect_eq(o.how.outcomes, (1u << OUTCOME_MAX) - 1);
	cr_expect_eq(o.how.group, AGGREGATE_NONE);
	cr_expect_not(o.how.lines);
	cr_expect_eq(export_("-f x -o - --group process --lines --outcome cut,missed,cut", &o),
		     OPTIONS_RUN);
	cr_expect_str_eq(o.output, "-");
	cr_expect_eq(o.how.outcomes, 1u << OUTCOME_CUT | 1u << OUTCOME_MISSED);
	cr_expect_eq(o.how.group, AGGREGATE_PER_PROCESS);
	cr_expect(o.how.lines);
	cr_expect_eq(o.states, (1u << RUN_MAX) - 1);
	cr_expect_eq(export_("-f folded --state sleeping,gil_wait", &o), OPTIONS_RUN);
	cr_expect_eq(o.states, 1u << RUN_SLEEPING | 1u << RUN_GIL);
}

Test(export_options, errors)
{
	static const char *const cases[][2] = {
		{"", "-f is missing: folded, flamegraph or pprof"},
		{"-f folded x", "what is 'x'? A recording is given by -i"},
		{"-f folded --group pid", "--group 'pid' is not none, process or thread"},
		{"-f folded --outcome best", "--outcome 'best' is not one of the outcomes"},
		{"-f folded --state asleep", "--state 'asleep' is not one of the states"},
		{"-f folded --outcome cut,", "--outcome '' is not one of the outcomes"},
		{"-f folded --outcome exactexactexactexactexactexactexactexact",
		 "--outcome 'exactexactexactexactexactexactexactexact' is not one of the outcomes"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct export_options o;
		size_t same = strcspn(cases[i][1], "'") + 8;

		cr_expect_eq(export_(cases[i][0], &o), OPTIONS_ERROR, "%s", cases[i][0]);
		/* long words are cut */
		cr_expect_eq(strncmp(text, cases[i][1], MIN(same, strlen(cases[i][1]))), 0, "%s",
			     text);
	}
}
