/* Which version of CPython a process runs, by the texts and numbers that the interpreter keeps. */
#include "python/version.h"
#include <stdio.h>
#include <string.h>

#define NUMBER_MIN 6  /* "2.7.18", "3.8.1" with its space */
#define NUMBER_MAX 16 /* "3.10.10rc1+" and some */

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number below 256 at *s. */
static bool take(const char **s, const char *end, uint32_t *ret)
{
	const char *start = *s;

	for (*ret = 0; *s < end && digit(**s) && *s - start < 3; (*s)++)
		*ret = *ret * 10 + (uint32_t)(**s - '0');
	return *s > start && *ret < 256;
}

/* All of [s, end) must be a version: "3.8.18", "3.12.0rc1+". */
static bool parse(const char *s, const char *end, uint32_t *ret)
{
	uint32_t major, minor, micro, level = 0xf, serial = 0;

	if (!take(&s, end, &major) || s == end || *s++ != '.' || !take(&s, end, &minor) ||
	    s == end || *s++ != '.' || !take(&s, end, &micro))
		return false;
	if (s < end && *s != '+') {
		level = *s == 'a' ? 0xa : *s == 'b' ? 0xb : *s == 'r' || *s == 'c' ? 0xc : 0;
		s += end - s > 1 && s[0] == 'r' && s[1] == 'c' ? 2 : 1;
		if (!level || !take(&s, end, &serial) || serial > 15)
			return false;
	}
	if (s < end && *s == '+')
		s++;
	*ret = major << 24 | minor << 16 | micro << 8 | level << 4 | serial;
	return s == end && (major == 2 || major == 3);
}

/* Behind the number: "(" build, date ") " and perhaps a newline, then "[" compiler. */
static bool is_rest(const char *s, const char *end)
{
	const char *close;

	end = end - s > VERSION_TEXT_MAX ? s + VERSION_TEXT_MAX : end;
	close = memmem(s, (size_t)(end - s), ") ", 2);
	if (!close || end - close < 4 || memchr(s, 0, (size_t)(close - s)))
		return false;
	return close[2] == '[' || (close[2] == '\n' && close[3] == '[');
}

bool version_find(const void *bytes, size_t len, size_t *ret_at, uint32_t *ret)
{
	const char *start = bytes, *end = start + len, *at = start;

	while ((at = memchr(at, '(', (size_t)(end - at)))) {
		const char *open = at++;

		if (open - start < NUMBER_MIN || open[-1] != ' ' || !is_rest(open, end))
			continue;
		for (ptrdiff_t n = MIN(open - start - 1, NUMBER_MAX); n >= NUMBER_MIN - 1; n--) {
			if (!parse(open - 1 - n, open - 1, ret))
				continue;
			*ret_at = (size_t)(open - 1 - n - start);
			return true;
		}
	}
	return false;
}

bool version_plausible(uint64_t hex)
{
	uint32_t level = (hex >> 4) & 0xf;

	return hex >> 24 == 3 && level >= 0xa;
}

void version_format(uint32_t hex, uint32_t minor, char *buf, size_t size)
{
	uint32_t level = (hex >> 4) & 0xf;
	const char *stage = level == 0xa ? "a" : level == 0xb ? "b" : "rc";

	if (!hex)
		snprintf(buf, size, "3.%u", minor);
	else if (level == 0xf)
		snprintf(buf, size, "%u.%u.%u", hex >> 24, (hex >> 16) & 0xff, (hex >> 8) & 0xff);
	else
		snprintf(buf, size, "%u.%u.%u%s%u", hex >> 24, (hex >> 16) & 0xff,
			 (hex >> 8) & 0xff, stage, hex & 0xf);
}
