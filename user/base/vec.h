/* Grow an array that is kept as pointer, count and capacity. */
#ifndef SCRY_BASE_VEC_H
#define SCRY_BASE_VEC_H

#include "base/compiler.h"

/*
 * Makes room for n elements of `size` bytes in the array that *array (a pointer to the caller's
 * pointer) holds; at least doubles. 0 or -ENOMEM, and then nothing changed.
 */
int vec_reserve(void *array, size_t *cap, size_t n, size_t size);

#endif
