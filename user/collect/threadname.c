/* Which threads a recording wants, by their names (--threads). */
#include "collect/threadname.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define THREADNAME_MAX 1024 /* bytes of a name that are looked at; the kernel's has 15 */

struct threadname {
	regex_t regex;
};

int threadname_new(const char *regex, struct threadname **ret, struct buf *ret_text)
{
	struct threadname *n = calloc(1, sizeof(*n));
	char text[128];
	int rc;

	if (!n)
		return -ENOMEM;
	rc = regcomp(&n->regex, regex, REG_EXTENDED | REG_NOSUB);
	if (rc == 0) {
		*ret = n;
		return 0;
	}
	regerror(rc, &n->regex, text, sizeof(text));
	if (ret_text)
		buf_puts(ret_text, text);
	free(n);
	return rc == REG_ESPACE ? -ENOMEM : -EINVAL;
}

void threadname_free(struct threadname *n)
{
	if (!n)
		return;
	regfree(&n->regex);
	free(n);
}

bool threadname_wants(const struct threadname *n, const char *name, size_t max)
{
	char copy[THREADNAME_MAX + 1];
	size_t len = strnlen(name, MIN(max, (size_t)THREADNAME_MAX));

	if (!n)
		return true;
	memcpy(copy, name, len);
	copy[len] = '\0';
	return regexec(&n->regex, copy, 0, NULL, 0) == 0;
}
