/* The command line of scry record. */
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/num.h"
#include "cli/record_options.h"
#include "collect/perf.h"
#include "collect/threadname.h"

#define DEFAULT_HZ 99
#define MAX_HZ 100000
#define MAX_COUNT 1000000000000000ULL /* 11 days of a clock's nanoseconds */
#define MIN_CLOCK_COUNT 10000	      /* the kernel's shortest interval of a clock, ns */
#define MAX_PID 4194304		      /* PID_MAX_LIMIT of a 64-bit kernel */
#define MAX_SECONDS 31536000
#define MAX_EVENT 63

enum {
	KEY_SEED = 0x100,
	KEY_FRAMES,
	KEY_NO_INHERIT,
	KEY_WAIT,
	KEY_AS_ROOT,
	KEY_SUMMARY,
	KEY_STATS,
	KEY_MODE,
	KEY_IDLE,
	KEY_THREADS,
	KEY_NO_BPF,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to record:", 1},
	{"all", 'a', NULL, 0, "Every Python process of the machine (the default)", 1},
	{"pid", 'p', "PID[,PID...]", 0, "These processes and those they start", 1},
	{"no-inherit", KEY_NO_INHERIT, NULL, 0, "Not the processes that they start", 1},
	{"wait", KEY_WAIT, "SECONDS", 0, "Wait so long for a PID of -p to become Python", 1},
	{"as-root", KEY_AS_ROOT, NULL, 0,
	 "Run COMMAND as root; else it runs as the user who called sudo", 1},
	{"threads", KEY_THREADS, "REGEX", 0,
	 "Only threads whose name, the kernel's or Python's, matches", 1},

	{NULL, 0, NULL, 0, "When to take a sample:", 2},
	{"mode", KEY_MODE, "MODE", 0,
	 "cpu (the default): time on a CPU; wall: elapsed time of every thread, waiting included; "
	 "gil: elapsed time of the thread that holds the GIL",
	 2},
	{"exclude-idle", KEY_IDLE, NULL, 0,
	 "In wall mode, no samples of threads that neither run nor wait for a CPU or the GIL", 2},
	{"freq", 'F', "HZ", 0, "So many times a second on each CPU (99)", 2},
	{"count", 'c', "COUNT", 0, "Every COUNT events; of a clock, nanoseconds", 2},
	{"event", 'e', "EVENT", 0,
	 "cpu-clock (the default), task-clock, cycles, instructions, cache-misses, page-faults, "
	 "context-switches",
	 2},
	{"no-bpf", KEY_NO_BPF, NULL, 0,
	 "Where BPF is forbidden: by a timer and /proc; what runs is read while it runs, which "
	 "can't "
	 "be proven",
	 2},
	{"duration", 'd', "SECONDS", 0, "Stop after so long; else at Ctrl-C", 2},
	{"max-frames", KEY_FRAMES, "N", 0, "Frames outside of a stack's own memory (256)", 2},
	{"seed", KEY_SEED, "WHAT", 0,
	 "What the tick takes: stack (the default), leaf, tstate; the last two are for comparison",
	 2},

	{NULL, 0, NULL, 0, "Where to write:", 3},
	{"output", 'o', "FILE", 0,
	 "The recording (scry.data; one that exists becomes FILE.old); - is standard output", 3},
	{"summary", KEY_SUMMARY, "FILE", 0, "The counts of the end as a JSON object, too", 3},
	{"stats", KEY_STATS, NULL, 0,
	 "Count what scry itself does, by process: at the end, and in the recording", 3},
	{"quiet", 'q', NULL, 0, "Say nothing but errors", 3},
	{"verbose", 'v', NULL, 0, "Say what scry does; -vv more", 3},
	{0},
};

void record_options_init(struct record_options *o)
{
	memset(o, 0, sizeof(*o));
	o->output = "scry.data";
	o->session.pids = o->pids;
	o->session.inherit = true;
	o->session.event = PERF_EVENT_DEFAULT;
	o->session.freq = true;
	o->session.rate = DEFAULT_HZ;
	o->session.max_frames = SESSION_FRAMES;
	o->session.without_bpf = "--no-bpf records without, but less exactly";
}

