/* The names of what can become of a sample. */
#include <errno.h>
#include <string.h>
#include "profile/sample.h"

static const char *const names[OUTCOME_MAX] = {
	[OUTCOME_EXACT] = "exact",   [OUTCOME_JOINED] = "joined",     [OUTCOME_READ] = "read",
	[OUTCOME_CUT] = "cut",	     [OUTCOME_UNPROVEN] = "unproven", [OUTCOME_GONE] = "gone",
	[OUTCOME_NATIVE] = "native", [OUTCOME_MISSED] = "missed",
};

const char *outcome_name(enum outcome o)
{
	return (unsigned int)o < OUTCOME_MAX ? names[o] : "?";
}

int outcome_parse(const char *name, enum outcome *ret)
{
	for (unsigned int o = 0; o < OUTCOME_MAX; o++) {
		if (strcmp(names[o], name) == 0) {
			*ret = (enum outcome)o;
			return 0;
		}
	}
	return -EINVAL;
}
