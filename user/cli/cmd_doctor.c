/* scry doctor: whether this machine lets `scry record -a` work, and what to do where it does not.
 */
#include <stdio.h>
#include "base/buf.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/status.h"
#include "collect/probe.h"

#define NAME_WIDTH 22

static void print(const struct probe *p, bool ok, const char *seen)
{
	printf("%-7s  %-*s  %s\n", ok ? "ok" : "missing", NAME_WIDTH, p->name, seen);
	if (ok)
		return;
	printf("%*s  costs: %s\n", NAME_WIDTH + 9, "", p->cost);
	printf("%*s  to do: %s\n", NAME_WIDTH + 9, "", p->cure);
}

static int run(const struct command *self, int argc, char **argv)
{
	unsigned int missing = 0, needed = 0, always = 0;
	struct buf seen;
	int status;

	if (!command_begin(self, argc, argv, NULL, &status))
		return status;
	buf_init(&seen);
	for (const struct probe *p = probe_list(); p->name; p++) {
		bool ok;

		buf_reset(&seen);
		ok = p->run(&seen);
		print(p, ok, seen.data ? seen.data : "");
		missing += !ok;
		needed += !ok && p->need != PROBE_BETTER;
		always += !ok && p->need == PROBE_ALWAYS;
	}
	buf_release(&seen);
	if (needed)
		printf("\nscry record -a will not work: %u of what it needs %s missing.\n%s",
		       needed, needed == 1 ? "is" : "are",
		       always ? "" : "scry record -a --no-bpf will, less exactly: see scry(1).\n");
	else
		printf("\nscry record -a will work%s.\n",
		       missing ? ", with what is missing above as its limits" : "");
	return needed ? STATUS_KERNEL : STATUS_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	return options_error(state, "unexpected argument '%.64s'", arg);
}

static const struct argp argp = {
	.parser = parse,
	.doc = "Tries everything that recording needs of this machine: kernel features, "
	       "capabilities, perf events, BPF, and the memory of other processes. Each line says "
	       "ok, or missing with what that costs and what to do. Exits 0 only if scry record -a "
	       "would work.",
};

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "Check that this machine can be profiled",
	.argp = &argp,
	.run = run,
};
