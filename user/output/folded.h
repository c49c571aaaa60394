/* Folded stacks: `root;…;leaf count` lines. */
#ifndef SCRY_OUTPUT_FOLDED_H
#define SCRY_OUTPUT_FOLDED_H

#include "output/format.h"

int folded_write(FILE *f, const struct profile *p, const struct format_options *o);

#endif
