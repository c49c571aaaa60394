/* Write a gzip stream into a FILE, which may be memory: that is what zlib's own writer can't do. */
#include "output/gzip.h"

#include <errno.h>
#include "base/compiler.h"

#define GZIP_WINDOW (15 + 16) /* the largest, with a gzip header */
#define GZIP_MEMORY 8
#define GZIP_BLOCK (1u << 30) /* zlib counts in unsigned int */

int gzip_init(struct gzip *g, FILE *f)
{
	*g = (struct gzip){.f = f};
	return deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			    Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

/* Compresses what is in z->next_in. */
static int run(struct gzip *g, int how)
{
	unsigned char out[16384];

	do {
		g->z.next_out = out;
		g->z.avail_out = sizeof(out);
		deflate(&g->z, how);
		if (fwrite(out, 1, sizeof(out) - g->z.avail_out, g->f) !=
		    sizeof(out) - g->z.avail_out)
			return -EIO;
	} while (g->z.avail_out == 0);
	return 0;
}

int gzip_write(struct gzip *g, const void *p, size_t n)
{
	const unsigned char *at = p;
	int err = 0;

	while (n && err == 0) {
		size_t part = MIN(n, (size_t)GZIP_BLOCK);

		g->z.next_in = (unsigned char *)(uintptr_t)at; /* zlib only reads it */
		g->z.avail_in = (unsigned int)part;
		err = run(g, Z_NO_FLUSH);
		at += part;
		n -= part;
	}
	return err;
}

int gzip_finish(struct gzip *g)
{
	g->z.avail_in = 0;
	return run(g, Z_FINISH);
}

void gzip_release(struct gzip *g)
{
	deflateEnd(&g->z);
}
