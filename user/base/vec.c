/* Grow an array that is kept as pointer, count and capacity. */
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vec_reserve(void *array, size_t *cap, size_t n, size_t size)
{
	void *old, *grown;
	size_t want;

	if (n <= *cap)
		return 0;
	want = MAX(n, *cap * 2);
	want = MAX(want, (size_t)16);
	if (want > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, want * size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*cap = want;
	return 0;
}
