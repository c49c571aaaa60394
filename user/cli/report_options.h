/* The command line of scry report. */
#ifndef SCRY_CLI_REPORT_OPTIONS_H
#define SCRY_CLI_REPORT_OPTIONS_H

#include "cli/options.h"
#include "cli/screen.h"
#include "profile/aggregate.h"

struct report_options {
	const char *input; /* "-": standard input */
	uint64_t rows;	   /* 0: all */
	bool by_total;
	bool stats; /* what the engine counted, in place of the table */
	enum aggregate_by by;
	enum screen_color color;
};

/* The parser's input is a struct report_options that report_options_init() has filled. */
extern const struct argp report_options_argp;

void report_options_init(struct report_options *o);

#endif
