/* What depends on the terminal: colours, its width, the progress line. */
#ifndef SCRY_CLI_SCREEN_H
#define SCRY_CLI_SCREEN_H

#include <stdbool.h>
#include <stdio.h>
#include "base/buf.h"
#include "collect/session.h"

enum screen_color { SCREEN_AUTO, SCREEN_ALWAYS, SCREEN_NEVER };

/* Colours on fd? NO_COLOR (not empty) and TERM=dumb count for SCREEN_AUTO only. */
bool screen_colors(int fd, enum screen_color when);
/* Columns of the terminal at fd, 0 when it is none. */
unsigned int screen_columns(int fd);
/* Whether a line on fd may be rewritten: a terminal that this process is in the foreground of. */
bool screen_live(int fd);

/* The text of the progress line, of at most `columns` characters; no control characters. */
void screen_progress(const struct session_progress *p, unsigned int columns, struct buf *ret);
/* "1.4 MiB" */
void screen_bytes(uint64_t n, struct buf *ret);

#endif
