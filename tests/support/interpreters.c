/* The interpreters that tests/tools/setup-interpreters found. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/interpreters.h"

void interpreters_run(const char *script, const char *arguments,
		      void (*check)(const char *name, unsigned int minor, FILE *output))
{
	const char *cache = getenv("SCRY_CACHE");
	char line[1024], command[2048];
	unsigned int ran = 0;
	FILE *found;

	snprintf(command, sizeof(command), "%s/interpreters.found",
		 cache ? cache : "/var/cache/scry-test");
	found = fopen(command, "r");
	if (!found)
		cr_skip_test("no interpreters: tests/tools/setup-interpreters");
	while (fgets(line, sizeof(line), found)) {
		char *save, *name = strtok_r(line, "\t", &save);
		char *minor = strtok_r(NULL, "\t", &save), *python = strtok_r(NULL, "\n", &save);
		FILE *out;

		if (!python || python[0] == '!' || strncmp(minor, "3.", 2) != 0)
			continue;
		snprintf(command, sizeof(command), "exec %s -I - %s < %s", python, arguments,
			 script);
		out = popen(command, "r");
		cr_assert_not_null(out);
		check(name, (unsigned int)atol(minor + 2), out);
		pclose(out);
		ran++;
	}
	fclose(found);
	if (!ran)
		cr_skip_test("no interpreter was found");
}
