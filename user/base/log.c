/* Diagnostics for people who debug scry itself; results never go through here. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/plain.h"

#define LOG_MAX_LINE 1024

static enum log_level log_current = LOG_WARN;

void log_set_level(enum log_level level)
{
	log_current = level;
}

enum log_level log_get_level(void)
{
	return log_current;
}

void log_print(enum log_level level, const char *fmt, ...)
{
	char line[LOG_MAX_LINE];
	va_list ap;

	if (level == LOG_QUIET || level > log_current)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	plain_string(line); /* names of targets end up here */
	fprintf(stderr, "scry: %s\n", line);
}
