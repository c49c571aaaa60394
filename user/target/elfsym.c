/*
 * What discovery needs of an ELF file that is not trusted.
 *
 * The file belongs to the target: anything in it may be a lie, and it may shrink while it is read.
 * So it is read by pread into memory of our own (a mapping of it would kill us by SIGBUS), and
 * every count has a limit. The program headers come first, as the loader needs them and nothing can
 * be stripped of them: load segments, build id, and the dynamic symbols by way of the dynamic
 * segment. Sections are used where they are, for .PyRuntime and for symbols that are not dynamic.
 */
#include "target/elfsym.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/elfscan.h"
#include "target/mounts.h"

#define MAX_PHDRS 128u
#define MAX_SECTIONS 8192u
#define MAX_DYNAMIC 1024u
#define MAX_NOTES 16384u
#define MAX_BIASES 256 /* ways to explain where a file lies in a process */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

enum { RUNTIME, VERSION, CODE_TYPE, FUNCTION_TYPE, REF_TOTAL, N_WANTED };

struct reading {
	int fd;
	Elf64_Ehdr head;
	Elf64_Phdr dynamic;
	struct elfscan_wanted wanted[N_WANTED];
	struct elfsym_file *ret;
};

static int read_head(struct reading *r)
{
	static const uint8_t ident[] = {ELFMAG0,    ELFMAG1,	 ELFMAG2,   ELFMAG3,
					ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	Elf64_Ehdr *h = &r->head;
	int err = elfscan_read(r->fd, 0, h, sizeof(*h));

	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	if (memcmp(h->e_ident, ident, sizeof(ident)) || h->e_machine != MACHINE ||
	    (h->e_type != ET_EXEC && h->e_type != ET_DYN))
		return -ENOEXEC;
	return 0;
}

/* The build id among the notes of one segment. */
static void take_notes(struct reading *r, const Elf64_Phdr *p)
{
	uint64_t align = p->p_align == 8 ? 8 : 4, size = MIN(p->p_filesz, (uint64_t)MAX_NOTES);
	Elf64_Nhdr note;
	uint64_t at = 0;
	char name[4];

	while (at + sizeof(note) < size && !r->ret->build_id_len) {
		uint64_t desc;

		if (elfscan_read(r->fd, p->p_offset + at, &note, sizeof(note)))
			return;
		at += sizeof(note);
		desc = (at + note.n_namesz + align - 1) & ~(align - 1);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) &&
		    note.n_descsz <= ELFSYM_MAX_BUILD_ID && desc + note.n_descsz <= size &&
		    !elfscan_read(r->fd, p->p_offset + at, name, sizeof(name)) &&
		    !memcmp(name, "GNU", sizeof(name)) &&
		    !elfscan_read(r->fd, p->p_offset + desc, r->ret->build_id, note.n_descsz))
			r->ret->build_id_len = note.n_descsz;
		at = (desc + note.n_descsz + align - 1) & ~(align - 1);
	}
}

static void take_load(struct elfsym_file *f, const Elf64_Phdr *p)
{
	struct elfsym_load *l = &f->load[f->n_load];
	uint64_t end;

	if (f->n_load == ELFSYM_MAX_LOAD || !p->p_memsz || p->p_filesz > p->p_memsz ||
	    __builtin_add_overflow(p->p_vaddr, p->p_memsz, &end) ||
	    __builtin_add_overflow(p->p_offset, p->p_filesz, &end) || end > INT64_MAX)
		return;
	l->vaddr = p->p_vaddr;
	l->offset = p->p_offset;
	l->filesz = p->p_filesz;
	l->memsz = p->p_memsz;
	l->write = p->p_flags & PF_W;
	f->n_load++;
}

static int read_program(struct reading *r)
{
	size_t n = MIN(r->head.e_phnum, MAX_PHDRS);
	Elf64_Phdr p;

	if (r->head.e_phentsize != sizeof(p))
		return -ENOEXEC;
	for (size_t i = 0; i < n; i++) {
		int err = elfscan_read(r->fd, r->head.e_phoff + i * sizeof(p), &p, sizeof(p));

		if (err)
			return err == -ENODATA ? -ENOEXEC : err;
		if (p.p_type == PT_LOAD)
			take_load(r->ret, &p);
		else if (p.p_type == PT_NOTE)
			take_notes(r, &p);
		else if (p.p_type == PT_DYNAMIC)
			r->dynamic = p;
	}
	return 0;
}

