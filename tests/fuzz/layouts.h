/* Layouts for fuzzers to choose from. */
#ifndef SCRY_FUZZ_LAYOUTS_H
#define SCRY_FUZZ_LAYOUTS_H

#include "python/layout.h"

/* One of 3.8 - 3.12's, or one that stands for the objects of 3.14, with and without a GIL. */
void layouts_get(uint8_t choice, struct layout *ret);

#endif
