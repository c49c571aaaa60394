/*
 * Fuzz the reader of recordings, and every export with what it has read.
 *
 * The first byte chooses: the rest is a file as it is, or the content of chunks whose headers are
 * made right here (a checksum can't be guessed), each as {type, length, bytes}. The first byte of
 * 2 compresses them too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include "base/buf.h"
#include "base/bytes.h"
#include "base/file.h"
#include "output/capture.h"
#include "output/capture_chunk.h"
#include "output/format.h"
#include "output/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void put_chunk(struct buf *b, uint32_t type, uint32_t number, struct bytes v, bool packed)
{
	static char space[8192];
	size_t n = packed ? ZSTD_compress(space, sizeof(space), v.p, v.len, 1) : v.len;
	const void *p = packed ? (const void *)space : v.p;
	size_t start = b->len;

	if (ZSTD_isError(n))
		abort();
	buf_u32(b, type);
	buf_u32(b, number);
	buf_u32(b, (uint32_t)n);
	buf_u32(b, packed ? (uint32_t)v.len : 0);
	buf_u64(b, XXH64(p, n, XXH64(b->data + start, CAPTURE_CHECKED_HEADER, 0)));
	buf_put(b, p, n);
}

/* A file whose chunks are whole, with a head that is right. */
static void put_file(struct buf *file, struct bytes in, bool packed)
{
	static const uint32_t types[] = {CAPTURE_STRS, CAPTURE_FRAM, CAPTURE_STAK, CAPTURE_PROC,
					 CAPTURE_THRD, CAPTURE_SMPL, CAPTURE_TIME, CAPTURE_DONE,
					 CAPTURE_HEAD, 0x58585858,   CAPTURE_STAT};
	static const char head[] = "\3\144\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1h\1k\1s\1e\1c";
	uint32_t number = 0;

	buf_put(file, CAPTURE_MAGIC, CAPTURE_MAGIC_LEN);
	buf_u32(file, CAPTURE_VERSION);
	buf_u32(file, 0);
	put_chunk(file, CAPTURE_HEAD, number++, bytes_of(head, sizeof(head) - 1), false);
	while (in.len >= 2) {
		uint32_t type = types[bytes_u8(&in) % ARRAY_SIZE(types)];
		size_t n = bytes_u8(&in);

		n = MIN(n, in.len);
		put_chunk(file, type, number++, bytes_of(in.p, n), packed);
		bytes_take(&in, n);
	}
}

static void use(const struct profile *p, FILE *f)
{
	struct format_options o = {.outcomes = UINT32_MAX, .lines = true};
	struct aggregate a;
	const struct format *all;
	struct stats_table t;
	size_t n;

	all = format_all(&n);
	for (size_t i = 0; i < n; i++) {
		o.group = (enum aggregate_group)(i % 3);
		if (all[i].write(f, p, &o) < 0)
			abort();
	}
	for (int by = AGGREGATE_FUNCTION; by <= AGGREGATE_STATE; by++) {
		if (aggregate_rows(p, (enum aggregate_by)by, by & 1, &a) < 0 ||
		    a.samples != p->n_samples)
			abort();
		for (size_t i = 0; i < a.n; i++) {
			if (a.rows[i].self > a.rows[i].total || a.rows[i].total > a.samples)
				abort();
		}
		aggregate_release(&a);
	}
	if (profile_stats(p, &t) < 0)
		abort();
	summary_json(f, &p->summary, &t);
	stats_release(&t);
	summary_text(f, &p->summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int fd = -1;
	static FILE *null;
	struct profile p;
	struct buf file = {0};
	uint64_t skipped;

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		null = fopen("/dev/null", "w");
	}
	if (!len || fd < 0 || !null)
		return 0;
	if (data[0] % 3 == 0)
		buf_put(&file, data + 1, len - 1);
	else
		put_file(&file, bytes_of(data + 1, len - 1), data[0] % 3 == 2);
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) != 0 ||
	    file_write(fd, file.data, file.len) < 0 || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	buf_release(&file);
	if (capture_read(fd, &p, &skipped) == 0) {
		use(&p, null);
		profile_release(&p);
	}
	return 0;
}