/* Where the bytes of a virtual address stand in the file; 0: in no segment. */
static uint64_t offset_of(const struct elfsym_file *f, uint64_t vaddr)
{
	for (uint32_t i = 0; i < f->n_load; i++) {
		const struct elfsym_load *l = &f->load[i];

		if (vaddr >= l->vaddr && vaddr - l->vaddr < l->filesz)
			return l->offset + (vaddr - l->vaddr);
	}
	return 0;
}

/* The symbols that the loader uses. */
static int read_dynamic(struct reading *r)
{
	uint64_t n = MIN(r->dynamic.p_filesz / sizeof(Elf64_Dyn), (uint64_t)MAX_DYNAMIC);
	uint64_t symbols = 0, names = 0, hash = 0, gnu_hash = 0;
	struct elfscan_table t = {0};
	Elf64_Dyn d;

	for (uint64_t i = 0; i < n; i++) {
		if (elfscan_read(r->fd, r->dynamic.p_offset + i * sizeof(d), &d, sizeof(d)) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			symbols = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRTAB)
			names = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRSZ)
			t.names_size = d.d_un.d_val;
		else if (d.d_tag == DT_HASH)
			hash = offset_of(r->ret, d.d_un.d_ptr);
		else if (d.d_tag == DT_GNU_HASH)
			gnu_hash = offset_of(r->ret, d.d_un.d_ptr);
	}
	t.symbols = offset_of(r->ret, symbols);
	t.names = offset_of(r->ret, names);
	if (!t.symbols || !t.names)
		return 0;
	if (hash)
		t.n = elfscan_count(r->fd, hash, false);
	if (!t.n && gnu_hash)
		t.n = elfscan_count(r->fd, gnu_hash, true);
	if (!t.n && names > symbols) /* linkers put the names behind the symbols */
		t.n = (names - symbols) / sizeof(Elf64_Sym);
	return elfscan_symbols(r->fd, &t, r->wanted, N_WANTED);
}

static int read_section(const struct reading *r, uint64_t index, Elf64_Shdr *ret)
{
	return elfscan_read(r->fd, r->head.e_shoff + index * sizeof(*ret), ret, sizeof(*ret));
}

static int take_table(struct reading *r, const Elf64_Shdr *s)
{
	struct elfscan_table t;
	Elf64_Shdr names;

	if (s->sh_entsize != sizeof(Elf64_Sym) || read_section(r, s->sh_link, &names) ||
	    names.sh_type != SHT_STRTAB)
		return 0;
	t = (struct elfscan_table){.symbols = s->sh_offset,
				   .n = s->sh_size / sizeof(Elf64_Sym),
				   .names = names.sh_offset,
				   .names_size = names.sh_size};
	return elfscan_symbols(r->fd, &t, r->wanted, N_WANTED);
}

static void take_runtime_section(struct reading *r, const Elf64_Shdr *s, const Elf64_Shdr *names)
{
	static const char want[] = ".PyRuntime";
	char name[sizeof(want)];

	if (!s->sh_addr || s->sh_name >= names->sh_size ||
	    elfscan_read(r->fd, names->sh_offset + s->sh_name, name, sizeof(name)) ||
	    memcmp(name, want, sizeof(want)))
		return;
	r->ret->runtime_section.found = true;
	r->ret->runtime_section.addr = s->sh_addr;
	r->ret->runtime_section.size = s->sh_size;
}

static int read_sections(struct reading *r)
{
	uint64_t n = r->head.e_shnum, names_at = r->head.e_shstrndx;
	Elf64_Shdr s, names;
	int err = 0;

	if (!r->head.e_shoff || r->head.e_shentsize != sizeof(s) || read_section(r, 0, &s))
		return 0;
	if (!n)
		n = s.sh_size;
	if (names_at == SHN_XINDEX)
		names_at = s.sh_link;
	if (read_section(r, names_at, &names))
		return 0;
	n = MIN(n, (uint64_t)MAX_SECTIONS);
	for (uint64_t i = 1; i < n && !err; i++) {
		if (read_section(r, i, &s))
			break;
		if (s.sh_type == SHT_DYNSYM || s.sh_type == SHT_SYMTAB)
			err = r->wanted[RUNTIME].found ? 0 : take_table(r, &s);
		else if (!r->ret->runtime_section.found)
			take_runtime_section(r, &s, &names);
	}
	return err;
}

static void put(struct elfsym_found *to, const struct elfscan_wanted *from)
{
	to->found = from->found;
	to->addr = from->addr;
	to->size = from->size;
}

