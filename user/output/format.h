/* The export formats: a table of functions that write a profile. */
#ifndef SCRY_OUTPUT_FORMAT_H
#define SCRY_OUTPUT_FORMAT_H

#include <stdio.h>
#include "profile/aggregate.h"

struct format_options {
	enum aggregate_group group;
	bool lines;	   /* frames carry the line being executed */
	uint32_t outcomes; /* bit mask of enum outcome to keep */
	const char *title;
};

struct format {
	const char *name, *help;
	/* 0 or -errno; write errors on f are found by the caller's ferror/fclose too. */
	int (*write)(FILE *f, const struct profile *p, const struct format_options *o);
};

const struct format *format_find(const char *name); /* NULL: no such format */
const struct format *format_all(size_t *ret_n);

#endif
