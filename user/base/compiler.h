/* Small helpers that the language should have had. */
#ifndef SCRY_BASE_COMPILER_H
#define SCRY_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#endif