int elfsym_read(int fd, struct elfsym_file *ret)
{
	struct reading r = {
		.fd = fd,
		.ret = ret,
		.wanted = {[RUNTIME] = {.name = "_PyRuntime"},
			   [VERSION] = {.name = "Py_Version"},
			   [CODE_TYPE] = {.name = "PyCode_Type"},
			   [FUNCTION_TYPE] = {.name = "PyFunction_Type"},
			   [REF_TOTAL] = {.name = "_Py_RefTotal"}},
	};
	int err;

	memset(ret, 0, sizeof(*ret)); /* the padding too: callers compare */
	err = read_head(&r);
	if (!err)
		err = read_program(&r);
	if (!err)
		err = read_dynamic(&r);
	if (!err)
		err = read_sections(&r);
	put(&ret->runtime, &r.wanted[RUNTIME]);
	put(&ret->version, &r.wanted[VERSION]);
	put(&ret->code_type, &r.wanted[CODE_TYPE]);
	put(&ret->function_type, &r.wanted[FUNCTION_TYPE]);
	put(&ret->ref_total, &r.wanted[REF_TOTAL]);
	return err;
}

/* As the target sees it, whatever links there are; without opening it yet. */
static int find_by_path(pid_t pid, const struct map *map)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char root[64];
	int dir, fd;

	if (map->deleted || map->path[0] != '/')
		return -ENOENT;
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, map->path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

int elfsym_open(pid_t pid, const struct map *map)
{
	char path[96];
	struct stat st;
	int fd, by_path;

	if (mounts_may_hang(pid, map->dev))
		return -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, map->start, map->end);
	by_path = open(path, O_PATH | O_CLOEXEC);
	if (by_path < 0)
		by_path = find_by_path(pid, map);
	if (by_path < 0)
		return by_path;
	/* a device does something when it is opened */
	if (fstat(by_path, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode))
		fd = -ENOEXEC;
	else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", by_path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0)
			fd = -errno;
	}
	close(by_path);
	return fd;
}

static bool same_file(const struct map *a, const struct map *b)
{
	return a->inode && a->inode == b->inode && a->dev == b->dev;
}

/* Is this mapping, of the same file, a part of the segment when the file is moved by bias? */
static bool explains(const struct elfsym_load *l, const struct map *m, uint64_t bias)
{
	return m->start - m->offset == bias + l->vaddr - l->offset &&
	       m->offset < l->offset + l->filesz && m->offset + (m->end - m->start) > l->offset;
}

/*
 * How much speaks for a bias: the segments that are where they should be, and between two copies of
 * the file that `of` is in this one. Neighbours in the file may share a page, and then the mapping
 * of one could be the other's; a file may also be mapped as plain data: only the whole tells.
 */
static unsigned int score(const struct elfsym_file *f, const struct maps *maps,
			  const struct map *of, uint64_t bias)
{
	unsigned int n = 0, is_of = 0;

	for (uint32_t i = 0; i < f->n_load; i++) {
		const struct elfsym_load *l = &f->load[i];
		const struct map *m = maps_find(maps, bias + l->vaddr);

		if (m && same_file(m, of) && explains(l, m, bias))
			n += 2;
		if (explains(l, of, bias))
			is_of = 1;
	}
	return n + is_of;
}

static bool in_segment(const struct elfsym_file *f, uint64_t vaddr)
{
	for (uint32_t i = 0; i < f->n_load; i++)
		if (vaddr >= f->load[i].vaddr && vaddr - f->load[i].vaddr < f->load[i].memsz)
			return true;
	return false;
}

int elfsym_locate(const struct elfsym_file *f, const struct maps *maps, const struct map *of,
		  uint64_t vaddr, uint64_t *ret)
{
	unsigned int best = 0, tried = 0;
	uint64_t found = 0;

	if (!in_segment(f, vaddr))
		return -ENOENT;
	for (size_t i = 0; i <= maps->n && tried < MAX_BIASES; i++) {
		const struct map *m = i ? &maps->v[i - 1] : of;

		for (uint32_t k = 0; k < f->n_load && same_file(m, of); k++) {
			const struct elfsym_load *l = &f->load[k];
			uint64_t bias = m->start - m->offset - l->vaddr + l->offset;
			unsigned int n;

			if (!explains(l, m, bias))
				continue;
			tried++;
			n = score(f, maps, of, bias);
			if (n > best) {
				best = n;
				found = bias + vaddr;
			}
		}
	}
	if (!best)
		return -ENOENT;
	*ret = found;
	return 0;
}
