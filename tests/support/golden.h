/* Compare what a test made with a file in tests/golden/. */
#ifndef SCRY_TESTS_SUPPORT_GOLDEN_H
#define SCRY_TESTS_SUPPORT_GOLDEN_H

#include <stddef.h>

/* Fails the test if they differ; with GOLDEN=write in the environment it writes the file instead.
 */
void golden_check(const char *name, const char *data, size_t n);

#endif
