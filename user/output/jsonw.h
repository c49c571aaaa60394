/* Write JSON as a stream. */
#ifndef SCRY_OUTPUT_JSONW_H
#define SCRY_OUTPUT_JSONW_H

#include <stdbool.h>
#include <stdio.h>
#include "base/compiler.h"

#define JSONW_MAX_DEPTH 32

struct jsonw {
	FILE *f;
	int depth;
	bool first[JSONW_MAX_DEPTH]; /* nothing written yet on this level */
};

void jsonw_init(struct jsonw *j, FILE *f);
/* key is NULL inside an array and at the top. Strings are bytes: invalid UTF-8 becomes U+FFFD. */
void jsonw_object(struct jsonw *j, const char *key);
void jsonw_array(struct jsonw *j, const char *key);
void jsonw_end(struct jsonw *j, char close); /* '}' or ']' */
void jsonw_str(struct jsonw *j, const char *key, const char *s, size_t len);
void jsonw_u64(struct jsonw *j, const char *key, uint64_t v);
void jsonw_f64(struct jsonw *j, const char *key, double v);
void jsonw_bool(struct jsonw *j, const char *key, bool v);

#endif
