/* Parse numbers from text that a person or the kernel wrote. */
#include "base/num.h"

#include <errno.h>

#include "base/clock.h"

/* The value of a digit in bases up to 16; larger than any base when it is none. */
static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A') + 10;
	return UINT32_MAX;
}

int num_scan(const char **s, int base, uint64_t *ret)
{
	const char *p = *s;
	uint64_t v = 0;

	if (digit(*p) >= (unsigned int)base)
		return -EINVAL;
	for (; digit(*p) < (unsigned int)base; p++)
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit(*p), &v))
			return -ERANGE;
	*s = p;
	*ret = v;
	return 0;
}

int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end = s;
	uint64_t v;
	int err;

	/* what is not a number at all is no number out of range either */
	while (*end >= '0' && *end <= '9')
		end++;
	if (*end)
		return -EINVAL;
	err = num_scan(&s, 10, &v);
	if (err)
		return err;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* ".5" as nanoseconds; digits beyond the ninth must be digits, and count for nothing. */
static int fraction(const char **s, uint64_t *ret_ns)
{
	uint64_t unit = NSEC_PER_SEC, ns = 0;
	const char *p = *s + 1;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		unit /= 10;
		ns += unit * (uint64_t)(*p - '0');
	}
	*s = p;
	*ret_ns = ns;
	return 0;
}

int num_seconds(const char *s, uint64_t max_ns, uint64_t *ret_ns)
{
	uint64_t seconds = 0, frac = 0, ns;
	int err = 0;

	if (*s != '.')
		err = num_scan(&s, 10, &seconds);
	if (!err && *s == '.')
		err = fraction(&s, &frac);
	if (!err && *s)
		err = -EINVAL;
	if (err)
		return err;
	if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, frac, &ns) || ns > max_ns)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}
