/* The command line of scry record. */
#ifndef SCRY_CLI_RECORD_OPTIONS_H
#define SCRY_CLI_RECORD_OPTIONS_H

#include "cli/options.h"
#include "collect/session.h"

struct record_options {
	struct session_options session; /* all but launched and command; pids point to `pids` */
	pid_t pids[SESSION_MAX_PIDS];
	char **command;	     /* of -- COMMAND, NULL-terminated, inside argv; NULL: none */
	const char *output;  /* "-": standard output */
	const char *summary; /* NULL: none */
	bool as_root, quiet;
	int verbose; /* how many -v */
	/* what was said, for what can't be said together */
	bool all, has_freq, has_count, has_seed, has_frames;
};

/* The parser's input is a struct record_options that record_options_init() has filled. */
extern const struct argp record_options_argp;

void record_options_init(struct record_options *o);

#endif
