/* Which threads a recording wants, by their names (--threads). */
#ifndef SCRY_COLLECT_THREADNAME_H
#define SCRY_COLLECT_THREADNAME_H

#include <stdbool.h>
#include "base/buf.h"

struct threadname;

/* An extended regular expression (regcomp(3)) that is to match anywhere in the name. 0, -ENOMEM, or
 * -EINVAL and ret_text (may be NULL) gets what is wrong with it. */
int threadname_new(const char *regex, struct threadname **ret, struct buf *ret_text);
void threadname_free(struct threadname *n); /* accepts NULL */
/* name: up to max bytes or its NUL. NULL wants all. */
bool threadname_wants(const struct threadname *n, const char *name, size_t max);

#endif
