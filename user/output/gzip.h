/* Write a gzip stream into a FILE. */
#ifndef SCRY_OUTPUT_GZIP_H
#define SCRY_OUTPUT_GZIP_H

#include <stdio.h>
#include <zlib.h>

struct gzip {
	FILE *f;
	z_stream z;
};

int gzip_init(struct gzip *g, FILE *f); /* 0 or -ENOMEM */
/* 0 or -EIO. */
int gzip_write(struct gzip *g, const void *p, size_t n);
int gzip_finish(struct gzip *g);
void gzip_release(struct gzip *g);

#endif
