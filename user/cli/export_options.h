/* The command line of scry export. */
#ifndef SCRY_CLI_EXPORT_OPTIONS_H
#define SCRY_CLI_EXPORT_OPTIONS_H

#include "cli/options.h"
#include "output/format.h"

struct export_options {
	const char *input;  /* "-": standard input */
	const char *output; /* "-": standard output; NULL: the format's own default */
	const char *format;
	uint32_t states; /* bit mask of enum run_state: samples to keep */
	struct format_options how;
};

/* The parser's input is a struct export_options that export_options_init() has filled. */
extern const struct argp export_options_argp;

void export_options_init(struct export_options *o);

#endif
