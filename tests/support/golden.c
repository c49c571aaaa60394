/* Compare what a test made with a file in tests/golden/. Unit tests run from the top folder. */
#include "tests/support/golden.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define GOLDEN_MAX (4u << 20)

void golden_check(const char *name, const char *data, size_t n)
{
	const char *how = getenv("GOLDEN");
	struct buf b = {0};
	char path[256];
	size_t same = 0;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (how && strcmp(how, "write") == 0) {
		FILE *f = fopen(path, "w");

		cr_assert_not_null(f);
		cr_assert_eq(fwrite(data, 1, n, f), n);
		cr_assert_eq(fclose(f), 0);
		return;
	}
	cr_assert_eq(file_read(path, GOLDEN_MAX, &b), 0, "no %s; make it with GOLDEN=write", path);
	while (same < MIN(n, b.len) && data[same] == b.data[same])
		same++;
	cr_assert(same == n && same == b.len, "%s differs from byte %zu on:\n%.200s\nwant:\n%.200s",
		  path, same, data + same, b.data + same);
	buf_release(&b);
}
