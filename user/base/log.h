/* Diagnostics for people who debug scry itself; results never go through here. */
#ifndef SCRY_BASE_LOG_H
#define SCRY_BASE_LOG_H

#include "base/compiler.h"

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
void log_print(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

#define log_warn(...) log_print(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)

#endif
