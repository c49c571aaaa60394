/* The start of every command: its command line, or help, the version, an error. */
#include <stdio.h>
#include <stdlib.h>
#include "cli/command.h"
#include "cli/options.h"
#include "cli/status.h"

static void print_help(const struct command *c)
{
	const struct argp_child children[] = {{c->argp, 0, NULL, 0}, {0}};
	const struct argp all = {.options = options_common, .children = children};
	char name[64];

	/* argp's note on arguments says what nobody asked */
	setenv("ARGP_HELP_FMT", "rmargin=79,no-dup-args-note", 0);
	snprintf(name, sizeof(name), "scry %s", c->name);
	argp_help(&all, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}

bool command_begin(const struct command *c, int argc, char **argv, void *input, int *ret_status)
{
	struct buf text;
	enum options_action action;

	buf_init(&text);
	action = options_parse(c->argp, argc, argv, input, &text);
	switch (action) {
	case OPTIONS_RUN:
		break;
	case OPTIONS_HELP:
		print_help(c);
		break;
	case OPTIONS_VERSION:
		printf("scry %s\n", SCRY_VERSION);
		break;
	case OPTIONS_ERROR:
		fprintf(stderr, "scry %s: %s (scry %s --help explains)\n", c->name,
			text.data ? text.data : "out of memory", c->name);
		break;
	}
	*ret_status = action == OPTIONS_ERROR ? STATUS_USAGE : STATUS_OK;
	buf_release(&text);
	return action == OPTIONS_RUN;
}
