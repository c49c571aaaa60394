/*
 * Find CPython in a process: by fact, not by name.
 *
 * Mappings → images (image.h) → what their files hold (binary.h) → an address in the process →
 * whether a runtime lies there (runtime.h). The program itself is looked at first, then images
 * whose name says python, then all others that hold code, until a runtime is found that is
 * initialised: a process may map libraries that it never uses, or the same one twice.
 */
#include "python/discover.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "python/binary.h"
#include "python/image.h"
#include "python/runtime.h"
#include "python/version.h"
#include "target/task.h"

#define TRIES 3			  /* of a process that execs while it is looked at */
#define TEXT_CHUNK (256u << 10)	  /* of an image's data, searched for the text of sys.version */
#define TEXT_SPAN_MAX (16u << 20) /* of one image's data that is searched at most */

struct discover {
	struct binary_cache *files;
	uint8_t *chunk; /* TEXT_CHUNK */
};

/* One look at one process. */
struct look {
	struct discover *d;
	pid_t pid, tid; /* tid: a thread that lives */
	struct mem *m;
	struct maps maps;
	struct image *images;
	size_t n;
	struct discover_found *ret; /* the best so far */
};

struct discover *discover_new(void)
{
	struct discover *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->files = binary_cache_new();
	d->chunk = malloc(TEXT_CHUNK);
	if (d->files && d->chunk)
		return d;
	discover_free(d);
	return NULL;
}

void discover_free(struct discover *d)
{
	if (!d)
		return;
	binary_cache_free(d->files);
	free(d->chunk);
	free(d);
}

const char *discover_reason(enum discover_why why)
{
	static const char *const text[] = {
		[DISCOVER_OK] = "can be profiled",
		[DISCOVER_NOT_PYTHON] = "no CPython runtime is mapped (looked for the symbol "
					"_PyRuntime, the section .PyRuntime, the cookie of 3.13+)",
		[DISCOVER_NOT_YET] = "a CPython runtime is mapped but not initialised (starting, "
				     "ending, or a library that is not used)",
		[DISCOVER_UNSUPPORTED] =
			"this version of CPython is not supported (3.8 - 3.15 are)",
		[DISCOVER_INVALID] = "a CPython runtime whose structures do not fit its version (a "
				     "patched build?)",
		[DISCOVER_DENIED] =
			"its memory may not be read: that takes root or CAP_SYS_PTRACE, and no "
			"user namespace or security module that forbids it",
		[DISCOVER_GONE] = "the process has ended",
		[DISCOVER_STUCK] = "reading its memory does not come back: set aside",
	};

	return (size_t)why < ARRAY_SIZE(text) ? text[why] : "unknown";
}

/* Which of two answers about one process says more. */
static int rank(enum discover_why why)
{
	static const int ranks[] = {
		[DISCOVER_NOT_PYTHON] = 0,  [DISCOVER_NOT_YET] = 1, [DISCOVER_INVALID] = 2,
		[DISCOVER_UNSUPPORTED] = 3, [DISCOVER_OK] = 4,	    [DISCOVER_DENIED] = 5,
		[DISCOVER_STUCK] = 5,	    [DISCOVER_GONE] = 5,
	};

	return ranks[why];
}

/* Searches the image's writable segments for the text of sys.version; remembers where it was. */
static uint32_t search_text(struct look *k, struct binary *b, uint64_t bias)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < b->elf.n_load; i++) {
		const struct elfsym_load *load = &b->elf.load[i];
		uint64_t end = load->vaddr + load->memsz, step = TEXT_CHUNK - VERSION_TEXT_MAX;

		if (!load->write || end < load->vaddr)
			continue;
		for (uint64_t at = load->vaddr; at < end && total < TEXT_SPAN_MAX; at += step) {
			size_t n = MIN(end - at, TEXT_CHUNK), where;
			uint32_t version;

			total += n;
			if (mem_read(k->m, bias + at, k->d->chunk, n) ||
			    !version_find(k->d->chunk, n, &where, &version))
				continue;
			b->version_text = at + where;
			return version;
		}
	}
	return 0;
}

/* PY_VERSION_HEX by Py_Version, else by the text of sys.version; 0 when neither is there. */
static uint32_t image_version(struct look *k, struct binary *b, uint64_t bias)
{
	uint64_t hex;
	size_t at;
	uint32_t version;
	char text[VERSION_TEXT_MAX];

	if (b->elf.version.found && !mem_read_u64(k->m, bias + b->elf.version.addr, &hex) &&
	    version_plausible(hex))
		return (uint32_t)hex;
	if (b->version_text && !mem_read(k->m, bias + b->version_text, text, sizeof(text)) &&
	    version_find(text, sizeof(text), &at, &version) && !at)
		return version;
	return search_text(k, b, bias);
}

/* Where a file offset of a writable segment lies in the process. */
static int locate_offset(const struct image *image, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < image->n; i++) {
		const struct map *map = &image->map[i];

		if (!image_maps_file(image, i) || !map->write || offset < map->offset ||
		    offset - map->offset >= map->end - map->start)
			continue;
		*ret = map->start + (offset - map->offset);
		return 0;
	}
	return -ENOENT;
}

/* Where the file says that the runtime is, as an address of the process, and how it says so. */
static int locate(const struct look *k, const struct image *image, const struct binary *b,
		  struct runtime_hint *h, uint64_t *ret_bias, const char **ret_how)
{
	const struct elfsym_found *at = b->elf.runtime.found	       ? &b->elf.runtime
					: b->elf.runtime_section.found ? &b->elf.runtime_section
								       : &b->elf.code_type;
	/* only this copy's mappings: the file may be loaded twice */
	struct maps maps = {.v = k->maps.v + (image->map - k->maps.v), .n = image->n};

