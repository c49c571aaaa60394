/* A command of scry: what main.c's table holds. */
#ifndef SCRY_CLI_COMMAND_H
#define SCRY_CLI_COMMAND_H

#include <stdbool.h>

struct argp;

struct command {
	const char *name;
	const char *summary;	 /* one line for the list of commands */
	const struct argp *argp; /* options (without -h and -V, which options.h adds) and help */
	/* argv[0] is its name. Begins with command_begin(); returns scry's exit status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command cmd_record;
extern const struct command cmd_report;
extern const struct command cmd_export;
extern const struct command cmd_dump;
extern const struct command cmd_ps;
extern const struct command cmd_doctor;

/*
 * Parses by the command's argp, whose parser gets `input`. True when the command is to run; else
 * help, version or an error has been printed and *ret_status is scry's exit status.
 */
bool command_begin(const struct command *c, int argc, char **argv, void *input, int *ret_status);

#endif
