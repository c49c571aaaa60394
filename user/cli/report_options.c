/* The command line of scry report. */
#include <string.h>
#include "cli/report_options.h"

#define DEFAULT_ROWS 30
#define MAX_ROWS 1000000000

enum { KEY_SORT = 0x100, KEY_BY, KEY_COLOR, KEY_STATS };

static const struct argp_option options[] = {
	{"input", 'i', "FILE", 0, "The recording (scry.data); - is standard input", 1},
	{"rows", 'n', "ROWS", 0, "Rows to print (30); 0 is all", 1},
	{"sort", KEY_SORT, "COLUMN", 0, "By self (the default) or total", 1},
	{"by", KEY_BY, "WHAT", 0,
	 "A row for each function (the default), line, process, thread, state", 1},
	{"stats", KEY_STATS, NULL, 0, "What scry itself did, as record --stats counted it", 1},
	{"color", KEY_COLOR, "WHEN", 0,
	 "auto (the default: on a terminal, unless NO_COLOR is set), always, never", 1},
	{0},
};

void report_options_init(struct report_options *o)
{
	memset(o, 0, sizeof(*o));
	o->input = "scry.data";
	o->rows = DEFAULT_ROWS;
	o->by = AGGREGATE_FUNCTION;
	o->color = SCREEN_AUTO;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const columns[] = {"self", "total", NULL};
	static const char *const rows[] = {
		[AGGREGATE_FUNCTION] = "function", [AGGREGATE_LINE] = "line",
		[AGGREGATE_PROCESS] = "process",   [AGGREGATE_THREAD] = "thread",
		[AGGREGATE_STATE] = "state",	   NULL,
	};
	static const char *const colors[] = {
		[SCREEN_AUTO] = "auto", [SCREEN_ALWAYS] = "always", [SCREEN_NEVER] = "never", NULL};
	struct report_options *o = state->input;
	unsigned int choice = 0;
	error_t err;

	switch (key) {
	case 'i':
		return options_name(state, "-i", arg, &o->input);
	case 'n':
		return options_u64(state, "-n", arg, 0, MAX_ROWS, &o->rows);
	case KEY_SORT:
		err = options_choice(state, "--sort", arg, columns, &choice);
		o->by_total = choice == 1;
		return err;
	case KEY_BY:
		err = options_choice(state, "--by", arg, rows, &choice);
		o->by = (enum aggregate_by)choice;
		return err;
	case KEY_COLOR:
		err = options_choice(state, "--color", arg, colors, &choice);
		o->color = (enum screen_color)choice;
		return err;
	case KEY_STATS:
		o->stats = true;
		return 0;
	case ARGP_KEY_ARG:
		return options_error(state, "what is '%.64s'? A recording is given by -i", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp report_options_argp = {
	.options = options,
	.parser = parse,
	.doc = "Print what was recorded, and what took the time."
	       "\vself is the time in a function's own lines, total includes what it called. "
	       "Percentages are of all samples of the recording.",
};
