/* Select the kernel's types that BPF programs name, out of all that it describes. */
#include "collect/kernelbtf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/btf.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define KERNEL_TYPES_MAX (256u << 20)
#define NAMES_MAX 1024
#define TYPE_WORDS 3 /* of struct btf_type, before what its kind adds */
#define FLAVOUR "___"

/* Words behind a type of each kind; those of each element of it. */
static const struct {
	uint8_t fixed, each;
} kind_words[] = {
	[BTF_KIND_INT] = {1, 0},    [BTF_KIND_PTR] = {0, 0},	    [BTF_KIND_ARRAY] = {3, 0},
	[BTF_KIND_STRUCT] = {0, 3}, [BTF_KIND_UNION] = {0, 3},	    [BTF_KIND_ENUM] = {0, 2},
	[BTF_KIND_FWD] = {0, 0},    [BTF_KIND_TYPEDEF] = {0, 0},    [BTF_KIND_VOLATILE] = {0, 0},
	[BTF_KIND_CONST] = {0, 0},  [BTF_KIND_RESTRICT] = {0, 0},   [BTF_KIND_FUNC] = {0, 0},
	[BTF_KIND_VAR] = {1, 0},    [BTF_KIND_FUNC_PROTO] = {0, 2}, [BTF_KIND_DATASEC] = {0, 3},
	[BTF_KIND_FLOAT] = {0, 0},  [BTF_KIND_DECL_TAG] = {1, 0},   [BTF_KIND_TYPE_TAG] = {0, 0},
	[BTF_KIND_ENUM64] = {0, 3},
};

struct kernelbtf {
	void *data;
	size_t size;
	bool mapped;
	const uint32_t *types;
	const char *strings;
	uint32_t strings_len;
	uint32_t *at; /* of each type, by its id from 1 on: where in `types` */
	size_t cap;
	uint32_t n; /* ids are below */
	int fd;
	char path[32];
};

/* What is being written: types get their new numbers in the order they are asked for. */
struct selection {
	const struct kernelbtf *k;
	uint32_t *number; /* by id; 0: not asked for */
	uint32_t *ids;	  /* by number, from 1 on */
	size_t cap;
	uint32_t n;
	struct buf types, strings;
};

static const struct btf_type *type_at(const struct kernelbtf *k, uint32_t id)
{
	return (const struct btf_type *)(k->types + k->at[id]);
}

/* Since Linux 6.16 it can be mapped, which spares 1,350 reads of 4 KiB. */
static int read_all(struct kernelbtf *k)
{
	int fd = open(KERNEL_TYPES, O_RDONLY | O_CLOEXEC);
	struct buf b;
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_size > 0)
		k->data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (k->data && k->data != MAP_FAILED) {
		k->mapped = true;
		k->size = st.st_size;
		return 0;
	}
	buf_init(&b);
	err = file_read(KERNEL_TYPES, KERNEL_TYPES_MAX, &b);
	k->data = b.data;
	k->size = b.len;
	return err ? err : b.failed ? -ENOMEM : 0;
}

/* Where each type begins. */
static int index_types(struct kernelbtf *k, uint32_t words)
{
	uint32_t at = 0, kind;
	const struct btf_type *t;

	for (k->n = 1; at < words; k->n++) {
		t = (const struct btf_type *)(k->types + at);
		if (words - at < TYPE_WORDS)
			return -EINVAL;
		kind = btf_kind(t);
		if (!kind || kind >= ARRAY_SIZE(kind_words) || t->name_off >= k->strings_len)
			return -EINVAL;
		if (vec_reserve(&k->at, &k->cap, k->n + 1, sizeof(*k->at)))
			return -ENOMEM;
		k->at[k->n] = at;
		at += TYPE_WORDS + kind_words[kind].fixed + btf_vlen(t) * kind_words[kind].each;
	}
	return at == words ? 0 : -EINVAL;
}

static int index_all(struct kernelbtf *k)
{
	const struct btf_header *h = k->data;
	uint64_t room;

	if (k->size < sizeof(*h) || h->magic != BTF_MAGIC || h->version != BTF_VERSION ||
	    h->hdr_len < sizeof(*h) || h->hdr_len > k->size)
		return -EINVAL;
	room = k->size - h->hdr_len;
	if ((uint64_t)h->type_off + h->type_len > room ||
	    (uint64_t)h->str_off + h->str_len > room ||
	    (h->hdr_len | h->type_off | h->type_len) & 3)
		return -EINVAL;
	k->types = (const uint32_t *)((const char *)k->data + h->hdr_len + h->type_off);
	k->strings = (const char *)k->data + h->hdr_len + h->str_off;
	k->strings_len = h->str_len;
	if (!k->strings_len || k->strings[k->strings_len - 1])
		return -EINVAL;
	return index_types(k, h->type_len / 4);
}

int kernelbtf_new(struct kernelbtf **ret)
{
	struct kernelbtf *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	k->fd = memfd_create("types", MFD_CLOEXEC);
	err = k->fd < 0 ? -errno : read_all(k);
	if (!err)
		err = index_all(k);
	if (err) {
		kernelbtf_free(k);
		return err;
	}
	snprintf(k->path, sizeof(k->path), "/proc/self/fd/%d", k->fd);
	*ret = k;
	return 0;
}

void kernelbtf_free(struct kernelbtf *k)
{
	if (!k)
		return;
	if (k->mapped)
		munmap(k->data, k->size);
	else if (k->data != MAP_FAILED)
		free(k->data);
	if (k->fd >= 0)
		close(k->fd);
	free(k->at);
	free(k);
}

const char *kernelbtf_path(const struct kernelbtf *k)
{
	return k->path;
}