static error_t add_pid(struct record_options *o, const char *word, struct argp_state *state)
{
	uint64_t pid;
	error_t err = options_u64(state, "-p", word, 1, MAX_PID, &pid);

	if (err)
		return err;
	for (size_t i = 0; i < o->session.n_pids; i++)
		if (o->pids[i] == (pid_t)pid)
			return 0;
	if (o->session.n_pids == SESSION_MAX_PIDS)
		return options_error(state, "-p takes at most %d processes", SESSION_MAX_PIDS);
	o->pids[o->session.n_pids++] = (pid_t)pid;
	return 0;
}

static error_t add_pids(struct record_options *o, const char *list, struct argp_state *state)
{
	error_t err = 0;

	for (const char *at = list; !err; at++) {
		char word[32];
		size_t len = strcspn(at, ",");
		size_t keep = MIN(len, sizeof(word) - 1);

		memcpy(word, at, keep);
		word[keep] = '\0';
		err = add_pid(o, word, state);
		at += len;
		if (!*at)
			break;
	}
	return err;
}

static error_t set_seconds(const char *option, const char *arg, uint64_t *ret,
			   struct argp_state *state)
{
	if (num_seconds(arg, MAX_SECONDS * NSEC_PER_SEC, ret) == 0 && *ret >= NSEC_PER_MSEC)
		return 0;
	return options_error(state, "%s '%.64s' is not a number of seconds from 0.001 to %d",
			     option, arg, MAX_SECONDS);
}

static error_t set_seed(struct record_options *o, const char *arg, struct argp_state *state)
{
	static const char *const names[] = {
		[SESSION_SEED_STACK] = "stack",
		[SESSION_SEED_LEAF] = "leaf",
		[SESSION_SEED_TSTATE] = "tstate",
		NULL,
	};
	unsigned int choice = 0;
	error_t err = options_choice(state, "--seed", arg, names, &choice);

	o->session.seed = (enum session_seed)choice;
	o->has_seed = true;
	return err;
}

static error_t set_mode(struct record_options *o, const char *arg, struct argp_state *state)
{
	static const char *const names[] = {
		[SESSION_MODE_CPU] = "cpu",
		[SESSION_MODE_WALL] = "wall",
		[SESSION_MODE_GIL] = "gil",
		NULL,
	};
	unsigned int choice = 0;
	error_t err = options_choice(state, "--mode", arg, names, &choice);

	o->session.mode = (enum session_mode)choice;
	return err;
}

static error_t set_threads(struct record_options *o, const char *arg, struct argp_state *state)
{
	struct threadname *n;
	struct buf why;
	error_t err = 0;

	buf_init(&why);
	if (threadname_new(arg, &n, &why))
		err = options_error(state, "--threads '%.64s' is not a regular expression: %s", arg,
				    why.data ? why.data : "not enough memory");
	else
		threadname_free(n);
	buf_release(&why);
	o->session.threads = arg;
	return err;
}

static error_t set_event(struct record_options *o, const char *arg, struct argp_state *state)
{
	if (strlen(arg) > MAX_EVENT)
		return options_error(state, "-e '%.64s...' is longer than %d characters", arg,
				     MAX_EVENT);
	return options_name(state, "-e", arg, &o->session.event);
}

static error_t set_command(struct record_options *o, struct argp_state *state)
{
	int first = state->next - 1;

	if (!state->quoted)
		return options_error(state,
				     "what is '%.64s'? A command to run comes after --, "
				     "a process is given by -p",
				     state->argv[first]);
	o->command = &state->argv[first];
	state->next = state->argc;
	return 0;
}

/* What can't be said together, or means nothing without another: the first that is wrong. */
static const char *contradiction(const struct record_options *o)
{
	const struct session_options *s = &o->session;
	bool pids = s->n_pids > 0;
	const struct {
		bool wrong;
		const char *text;
	} rules[] = {
		{o->all + pids + !!o->command > 1, "-a, -p and -- COMMAND exclude each other"},
		{o->has_freq && o->has_count, "-F and -c exclude each other"},
		{o->quiet && o->verbose, "-q and -v exclude each other"},
		{!s->inherit && !pids && !o->command, "--no-inherit needs -p or -- COMMAND"},
		{s->wait_ns && !pids, "--wait needs -p"},
		{o->as_root && !o->command, "--as-root needs -- COMMAND"},
		{s->exclude_idle && s->mode != SESSION_MODE_WALL,
		 "--exclude-idle needs --mode wall"},
		{o->has_seed && s->no_bpf, "--seed does not go with --no-bpf"},
		{o->has_seed && s->mode != SESSION_MODE_CPU, "--seed belongs to --mode cpu"},
		{o->has_frames && s->no_bpf, "--max-frames does not go with --no-bpf"},
		{o->has_frames && s->seed != SESSION_SEED_STACK, "--max-frames needs --seed stack"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].wrong)
			return rules[i].text;
	return NULL;
}

