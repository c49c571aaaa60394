/* Tests of cli/options.c. */
#include <criterion/criterion.h>
#include <string.h>
#include "cli/options.h"

struct input {
	uint64_t n;
	bool flag;
	int args;
};

static const struct argp_option some[] = {
	{"number", 'n', "N", 0, "", 0},	    {"flag", 'f', NULL, 0, "", 0},
	{"wait", 'w', "S", 0, "", 0},	    {"warn", 'W', NULL, 0, "", 0},
	{"key-only", 0x100, "X", 0, "", 0}, {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case 'n':
		return options_u64(state, "-n", arg, 2, 9, &in->n);
	case 'f':
	case 'W':
	case 'w':
	case 0x100:
		in->flag = true;
		return 0;
	case ARGP_KEY_ARG:
		in->args++;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {.options = some, .parser = parse};

#define MAX_WORDS 16

/* The words of a line parsed; its error text in `text`. */
static enum options_action run(const char *line, struct input *in, char *text, size_t size)
{
	char copy[256], name[] = "test", *argv[MAX_WORDS + 1] = {name}, *save = NULL;
	enum options_action action;
	struct buf b;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		cr_assert_lt(argc, MAX_WORDS);
		argv[argc++] = w;
	}
	memset(in, 0, sizeof(*in));
	buf_init(&b);
	action = options_parse(&argp, argc, argv, in, &b);
	snprintf(text, size, "%s", b.data ? b.data : "");
	buf_release(&b);
	return action;
}

Test(options, good)
{
	struct input in;
	char text[256];

	cr_expect_eq(run("", &in, text, sizeof(text)), OPTIONS_RUN);
	cr_expect_eq(run("-n 5 -f", &in, text, sizeof(text)), OPTIONS_RUN);
	cr_expect_eq(in.n, 5);
	cr_expect(in.flag);
	cr_expect_eq(run("-fn7 x y", &in, text, sizeof(text)), OPTIONS_RUN);
	cr_expect_eq(in.n, 7);
	cr_expect_eq(in.args, 2);
	cr_expect_eq(run("--num=3", &in, text, sizeof(text)), OPTIONS_RUN);
	cr_expect_eq(in.n, 3);
	cr_expect_str_empty(text);
}

Test(options, help_and_version)
{
	struct input in;
	char text[256];

	cr_expect_eq(run("-h", &in, text, sizeof(text)), OPTIONS_HELP);
	cr_expect_eq(run("-n 5 --help --nonsense", &in, text, sizeof(text)), OPTIONS_HELP);
	cr_expect_eq(run("--version", &in, text, sizeof(text)), OPTIONS_VERSION);
	cr_expect_eq(run("-fV", &in, text, sizeof(text)), OPTIONS_VERSION);
	cr_expect_str_empty(text);
}

Test(options, errors)
{
	static const struct {
		const char *line, *text;
	} cases[] = {
		{"--nonsense", "unknown option --nonsense"},
		{"--nonsense=3", "unknown option --nonsense=3"},
		{"-x", "unknown option -x"},
		{"-fx", "unknown option -x"},
		{"-fxf", "unknown option -x"},
		{"-n 5 -x", "unknown option -x"},
		{"-n", "option -n needs a value"},
		{"-fn", "option -n needs a value"},
		{"--number", "option --number needs a value"},
		{"--key", "option --key-only needs a value"},
		{"--flag=1", "option --flag takes no value"},
		{"--help=1", "option --help takes no value"},
		{"--wa 1", "option --wa could mean several"},
		{"-n 1", "-n '1' is not a number from 2 to 9"},
		{"-n 10", "-n '10' is not a number from 2 to 9"},
		{"-n -3", "-n '-3' is not a number from 2 to 9"},
		{"-n 3x", "-n '3x' is not a number from 2 to 9"},
		{"-n 99999999999999999999999", "-n '99999999999999999999999' is not a number from "
					       "2 to 9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct input in;
		char text[256];

		cr_expect_eq(run(cases[i].line, &in, text, sizeof(text)), OPTIONS_ERROR, "%s",
			     cases[i].line);
		cr_expect_str_eq(text, cases[i].text, "%s: %s", cases[i].line, text);
	}
}

Test(options, long_word_is_cut)
{
	char line[250], text[256];
	struct input in;

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	line[0] = line[1] = '-';
	cr_expect_eq(run(line, &in, text, sizeof(text)), OPTIONS_ERROR);
	cr_expect_lt(strlen(text), 100);
}
