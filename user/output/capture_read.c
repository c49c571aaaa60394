/*
 * Read scry.data: the chunks. What is in them is decoded in capture_decode.c.
 *
 * The file is hostile: nothing is believed before its checksum, its number and its limits are
 * checked, and the first chunk that breaks a rule ends the recording.
 */
#include "output/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include "base/buf.h"
#include "output/capture_chunk.h"
#include "output/capture_decode.h"

#define READ_BLOCK 65536u
#define READ_MAX_DRAIN                                                                             \
	(1ULL << 40) /* bytes left out that are counted, where the file is no file                 \
		      */

struct chunk {
	uint32_t type, number, stored, raw;
	uint64_t sum;
};

struct reader {
	int fd;
	uint64_t at; /* bytes read */
	uint32_t chunks;
	struct buf stored, raw;
	ZSTD_DCtx *zstd;
	struct capture_decoder decoder;
};

/* Reads n bytes unless the file ends before; how many it got, or -errno. */
static ssize_t read_full(struct reader *r, void *dst, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = read(r->fd, (char *)dst + got, n - got);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	r->at += got;
	return (ssize_t)got;
}

static int read_file_header(struct reader *r)
{
	uint8_t h[CAPTURE_FILE_HEADER];
	ssize_t n = read_full(r, h, sizeof(h));

	if (n < 0)
		return (int)n;
	if (n < (ssize_t)sizeof(h) || memcmp(h, CAPTURE_MAGIC, CAPTURE_MAGIC_LEN) != 0)
		return -ENOMSG;
	if (bytes_load32(h + CAPTURE_MAGIC_LEN) != CAPTURE_VERSION ||
	    bytes_load32(h + CAPTURE_MAGIC_LEN + 4) != 0)
		return -EPROTONOSUPPORT;
	return 0;
}

/* 1: a whole chunk, checked, its bytes in r->stored; 0: the file ends here or within it. */
static int read_chunk(struct reader *r, struct chunk *ret)
{
	uint8_t h[CAPTURE_CHUNK_HEADER];
	ssize_t n = read_full(r, h, sizeof(h));
	struct chunk c;
	char *data;

	if (n < (ssize_t)sizeof(h))
		return n < 0 ? (int)n : 0;
	c = (struct chunk){bytes_load32(h), bytes_load32(h + 4), bytes_load32(h + 8),
			   bytes_load32(h + 12), bytes_load64(h + CAPTURE_CHECKED_HEADER)};
	if (c.number != r->chunks || c.stored > CAPTURE_MAX_CHUNK || c.raw > CAPTURE_MAX_CHUNK ||
	    (uint64_t)c.raw > (uint64_t)c.stored * CAPTURE_MAX_RATIO)
		return -EBADMSG;
	buf_reset(&r->stored);
	/* not all at once: the length may be a lie, and memory is taken only for what is there */
	for (size_t left = c.stored; left;) {
		size_t part = MIN(left, (size_t)READ_BLOCK);

		data = buf_grow(&r->stored, part);
		if (!data)
			return -ENOMEM;
		n = read_full(r, data, part);
		if (n < (ssize_t)part)
			return n < 0 ? (int)n : 0;
		left -= part;
	}
	if (XXH64(r->stored.data, r->stored.len, XXH64(h, CAPTURE_CHECKED_HEADER, 0)) != c.sum)
		return -EBADMSG;
	*ret = c;
	return 1;
}

/* The content of a chunk, expanded if it has to be. */
static int expand(struct reader *r, const struct chunk *c, struct bytes *ret)
{
	char *dst;
	size_t n;

	if (!c->raw) {
		*ret = bytes_of(r->stored.data, r->stored.len);
		return 0;
	}
	buf_reset(&r->raw);
	dst = buf_grow(&r->raw, c->raw);
	if (!dst)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(r->zstd, dst, c->raw, r->stored.data, r->stored.len);
	if (ZSTD_isError(n) || n != c->raw)
		return -EBADMSG;
	*ret = bytes_of(dst, c->raw);
	return 0;
}

/* 1: a chunk was taken; 0: the file ends, or is whole. */
static int read_one(struct reader *r)
{
	struct chunk c = {0};
	struct bytes b;
	int err;

	if (r->decoder.profile->complete)
		return 0;
	err = read_chunk(r, &c);
	if (err <= 0)
		return err;
	err = expand(r, &c, &b);
	if (err == 0)
		err = capture_decode(&r->decoder, c.type, c.number, b);
	if (err < 0)
		return err;
	r->chunks++;
	return 1;
}

/* How many bytes there are from `from` to the end of the file. */
static uint64_t count_rest(struct reader *r, uint64_t from)
{
	struct stat st;
	char block[4096];
	off_t pos = lseek(r->fd, 0, SEEK_CUR);

	if (fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode) && pos >= (off_t)(r->at - from))
		return st.st_size > pos ? (uint64_t)(st.st_size - pos) + (r->at - from)
					: r->at - from;
	while (r->at - from < READ_MAX_DRAIN && read_full(r, block, sizeof(block)) > 0)
		;
	return r->at - from;
}

static int read_all(struct reader *r, uint64_t *ret_skipped)
{
	struct profile *p = r->decoder.profile;
	int err = read_file_header(r);
	uint64_t good = r->at;

	if (err < 0)
		return err;
	while ((err = read_one(r)) > 0)
		good = r->at;
	if (err < 0 && err != -EBADMSG)
		return err;
	if (!r->chunks || (err < 0 && !p->n_samples))
		return -EBADMSG;
	*ret_skipped = count_rest(r, good);
	if (!p->complete && p->end_mono > p->recording.start_mono)
		p->summary.duration_ns = p->end_mono - p->recording.start_mono;
	return 0;
}

int capture_read(int fd, struct profile *ret, uint64_t *ret_skipped)
{
	struct profile p;
	struct reader r = {.fd = fd, .decoder.profile = &p};
	uint64_t skipped = 0;
	int err = profile_init(&p);

	if (err < 0)
		return err;
	r.zstd = ZSTD_createDCtx();
	err = r.zstd ? read_all(&r, &skipped) : -ENOMEM;
	ZSTD_freeDCtx(r.zstd);
	buf_release(&r.stored);
	buf_release(&r.raw);
	if (err < 0) {
		profile_release(&p);
		return err;
	}
	*ret = p;
	*ret_skipped = skipped;
	return 0;
}
