/* Files already looked at: whether they hold a CPython runtime, and where. */
#include "python/binary.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>
#include <xxhash.h>
#include "python/mapped.h"

struct key {
	uint64_t inode, extent, path;
	uint32_t dev;
	uint32_t pad;
};

struct entry {
	struct key key;
	struct binary *binary; /* NULL: not CPython */
	UT_hash_handle hh;
};

struct binary_cache {
	struct entry *table;
};

static void forget(struct binary_cache *c, struct entry *e)
{
	HASH_DEL(c->table, e);
	free(e->binary);
	free(e);
}

static void forget_all(struct binary_cache *c)
{
	struct entry *e, *next;

	HASH_ITER (hh, c->table, e, next)
		forget(c, e);
}

struct binary_cache *binary_cache_new(void)
{
	return calloc(1, sizeof(struct binary_cache));
}

void binary_cache_free(struct binary_cache *c)
{
	if (!c)
		return;
	forget_all(c);
	free(c);
}

static struct key key_of(const struct image *image)
{
	const struct map *map = image->map;

	return (struct key){
		.inode = map->inode,
		.extent = image->extent,
		.path = XXH3_64bits(map->path, strlen(map->path)),
		.dev = map->dev,
	};
}

/* PyCode_Type alone: a version before 3.7, to be named when it is refused. */
static bool holds_python(const struct binary *b)
{
	return b->elf.runtime.found || b->elf.runtime_section.found || b->elf.code_type.found ||
	       b->has_cookie;
}

static int look_for_cookie(struct mem *m, const struct image *image, struct binary *b)
{
	int r = mapped_cookie(m, image, &b->cookie_offset);

	b->has_cookie = !r;
	return r == -ENOENT ? 0 : r;
}

/* The file can't be opened: what its mappings hold of it is enough for symbols, not for sections.
 */
static int look_in_memory(struct mem *m, const struct image *image, struct binary *b)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	int r = fd < 0 ? -ENOMEM : mapped_copy(m, image, fd);

	b->from_memory = true;
	if (!r && (elfsym_read(fd, &b->elf) || !holds_python(b)))
		r = look_for_cookie(m, image, b);
	if (fd >= 0)
		close(fd);
	return r;
}

/* The opened file: by its path it may be another than the mapped one. */
static int look_in_file(int fd, struct mem *m, const struct image *image, struct binary *b)
{
	*b = (struct binary){0};
	/* a program without symbols and sections */
	if (!elfsym_read(fd, &b->elf) && image->program && !holds_python(b))
		return look_for_cookie(m, image, b);
	return 0;
}

/* *ret_sure: the answer is about the mapped file, so a "no" may be remembered. */
static int look(pid_t pid, struct mem *m, const struct image *image, struct binary *b,
		bool *ret_sure)
{
	struct stat st;
	int fd = elfsym_open(pid, image->map), r = 0;

	*b = (struct binary){0};
	*ret_sure = fd < 0 || (!fstat(fd, &st) && st.st_ino == image->map->inode);
	if (fd == -ESRCH)
		return fd;
	/* a file system that may never answer: its pages are touched only where there is a reason
	 */
	if (fd == -ENOTSUP && !image->program && !strstr(image->map->path, "python")) {
		*ret_sure = false;
		return 0;
	}
	/* replaced, or on a file system that numbers files in two ways: the mappings do not lie */
	if (fd < 0 || !*ret_sure)
		r = look_in_memory(m, image, b);
	if (fd >= 0 && !r && !holds_python(b))
		r = look_in_file(fd, m, image, b);
	if (fd >= 0)
		close(fd);
	return r;
}

static struct entry *find(struct binary_cache *c, const struct key *key)
{
	struct entry *e;

	HASH_FIND(hh, c->table, key, sizeof(*key), e);
	return e;
}

static struct entry *remember(struct binary_cache *c, const struct key *key, const struct binary *b)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->key = *key;
	if (b) {
		e->binary = malloc(sizeof(*b));
		if (!e->binary) {
			free(e);
			return NULL;
		}
		*e->binary = *b;
	}
	if (HASH_COUNT(c->table) >= BINARY_MAX)
		forget_all(c);
	HASH_ADD(hh, c->table, key, sizeof(e->key), e);
	return e;
}

int binary_get(struct binary_cache *c, pid_t pid, struct mem *m, const struct image *image,
	       struct binary **ret)
{
	struct key key = key_of(image);
	struct entry *e = find(c, &key);
	struct binary b;
	bool sure;
	int r;

	if (!e) {
		r = look(pid, m, image, &b, &sure);
		if (r)
			return r;
		if (!holds_python(&b) && !sure) {
			*ret = NULL;
			return 0;
		}
		e = remember(c, &key, holds_python(&b) ? &b : NULL);
		if (!e)
			return -ENOMEM;
	}
	*ret = e->binary;
	return 0;
}

bool binary_refresh(struct binary_cache *c, pid_t pid, struct mem *m, const struct image *image)
{
	struct key key = key_of(image);
	struct entry *e = find(c, &key);
	struct binary b;
	bool sure;

	if (!e || !e->binary || look(pid, m, image, &b, &sure))
		return false;
	if (!memcmp(&b.elf, &e->binary->elf, sizeof(b.elf)))
		return false;
	forget(c, e);
	remember(c, &key, holds_python(&b) ? &b : NULL);
	return true;
}
