/* Text of any origin made safe for a terminal. */
#ifndef SCRY_BASE_PLAIN_H
#define SCRY_BASE_PLAIN_H

#include "base/buf.h"

/* Makes each control character (C0, DEL, and C1 as UTF-8 has them) a '?', in place. */
void plain_string(char *s);
/* Appends the text, made safe; a NUL in it is a control character too. */
void plain_put(struct buf *b, const char *s, size_t n);

#endif
