/* Parse numbers from text that a person or the kernel wrote. */
#ifndef SCRY_BASE_NUM_H
#define SCRY_BASE_NUM_H

#include "base/compiler.h"

/* The whole text must be one decimal number in [min, max]: 0, -EINVAL (not a number) or -ERANGE. */
int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
/* Seconds, with an optional fraction ("2.5"), as nanoseconds. */
int num_seconds(const char *s, uint64_t max_ns, uint64_t *ret_ns);
/* Reads digits at *s, moves *s behind them; 0 or -EINVAL / -ERANGE. */
int num_scan(const char **s, int base, uint64_t *ret);

#endif
