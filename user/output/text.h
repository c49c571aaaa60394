/* Text of any origin made safe to show: names of functions, files, processes and threads. */
#ifndef SCRY_OUTPUT_TEXT_H
#define SCRY_OUTPUT_TEXT_H

#include "base/buf.h"

/* Decodes one character of strict UTF-8 from n > 0 bytes: how many it took, 0 if they are none. */
size_t text_decode(const char *p, size_t n, uint32_t *ret);
/* Appends the bytes with U+FFFD for each that is not UTF-8. */
void text_utf8(struct buf *b, const char *p, size_t n);

/*
 * Appends the bytes so that they stay on one line and can't steer a terminal: a newline as \n,
 * other control characters (C1 and DEL too) and bytes that are not UTF-8 as \xNN, a backslash
 * doubled, and each character of `also` as \xNN.
 */
void text_escape(struct buf *b, const char *p, size_t n, const char *also);

#endif
