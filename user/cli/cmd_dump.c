/* scry dump: what each thread of a process does now. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "base/plain.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/status.h"
#include "collect/look.h"
#include "output/dump.h"

#define KEY_CHILDREN 256

struct dump_options {
	pid_t pids[SESSION_MAX_PIDS];
	struct look_options look; /* pids are those above */
	bool json;
	enum status refused; /* the first one of pids that can't be looked at; STATUS_OK: none */
};

static void say(const char *text, size_t len)
{
	struct buf safe;

	if (!len)
		return;
	buf_init(&safe);
	plain_put(&safe, text, len);
	fprintf(stderr, "scry dump: %s\n", safe.data ? safe.data : "not enough memory");
	buf_release(&safe);
}

static void on_refused(enum session_error e, const char *why, void *arg)
{
	struct dump_options *o = arg;

	say(why, strlen(why));
	if (o->refused == STATUS_OK)
		o->refused = status_of_session(e);
}

static enum status dump(const struct dump_options *o)
{
	enum session_error e = SESSION_INTERNAL;
	struct moment m;
	struct buf text;

	buf_init(&text);
	if (moment_init(&m))
		buf_puts(&text, "not enough memory");
	else
		e = look_take(&o->look, &m, &text);
	say(text.data, text.len);
	if (!e && !m.n) {
		fprintf(stderr, "scry dump: nothing of it could be seen before it ended\n");
		e = SESSION_NO_PROCESS;
	}
	if (!e && o->json)
		dump_json(stdout, &m);
	else if (!e)
		dump_text(stdout, &m);
	moment_release(&m);
	buf_release(&text);
	return e ? status_of_session(e) : o->refused; /* main() says what can't be written */
}

static int run(const struct command *self, int argc, char **argv)
{
	struct dump_options o;
	int status;

	memset(&o, 0, sizeof(o));
	o.look.pids = o.pids;
	o.look.refused = on_refused;
	o.look.refused_arg = &o;
	if (command_begin(self, argc, argv, &o, &status))
		status = dump(&o);
	return status;
}

static error_t add_pid(struct dump_options *o, const char *arg, struct argp_state *state)
{
	uint64_t pid;

	if (num_u64(arg, 1, INT_MAX, &pid))
		return options_error(state, "'%.64s' is not a process id", arg);
	if (o->look.n_pids == SESSION_MAX_PIDS)
		return options_error(state, "more than %d processes", SESSION_MAX_PIDS);
	o->pids[o->look.n_pids++] = (pid_t)pid;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct dump_options *o = state->input;

	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case KEY_CHILDREN:
		o->look.children = true;
		return 0;
	case ARGP_KEY_ARG:
		return add_pid(o, arg, state);
	case ARGP_KEY_SUCCESS:
		return o->look.n_pids ? 0 : options_error(state, "which process? Give its id");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options_of[] = {
	{"children", KEY_CHILDREN, NULL, 0, "The processes that it has started, too", 0},
	{"json", 'j', NULL, 0, "Print one JSON object", 0},
	{0},
};

static const struct argp argp = {
	.options = options_of,
	.parser = parse,
	.args_doc = "PID...",
	.doc = "Shows what every thread of a Python process does now: its name and state, whether "
	       "it has the GIL or waits for it, and its stack, innermost function first. The "
	       "process is not stopped; one that is, or that hangs, can be looked at as well."
	       "\vA stack is shown as it was at one moment: of a thread that runs it is taken in a "
	       "tick of the clock, of others it is read while they stand still. Where neither can "
	       "be proven the thread is marked \"unproven\".",
};

const struct command cmd_dump = {
	.name = "dump",
	.summary = "Show what every thread of a process does now",
	.argp = &argp,
	.run = run,
};
