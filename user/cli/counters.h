/* What the engine counted, for people: in all, and by process. */
#ifndef SCRY_CLI_COUNTERS_H
#define SCRY_CLI_COUNTERS_H

#include <stdio.h>
#include "profile/stats.h"

/* rows: processes at most, the busiest first; 0: all. */
void counters_print(FILE *f, const struct stats_table *t, uint64_t rows);

#endif