static uint32_t put_string(struct selection *s, uint32_t offset)
{
	const char *text = s->k->strings + (offset < s->k->strings_len ? offset : 0);
	uint32_t at = s->strings.len;

	if (!*text)
		return 0;
	buf_put(&s->strings, text, strlen(text) + 1);
	return at;
}

/* The new number of a type; 0 is `void`, which also stands for what is no part of any data. */
static uint32_t number_of(struct selection *s, uint32_t id)
{
	uint32_t kind = id && id < s->k->n ? btf_kind(type_at(s->k, id)) : 0;

	if (!kind || kind == BTF_KIND_FUNC || kind == BTF_KIND_FUNC_PROTO || kind == BTF_KIND_VAR ||
	    kind == BTF_KIND_DATASEC || kind == BTF_KIND_DECL_TAG)
		return 0;
	if (s->number[id])
		return s->number[id];
	if (vec_reserve(&s->ids, &s->cap, s->n + 1, sizeof(*s->ids))) {
		s->types.failed = true;
		return 0;
	}
	s->ids[s->n] = id;
	s->number[id] = s->n;
	return s->n++;
}

static void put_members(struct selection *s, const struct btf_type *t)
{
	const struct btf_member *from = btf_members(t);

	for (int i = 0; i < btf_vlen(t); i++) {
		struct btf_member m = {
			.name_off = put_string(s, from[i].name_off),
			.type = number_of(s, from[i].type),
			.offset = from[i].offset,
		};

		buf_put(&s->types, &m, sizeof(m));
	}
}

static void put_array(struct selection *s, const struct btf_type *t)
{
	struct btf_array a = *btf_array(t);

	a.type = number_of(s, a.type);
	a.index_type = number_of(s, a.index_type);
	buf_put(&s->types, &a, sizeof(a));
}

/* Values of an enum: a name and one word, or two. */
static void put_values(struct selection *s, const struct btf_type *t, size_t words)
{
	const uint32_t *from = (const uint32_t *)(t + 1);

	for (int i = 0; i < btf_vlen(t); i++, from += words) {
		uint32_t name = put_string(s, from[0]);

		buf_put(&s->types, &name, sizeof(name));
		buf_put(&s->types, from + 1, (words - 1) * sizeof(*from));
	}
}

static void put_type(struct selection *s, uint32_t id)
{
	const struct btf_type *from = type_at(s->k, id);
	uint32_t kind = btf_kind(from);
	struct btf_type t = *from;

	t.name_off = put_string(s, t.name_off);
	if (kind == BTF_KIND_PTR)
		t.type = 0;
	else if (btf_is_mod(from) || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_TYPE_TAG)
		t.type = number_of(s, t.type);
	buf_put(&s->types, &t, sizeof(t));
	if (btf_is_composite(from))
		put_members(s, from);
	else if (kind == BTF_KIND_ARRAY)
		put_array(s, from);
	else if (kind_words[kind].each)
		put_values(s, from, kind_words[kind].each);
	else
		buf_put(&s->types, from + 1, kind_words[kind].fixed * sizeof(uint32_t));
}

static bool is_named(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_any_enum(t));
}

/* Names of types without what tells kernel versions apart, in lists by their first character. */
struct names {
	struct {
		const char *text;
		size_t len;
		int next;
	} v[NAMES_MAX];
	int first[256];
	int n;
};

static void names_take(struct names *names, const struct btf *programs)
{
	memset(names->first, -1, sizeof(names->first));
	names->n = 0;
	for (uint32_t id = 1; id < btf__type_cnt(programs) && names->n < NAMES_MAX; id++) {
		const struct btf_type *t = btf__type_by_id(programs, id);
		const char *text = btf__name_by_offset(programs, t->name_off), *flavour;
		int *first;

		if (!is_named(t) || !text || !*text)
			continue;
		flavour = strstr(text + 1, FLAVOUR);
		first = &names->first[(uint8_t)*text];
		names->v[names->n].text = text;
		names->v[names->n].len = flavour ? (size_t)(flavour - text) : strlen(text);
		names->v[names->n].next = *first;
		*first = names->n++;
	}
}

static bool names_have(const struct names *names, const char *text)
{
	for (int i = names->first[(uint8_t)*text]; i >= 0; i = names->v[i].next)
		if (!strncmp(text, names->v[i].text, names->v[i].len) && !text[names->v[i].len])
			return true;
	return false;
}

static int write_selection(struct kernelbtf *k, const struct selection *s)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = s->types.len,
		.str_off = s->types.len,
		.str_len = s->strings.len,
	};
	int err;

	if (s->types.failed || s->strings.failed)
		return -ENOMEM;
	err = file_write(k->fd, &h, sizeof(h));
	if (!err)
		err = file_write(k->fd, s->types.data, s->types.len);
	return err ? err : file_write(k->fd, s->strings.data, s->strings.len);
}

int kernelbtf_fill(struct kernelbtf *k, const struct btf *programs)
{
	struct selection s = {.k = k, .n = 1, .number = calloc(k->n, sizeof(*s.number))};
	struct names *names = malloc(sizeof(*names));
	int err = -ENOMEM;

	buf_init(&s.types);
	buf_init(&s.strings);
	if (!names || !s.number)
		goto out;
	names_take(names, programs);
	buf_putc(&s.strings, '\0');
	for (uint32_t id = 1; id < k->n; id++) {
		const struct btf_type *t = type_at(k, id);

		if (is_named(t) && names_have(names, k->strings + t->name_off))
			number_of(&s, id);
	}
	for (uint32_t i = 1; i < s.n; i++)
		put_type(&s, s.ids[i]);
	err = write_selection(k, &s);
out:
	buf_release(&s.types);
	buf_release(&s.strings);
	free(s.number);
	free(s.ids);
	free(names);
	return err;
}
