/* The loaded copies of files in a process: each a run of mappings, as a loader leaves them. */
#ifndef SCRY_PYTHON_IMAGE_H
#define SCRY_PYTHON_IMAGE_H

#include "target/maps.h"

/*
 * Consecutive mappings of one file with rising offsets; mappings without a file may lie between
 * them (code moved to huge pages). A file that is loaded twice gives two.
 */
struct image {
	const struct map *map; /* the first mapping */
	size_t n;	       /* mappings, those between included */
	uint64_t extent;       /* largest file offset that is mapped */
	bool exec;	       /* one of them may be executed */
	bool program;	       /* the file that was exec'd (image_mark_program) */
};

/* Pure. The images, for free(); *ret_n of them. NULL: none, or out of memory. */
struct image *image_list(const struct maps *maps, size_t *ret_n);
/* Marks the image that holds start_code. */
void image_mark_program(struct image *v, size_t n, uint64_t start_code);
/* Whether the i-th mapping is one of the file. */
bool image_maps_file(const struct image *image, size_t i);

#endif
