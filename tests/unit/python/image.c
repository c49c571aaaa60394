/* Mappings to images: runs of one file, as loaders leave them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "python/image.h"

#define MAP(from, off, ino, perm)                                                                  \
	{                                                                                          \
		.start = (from), .end = (from) + 0x1000, .offset = (off), .inode = (ino),          \
		.dev = 8, .read = true, .write = (perm)[1] == 'w', .exec = (perm)[2] == 'x',       \
		.path = ""                                                                         \
	}

Test(image, files_and_what_lies_between)
{
	struct map v[] = {
		MAP(0x1000, 0, 5, "r--"),	MAP(0x2000, 0x1000, 5, "r-x"),
		MAP(0x3000, 0x2000, 5, "rw-"),	MAP(0x4000, 0, 0, "rw-"),  /* bss */
		MAP(0x9000, 0, 0, "rw-"),				   /* heap */
		MAP(0x10000, 0, 6, "r--"),	MAP(0x11000, 0, 0, "r-x"), /* code moved away */
		MAP(0x12000, 0x2000, 6, "rw-"), MAP(0x20000, 0, 7, "r--"),
	};
	struct maps maps = {.v = v, .n = ARRAY_SIZE(v)};
	size_t n;
	struct image *images = image_list(&maps, &n);

	cr_assert_eq(n, 3);
	cr_assert_eq(images[0].map, &v[0]);
	cr_assert_eq(images[0].n, 3);
	cr_assert_eq(images[0].extent, 0x3000);
	cr_assert(images[0].exec);
	cr_assert_eq(images[1].map, &v[5]);
	cr_assert_eq(images[1].n, 3);
	cr_assert(images[1].exec);
	cr_assert(image_maps_file(&images[1], 0));
	cr_assert_not(image_maps_file(&images[1], 1));
	cr_assert(image_maps_file(&images[1], 2));
	cr_assert_not(image_maps_file(&images[1], 3));
	cr_assert_not(images[2].exec);
	image_mark_program(images, n, 0x2345);
	cr_assert(images[0].program);
	cr_assert_not(images[1].program);
	free(images);
}

Test(image, a_file_that_is_loaded_twice_gives_two)
{
	struct map v[] = {
		MAP(0x1000, 0, 5, "r--"),	MAP(0x2000, 0x1000, 5, "r-x"),
		MAP(0x3000, 0x1000, 5, "rw-"),	MAP(0x10000, 0, 5, "r--"),
		MAP(0x11000, 0x1000, 5, "r-x"),
	};
	struct maps maps = {.v = v, .n = ARRAY_SIZE(v)};
	size_t n;
	struct image *images = image_list(&maps, &n);

	cr_assert_eq(n, 2);
	cr_assert_eq(images[0].n, 3);
	cr_assert_eq(images[1].map, &v[3]);
	free(images);
}

Test(image, no_mappings)
{
	struct maps maps = {0};
	size_t n = 9;
	struct image *images = image_list(&maps, &n);

	cr_assert_not_null(images);
	cr_assert_eq(n, 0);
	free(images);
}
