/*
 * Look names up in the symbol tables of an ELF file that is not trusted, by pread.
 *
 * The table of names is searched first for the few that are wanted: most files have none of them
 * and their symbols need not be read at all; in the others a symbol is recognised by where its name
 * starts. A name may start inside of a longer one ("x_PyRuntime" serves both), so every place where
 * the wanted bytes stand counts.
 */
#include "target/elfscan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536u
#define SYMBOLS (CHUNK / sizeof(Elf64_Sym))
#define MAX_PLACES 64 /* where wanted names stand, of one table */
#define MAX_BUCKETS (1u << 20)
#define MAX_CHAIN (1u << 20)

struct place {
	uint64_t offset; /* in the table of names */
	size_t wanted;
};

struct scan {
	int fd;
	struct elfscan_wanted *v;
	size_t n;
	struct place places[MAX_PLACES];
	size_t n_places;
	uint8_t chunk[CHUNK];
};

/* As many bytes as the file has there, at most n. */
static ssize_t read_some(int fd, uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	if (offset > INT64_MAX || n > INT64_MAX - offset)
		return 0;
	while (done < n) {
		ssize_t r = pread(fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

int elfscan_read(int fd, uint64_t offset, void *buf, size_t n)
{
	ssize_t r = read_some(fd, offset, buf, n);

	if (r < 0)
		return (int)r;
	return (size_t)r == n ? 0 : -ENODATA;
}

static void find_in_chunk(struct scan *s, size_t len, uint64_t offset)
{
	for (size_t i = 0; i < s->n; i++) {
		size_t size = strlen(s->v[i].name) + 1;
		const uint8_t *at = s->chunk, *end = s->chunk + len;

		if (s->v[i].found)
			continue;
		while ((at = memmem(at, (size_t)(end - at), s->v[i].name, size))) {
			if (s->n_places == MAX_PLACES)
				return;
			s->places[s->n_places++] = (struct place){
				.offset = offset + (uint64_t)(at - s->chunk), .wanted = i};
			at++;
		}
	}
}

static int find_names(struct scan *s, const struct elfscan_table *t)
{
	uint64_t size = MIN(t->names_size, (uint64_t)ELFSCAN_MAX_BYTES);

	/* chunks overlap, so that a name on their border is whole in one; twice does no harm */
	for (uint64_t at = 0; at < size; at += CHUNK - ELFSCAN_MAX_NAME) {
		size_t want = MIN(size - at, (uint64_t)CHUNK);
		ssize_t r = read_some(s->fd, t->names + at, s->chunk, want);

		if (r < 0)
			return (int)r;
		find_in_chunk(s, (size_t)r, at);
		if ((size_t)r < want)
			break;
		if (want < CHUNK)
			break;
	}
	return 0;
}

static void take(struct scan *s, const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !sym->st_value ||
	    ELF64_ST_TYPE(sym->st_info) == STT_TLS)
		return;
	for (size_t i = 0; i < s->n_places; i++) {
		struct elfscan_wanted *w = &s->v[s->places[i].wanted];

		if (s->places[i].offset != sym->st_name || w->found)
			continue;
		w->found = true;
		w->addr = sym->st_value;
		w->size = sym->st_size;
	}
}

static int find_symbols(struct scan *s, const struct elfscan_table *t)
{
	uint64_t n = MIN(t->n, (uint64_t)ELFSCAN_MAX_BYTES / sizeof(Elf64_Sym));
	Elf64_Sym sym;

	for (uint64_t first = 0; first < n; first += SYMBOLS) {
		size_t want = MIN(n - first, SYMBOLS);
		ssize_t r = read_some(s->fd, t->symbols + first * sizeof(sym), s->chunk,
				      want * sizeof(sym));

		if (r < 0)
			return (int)r;
		for (size_t at = 0; at + sizeof(sym) <= (size_t)r; at += sizeof(sym)) {
			memcpy(&sym, s->chunk + at, sizeof(sym));
			take(s, &sym);
		}
		if ((size_t)r < want * sizeof(sym))
			break;
	}
	return 0;
}

int elfscan_symbols(int fd, const struct elfscan_table *t, struct elfscan_wanted *v, size_t n)
{
	struct scan *s = malloc(sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->v = v;
	s->n = n;
	s->n_places = 0;
	err = find_names(s, t);
	if (!err && s->n_places)
		err = find_symbols(s, t);
	free(s);
	return err;
}

/* One more than the index of the last symbol in the chain that starts at this one. */
static uint64_t end_of_chain(int fd, uint64_t chains, uint64_t symbol, uint32_t first)
{
	uint32_t words[256];

	for (uint64_t n = 0; n < MAX_CHAIN; n += ARRAY_SIZE(words)) {
		uint64_t at = chains + (symbol - first + n) * sizeof(*words);
		ssize_t r = read_some(fd, at, words, sizeof(words));

		for (ssize_t i = 0; i < r / (ssize_t)sizeof(*words); i++)
			if (words[i] & 1)
				return symbol + n + (uint64_t)i + 1;
		if (r < (ssize_t)sizeof(words))
			break;
	}
	return 0;
}

static uint64_t count_gnu(int fd, uint64_t offset)
{
	struct {
		uint32_t n_buckets, first, bloom, shift;
	} head;
	uint32_t words[1024], last = 0;
	uint64_t at;

	if (elfscan_read(fd, offset, &head, sizeof(head)) || head.n_buckets > MAX_BUCKETS)
		return 0;
	at = offset + sizeof(head) + (uint64_t)head.bloom * sizeof(uint64_t);
	for (uint32_t i = 0; i < head.n_buckets; i += ARRAY_SIZE(words)) {
		size_t n = MIN(head.n_buckets - i, ARRAY_SIZE(words));

		if (elfscan_read(fd, at + (uint64_t)i * sizeof(*words), words, n * sizeof(*words)))
			return 0;
		for (size_t k = 0; k < n; k++)
			last = MAX(last, words[k]);
	}
	if (last < head.first)
		return head.first;
	return end_of_chain(fd, at + (uint64_t)head.n_buckets * sizeof(*words), last, head.first);
}

uint64_t elfscan_count(int fd, uint64_t offset, bool gnu)
{
	uint32_t head[2]; /* buckets, chains: one for each symbol */

	if (gnu)
		return count_gnu(fd, offset);
	return elfscan_read(fd, offset, head, sizeof(head)) ? 0 : head[1];
}
