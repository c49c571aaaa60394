/* The command line of scry export. */
#include <string.h>
#include "cli/export_options.h"

#define ALL_OUTCOMES ((1u << OUTCOME_MAX) - 1)
#define ALL_STATES ((1u << RUN_MAX) - 1)

enum { KEY_GROUP = 0x100, KEY_LINES, KEY_OUTCOME, KEY_STATE };

static const struct argp_option options[] = {
	{"format", 'f', "FORMAT", 0, "folded, flamegraph or pprof", 1},
	{"input", 'i', "FILE", 0, "The recording (scry.data); - is standard input", 1},
	{"output", 'o', "FILE", 0,
	 "flamegraph.html, profile.pb.gz, or standard output for folded; - is standard output", 1},
	{"group", KEY_GROUP, "WHAT", 0,
	 "Keep apart by process or thread; none (the default) adds all up", 1},
	{"lines", KEY_LINES, NULL, 0, "Frames carry the line being executed", 1},
	{"outcome", KEY_OUTCOME, "NAME,...", 0,
	 "Only samples of these: exact, joined, read, cut, unproven, gone, native, missed", 1},
	{"state", KEY_STATE, "NAME,...", 0,
	 "Only samples of threads that were: on_cpu, runnable, sleeping, gil_wait, gc, blocked, "
	 "stopped, unknown",
	 1},
	{0},
};

void export_options_init(struct export_options *o)
{
	memset(o, 0, sizeof(*o));
	o->input = "scry.data";
	o->how.group = AGGREGATE_NONE;
	o->how.outcomes = ALL_OUTCOMES;
	o->states = ALL_STATES;
}

static int outcome_bit(const char *word)
{
	enum outcome o;

	return outcome_parse(word, &o) ? -1 : (int)o;
}

static int state_bit(const char *word)
{
	enum run_state s;

	return run_state_parse(word, &s) ? -1 : (int)s;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const groups[] = {
		[AGGREGATE_NONE] = "none",
		[AGGREGATE_PER_PROCESS] = "process",
		[AGGREGATE_PER_THREAD] = "thread",
		NULL,
	};
	struct export_options *o = state->input;
	unsigned int choice = 0;
	error_t err;

	switch (key) {
	case 'f':
		return options_name(state, "-f", arg, &o->format);
	case 'i':
		return options_name(state, "-i", arg, &o->input);
	case 'o':
		return options_name(state, "-o", arg, &o->output);
	case KEY_GROUP:
		err = options_choice(state, "--group", arg, groups, &choice);
		o->how.group = (enum aggregate_group)choice;
		return err;
	case KEY_LINES:
		o->how.lines = true;
		return 0;
	case KEY_OUTCOME:
		return options_mask(state, "--outcome", arg, "outcomes", outcome_bit,
				    &o->how.outcomes);
	case KEY_STATE:
		return options_mask(state, "--state", arg, "states", state_bit, &o->states);
	case ARGP_KEY_ARG:
		return options_error(state, "what is '%.64s'? A recording is given by -i", arg);
	case ARGP_KEY_SUCCESS:
		if (!o->format)
			return options_error(state, "-f is missing: folded, flamegraph or pprof");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp export_options_argp = {
	.options = options,
	.parser = parse,
	.doc = "Turn a recording into something that other tools read."
	       "\vfolded      a line per stack, root first, and how many samples it had\n"
	       "flamegraph  one HTML file that any browser opens, without a network\n"
	       "pprof       a gzipped profile for go tool pprof and what speaks its format",
};
