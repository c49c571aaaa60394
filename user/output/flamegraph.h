/* A flame graph: one HTML file with all that it needs. */
#ifndef SCRY_OUTPUT_FLAMEGRAPH_H
#define SCRY_OUTPUT_FLAMEGRAPH_H

#include "output/format.h"

int flamegraph_write(FILE *f, const struct profile *p, const struct format_options *o);

#endif
