/* The interpreters that tests/tools/setup-interpreters found, for tests against truth. */
#ifndef SCRY_SUPPORT_INTERPRETERS_H
#define SCRY_SUPPORT_INTERPRETERS_H

#include <stdio.h>

/*
 * Runs `COMMAND -I - ARGUMENTS < script` for each of them and hands its output to check(), with its
 * name ("sid-3.14") and minor version. Skips the test where there are none.
 */
void interpreters_run(const char *script, const char *arguments,
		      void (*check)(const char *name, unsigned int minor, FILE *output));

#endif
