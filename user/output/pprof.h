/* pprof's profile.proto, gzipped. */
#ifndef SCRY_OUTPUT_PPROF_H
#define SCRY_OUTPUT_PPROF_H

#include "output/format.h"

int pprof_write(FILE *f, const struct profile *p, const struct format_options *o);

#endif
