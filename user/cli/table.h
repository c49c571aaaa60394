/* A recording as text for people: what was recorded, and a table of what took the time. */
#ifndef SCRY_CLI_TABLE_H
#define SCRY_CLI_TABLE_H

#include <stdio.h>
#include "profile/aggregate.h"

struct table_options {
	enum aggregate_by by;
	bool by_total;
	bool color;
	uint64_t rows;	      /* at most; 0: all */
	unsigned int columns; /* of the terminal: longer rows are cut; 0: never */
};

void table_header(FILE *f, const struct profile *p);
void table_rows(FILE *f, const struct profile *p, const struct aggregate *a,
		const struct table_options *o);

#endif