/* What needs a clock, and a timer of its own, can't be had of other events. */
static error_t check_timer(const struct record_options *o, struct argp_state *state)
{
	const struct session_options *s = &o->session;
	const char *what = s->no_bpf			 ? "--no-bpf"
			   : s->mode == SESSION_MODE_GIL ? "--mode gil"
							 : "--mode wall";

	if (s->mode == SESSION_MODE_CPU && !s->no_bpf)
		return 0;
	if (!perf_is_clock(s->event))
		return options_error(state, "%s counts time, -e %.64s does not: leave it out", what,
				     s->event);
	if (o->has_count)
		return options_error(state, "%s takes a rate (-F), not -c", what);
	return 0;
}

/* Once all is known. */
static error_t check(const struct record_options *o, struct argp_state *state)
{
	const struct session_options *s = &o->session;
	const char *wrong = contradiction(o);

	if (state->quoted && !o->command)
		return options_error(state, "-- needs a command after it");
	if (wrong)
		return options_error(state, "%s", wrong);
	if (o->has_count && perf_is_clock(s->event) && s->rate < MIN_CLOCK_COUNT)
		return options_error(state, "-c %llu is too short for %s: %d to %llu nanoseconds",
				     (unsigned long long)s->rate, s->event, MIN_CLOCK_COUNT,
				     MAX_COUNT);
	if (o->summary && strcmp(o->summary, o->output) == 0)
		return options_error(state, "-o and --summary can't both be '%.64s'", o->output);
	return check_timer(o, state);
}

static error_t parse_what(int key, char *arg, struct record_options *o, struct argp_state *state)
{
	switch (key) {
	case 'a':
		o->all = true;
		return 0;
	case 'p':
		return add_pids(o, arg, state);
	case KEY_NO_INHERIT:
		o->session.inherit = false;
		return 0;
	case KEY_THREADS:
		return set_threads(o, arg, state);
	case KEY_IDLE:
		o->session.exclude_idle = true;
		return 0;
	case KEY_NO_BPF:
		o->session.no_bpf = true;
		return 0;
	case KEY_WAIT:
		return set_seconds("--wait", arg, &o->session.wait_ns, state);
	case KEY_AS_ROOT:
		o->as_root = true;
		return 0;
	case KEY_STATS:
		o->session.stats = true;
		return 0;
	case 'o':
		return options_name(state, "-o", arg, &o->output);
	case KEY_SUMMARY:
		return options_name(state, "--summary", arg, &o->summary);
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;
	uint64_t frames;
	error_t err;

	switch (key) {
	case 'F':
		o->has_freq = o->session.freq = true;
		return options_u64(state, "-F", arg, 1, MAX_HZ, &o->session.rate);
	case 'c':
		o->has_count = true;
		o->session.freq = false;
		return options_u64(state, "-c", arg, 1, MAX_COUNT, &o->session.rate);
	case 'e':
		return set_event(o, arg, state);
	case 'd':
		return set_seconds("-d", arg, &o->session.duration_ns, state);
	case KEY_FRAMES:
		o->has_frames = true;
		err = options_u64(state, "--max-frames", arg, 1, SESSION_MAX_FRAMES, &frames);
		if (!err)
			o->session.max_frames = (uint32_t)frames;
		return err;
	case KEY_SEED:
		return set_seed(o, arg, state);
	case KEY_MODE:
		return set_mode(o, arg, state);
	case ARGP_KEY_ARG:
		return set_command(o, state);
	case ARGP_KEY_SUCCESS:
		return check(o, state);
	default:
		return parse_what(key, arg, o, state);
	}
}

const struct argp record_options_argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[-- COMMAND...]",
	.doc = "Record where Python processes spend their time, until Ctrl-C, or -d, or the end of "
	       "COMMAND."
	       "\vWithout -a, -p or -- it is the whole machine. COMMAND has its input, terminal "
	       "and signals as if it ran alone, and scry exits with its status.\n\n"
	       "  scry record -d 10 && scry report\n"
	       "  scry record -p 4711 -F 999 -o slow.data\n"
	       "  scry record -- python3 -m http.server",
};