	*h = (struct runtime_hint){0};
	*ret_bias = 0;
	*ret_how = "memory";
	if (!at->found)
		return locate_offset(image, b->cookie_offset, &h->addr);
	if (elfsym_locate(&b->elf, &maps, image->map, at->addr, &h->addr))
		return -ENOENT;
	*ret_bias = h->addr - at->addr;
	h->size = at->size;
	if (b->elf.code_type.found)
		h->types.code = *ret_bias + b->elf.code_type.addr;
	if (b->elf.function_type.found)
		h->types.function = *ret_bias + b->elf.function_type.addr;
	if (!b->from_memory)
		*ret_how = at == &b->elf.runtime_section ? "section" : "symbol";
	return 0;
}

/* What one image has to say. */
static enum discover_why look_at_binary(struct look *k, const struct image *image, struct binary *b,
					struct discover_found *ret)
{
	struct runtime_hint h;
	const char *how;
	uint64_t bias;
	enum discover_why why;

	if (locate(k, image, b, &h, &bias, &how))
		return DISCOVER_INVALID;
	snprintf(ret->how, sizeof(ret->how), "%s", how);
	snprintf(ret->path, sizeof(ret->path), "%s", image->map->path);
	ret->debug_build = b->elf.ref_total.found;
	if (!b->elf.runtime.found && !b->elf.runtime_section.found && !b->has_cookie) {
		/* older than the runtime structure (3.7), or not CPython at all */
		ret->version = image_version(k, b, bias);
		return ret->version ? DISCOVER_UNSUPPORTED : DISCOVER_NOT_PYTHON;
	}
	why = runtime_by_table(k->m, &h, ret);
	if (why != DISCOVER_NOT_PYTHON)
		return why;
	h.version = image_version(k, b, bias);
	return runtime_by_version(k->m, &h, ret);
}

/* Looks at one image and keeps the better answer. */
static void look_at_image(struct look *k, const struct image *image)
{
	struct discover_found found;
	struct binary *b;
	enum discover_why why = DISCOVER_INVALID;

	for (int i = 0; i < 2 && why == DISCOVER_INVALID; i++) {
		int r;

		/* what is remembered of the file may be of another that had its numbers */
		if (i && !binary_refresh(k->d->files, k->tid, k->m, image))
			break;
		found = (struct discover_found){0};
		r = binary_get(k->d->files, k->tid, k->m, image, &b);
		if (r == -ENOMEM)
			why = DISCOVER_NOT_YET;
		else if (r)
			why = runtime_why(r);
		else
			why = b ? look_at_binary(k, image, b, &found) : DISCOVER_NOT_PYTHON;
	}
	found.why = why;
	if (rank(why) > rank(k->ret->why))
		*k->ret = found;
}

static bool named_python(const struct image *image)
{
	const char *name = strrchr(image->map->path, '/');

	return name && strstr(name, "python");
}

/* 0: the program; 1: files named python; 2: every other file with code. */
static int turn(const struct image *image)
{
	return image->program ? 0 : !image->exec ? -1 : named_python(image) ? 1 : 2;
}

static void look_at_images(struct look *k)
{
	for (int t = 0; t < 3; t++) {
		for (size_t i = 0; i < k->n && rank(k->ret->why) < rank(DISCOVER_OK); i++)
			if (turn(&k->images[i]) == t)
				look_at_image(k, &k->images[i]);
	}
}

static enum discover_why look_once(struct look *k, const struct task_stat *stat)
{
	int r = maps_read(k->pid, &k->maps);

	*k->ret = (struct discover_found){.why = DISCOVER_NOT_PYTHON};
	if (r == -ESRCH && !stat->image.start_code)
		goto out; /* a kernel thread */
	if (!r) {
		k->images = image_list(&k->maps, &k->n);
		r = k->images ? 0 : -ENOMEM;
	}
	if (r) {
		k->ret->why = r == -ENOMEM ? DISCOVER_NOT_YET : runtime_why(r);
		goto out;
	}
	image_mark_program(k->images, k->n, stat->image.start_code);
	look_at_images(k);
out:
	free(k->images);
	maps_release(&k->maps);
	return k->ret->why;
}

static bool same_image(const struct task_stat *a, const struct task_stat *b)
{
	return task_same_image(&a->image, &b->image) && a->start_ticks == b->start_ticks;
}

enum discover_why discover_process(struct discover *d, pid_t pid, struct mem *m,
				   struct discover_found *ret)
{
	struct task_stat before, after;

	*ret = (struct discover_found){.why = DISCOVER_NOT_YET};
	for (int i = 0; i < TRIES; i++) {
		struct look k = {.d = d, .pid = pid, .m = m, .ret = ret};
		enum discover_why why;
		int r = task_stat_process(pid, &before, &k.tid);

		if (r)
			return ret->why = runtime_why(r);
		why = look_once(&k, &before);
		if (why == DISCOVER_GONE || why == DISCOVER_DENIED || why == DISCOVER_STUCK)
			return why;
		r = task_stat_process(pid, &after, NULL);
		if (r)
			return ret->why = runtime_why(r);
		if (same_image(&before, &after))
			return why;
	}
	return ret->why = DISCOVER_NOT_YET;
}
