/* Tests of target/elfsym.c and elfscan.c: a small library built here, whole, stripped and damaged.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/elfscan.h"
#include "target/elfsym.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

#define DATA_BIAS 0x1000u /* addresses of the second segment are so much above its offsets */

/*
 * Text with the tables a loader needs, data with the dynamic segment, then the sections.
 * "_PyRuntime" is the tail of another name, as linkers merge them.
 */
struct library {
	Elf64_Ehdr head;
	Elf64_Phdr program[4];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[20];
	} note;
	struct {
		uint32_t n_buckets, first, bloom, shift;
		uint64_t filter[1];
		uint32_t buckets[2], chains[4];
	} gnu_hash;
	uint32_t hash[2 + 1 + 6];
	Elf64_Sym symbols[6];
	char names[64];
	uint8_t data[256];
	Elf64_Dyn dynamic[6];
	char section_names[64];
	Elf64_Sym all_symbols[2];
	Elf64_Shdr sections[6];
};

static const char names[] = "\0x_PyRuntime\0Py_Version\0PyCode_Type\0_Py_RefTotal\0";
static const char section_names[] = "\0.PyRuntime\0.dynsym\0.dynstr\0.symtab\0";

#define AT(member) offsetof(struct library, member)
#define DATA(member) (AT(member) + DATA_BIAS)

static Elf64_Sym symbol(uint32_t name, uint64_t addr, uint64_t size)
{
	return (Elf64_Sym){.st_name = name,
			   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			   .st_shndx = 1,
			   .st_value = addr,
			   .st_size = size};
}

static void build_program(struct library *l)
{
	l->program[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_filesz = AT(data),
				     .p_memsz = AT(data)};
	l->program[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_W,
				     .p_offset = AT(data),
				     .p_vaddr = DATA(data),
				     .p_filesz = AT(section_names) - AT(data),
				     .p_memsz = 0x2000};
	l->program[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				     .p_offset = AT(dynamic),
				     .p_vaddr = DATA(dynamic),
				     .p_filesz = sizeof(l->dynamic)};
	l->program[3] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = AT(note), .p_filesz = sizeof(l->note), .p_align = 4};
	l->note.head = (Elf64_Nhdr){4, 20, NT_GNU_BUILD_ID};
	memcpy(l->note.name, "GNU", 4);
	for (uint8_t i = 0; i < 20; i++)
		l->note.id[i] = i;
}

static void build_symbols(struct library *l)
{
	memcpy(l->names, names, sizeof(names));
	l->symbols[1] = symbol(1, DATA(data), 1);	/* x_PyRuntime */
	l->symbols[2] = symbol(2, DATA(data) + 16, 99); /* _PyRuntime */
	l->symbols[3] = symbol(13, DATA(data) + 8, 4);	/* Py_Version */
	l->symbols[4] = symbol(24, 0, 0);		/* PyCode_Type, wanted from elsewhere */
	l->symbols[4].st_shndx = SHN_UNDEF;
	l->symbols[5] = symbol(24, DATA(data) + 32, 408); /* and defined */
	l->hash[0] = 1;
	l->hash[1] = 6;
	l->gnu_hash.n_buckets = 2;
	l->gnu_hash.first = 2;
	l->gnu_hash.bloom = 1;
	l->gnu_hash.buckets[0] = 2;
	l->gnu_hash.buckets[1] = 4;
	l->gnu_hash.chains[1] = l->gnu_hash.chains[3] = 1;
	l->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {AT(symbols)}};
	l->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {AT(names)}};
	l->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {sizeof(names)}};
	l->dynamic[3] = (Elf64_Dyn){DT_GNU_HASH, {AT(gnu_hash)}};
	l->dynamic[4] = (Elf64_Dyn){DT_HASH, {AT(hash)}};
}

static void build_sections(struct library *l)
{
	memcpy(l->section_names, section_names, sizeof(section_names));
	l->head.e_shoff = AT(sections);
	l->head.e_shnum = 6;
	l->head.e_shstrndx = 5;
	l->head.e_shentsize = sizeof(Elf64_Shdr);
	l->sections[1] = (Elf64_Shdr){.sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_WRITE,
				      .sh_addr = DATA(data) + 16,
				      .sh_size = 99};
	l->sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
				      .sh_offset = AT(symbols),
				      .sh_size = sizeof(l->symbols),
				      .sh_link = 3,
				      .sh_entsize = sizeof(Elf64_Sym)};
	l->sections[3] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = sizeof(names)};
	l->all_symbols[1] = symbol(2, DATA(data) + 16, 99);
	l->sections[4] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				      .sh_offset = AT(all_symbols),
				      .sh_size = sizeof(l->all_symbols),
				      .sh_link = 3,
				      .sh_entsize = sizeof(Elf64_Sym)};
	l->sections[5] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				      .sh_offset = AT(section_names),
				      .sh_size = sizeof(section_names)};
}

static struct library build(void)
{
	struct library l = {.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						 ELFDATA2LSB, EV_CURRENT},
				     .e_type = ET_DYN,
				     .e_machine = MACHINE,
				     .e_phoff = AT(program),
				     .e_phnum = 4,
				     .e_phentsize = sizeof(Elf64_Phdr)}};

	build_program(&l);
	build_symbols(&l);
	build_sections(&l);
	return l;
}

static void strip_sections(struct library *l)
{
	l->head.e_shoff = l->head.e_shnum = l->head.e_shstrndx = 0;
	memset(l->section_names, 0xff, sizeof(*l) - AT(section_names));
}

static int read_bytes(const void *p, size_t n, struct elfsym_file *f)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), err;

	cr_assert_eq(pwrite(fd, p, n, 0), (ssize_t)n);
	err = elfsym_read(fd, f);
	close(fd);
	return err;
}

static void expect_symbols(const struct elfsym_file *f)
{
	cr_assert(f->runtime.found && f->version.found && f->code_type.found);
	cr_assert_eq(f->runtime.addr, DATA(data) + 16);
	cr_assert_eq(f->runtime.size, 99);
	cr_assert_eq(f->version.addr, DATA(data) + 8);
	cr_assert_eq(f->code_type.addr, DATA(data) + 32);
	cr_assert_eq(f->code_type.size, 408);
}

Test(elfsym, a_debug_build)
{
	struct library l = build();
	struct elfsym_file f;

	cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
	cr_assert_not(f.ref_total.found);
	l.symbols[1] = symbol(36, DATA(data), 8);
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
	cr_assert(f.ref_total.found);
	expect_symbols(&f);
}

Test(elfsym, a_whole_library)
{
	struct library l = build();
	struct elfsym_file f;

	cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
	expect_symbols(&f);
	cr_assert(f.runtime_section.found);
	cr_assert_eq(f.runtime_section.addr, DATA(data) + 16);
	cr_assert_eq(f.runtime_section.size, 99);
	cr_assert_eq(f.build_id_len, 20);
	cr_assert_eq(memcmp(f.build_id, l.note.id, 20), 0);
	cr_assert_eq(f.n_load, 2);
	cr_assert(!f.load[0].write && f.load[1].write);
	cr_assert_eq(f.load[1].vaddr, DATA(data));
	cr_assert_eq(f.load[1].memsz, 0x2000);
}

Test(elfsym, without_sections_by_each_way_to_count_symbols)
{
	for (int way = 0; way < 3; way++) {
		struct library l = build();
		struct elfsym_file f;

		strip_sections(&l);
		if (way >= 1)
			l.dynamic[4].d_tag = DT_DEBUG;
		if (way >= 2)
			l.dynamic[3].d_tag = DT_DEBUG;
		cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
		expect_symbols(&f);
		cr_assert_not(f.runtime_section.found);
		cr_assert_eq(f.build_id_len, 20);
	}
}

Test(elfsym, symbols_that_are_not_dynamic)
{
	struct library l = build();
	struct elfsym_file f;

	l.program[2].p_type = PT_NULL;
	l.sections[2].sh_type = SHT_NULL;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
	cr_assert(f.runtime.found && !f.version.found);
	cr_assert_eq(f.runtime.addr, DATA(data) + 16);
}

Test(elfsym, what_is_no_elf_file_for_us)
{
	struct library l = build();
	struct elfsym_file f;

	cr_assert_eq(read_bytes("", 0, &f), -ENOEXEC);
	cr_assert_eq(read_bytes("#!/bin/sh\n", 10, &f), -ENOEXEC);
	l.head.e_machine = EM_S390;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), -ENOEXEC);
	l = build();
	l.head.e_ident[EI_CLASS] = ELFCLASS32;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), -ENOEXEC);
	l = build();
	l.head.e_type = ET_REL;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), -ENOEXEC);
	l = build();
	l.head.e_phoff = UINT64_MAX - 8;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), -ENOEXEC);
	cr_assert_eq(elfsym_read(-1, &f), -EBADF);
}

Test(elfsym, counts_that_lie)
{
	struct library l = build();
	struct elfsym_file f;

	l.hash[1] = UINT32_MAX;
	l.dynamic[2].d_un.d_val = UINT64_MAX;
	l.sections[4].sh_size = UINT64_MAX;
	l.sections[3].sh_size = UINT64_MAX;
	l.head.e_shnum = UINT16_MAX;
	l.note.head.n_descsz = UINT32_MAX;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
	expect_symbols(&f);
	cr_assert_eq(f.build_id_len, 0);
	l.note.head.n_descsz = ELFSYM_MAX_BUILD_ID + 1;
	l.gnu_hash.n_buckets = UINT32_MAX;
	l.dynamic[4].d_tag = DT_DEBUG;
	l.program[1].p_filesz = UINT64_MAX;
	cr_assert_eq(read_bytes(&l, sizeof(l), &f), 0);
	cr_assert_eq(f.build_id_len, 0);
	cr_assert_eq(f.n_load, 1, "more in the file than in memory is no segment");
}

/* Cut off anywhere, and with any few bytes changed: no crash, no endless reading. */
Test(elfsym, damaged_files, .timeout = 120)
{
	struct library good = build(), l;
	struct elfsym_file f;
	size_t ok = 0;

	for (size_t n = 0; n < sizeof(good); n++) {
		int err = read_bytes(&good, n, &f);

		cr_assert(!err || err == -ENOEXEC, "%zu: %d", n, err);
		cr_assert(f.n_load <= ELFSYM_MAX_LOAD && f.build_id_len <= ELFSYM_MAX_BUILD_ID);
	}
	srand(3);
	for (int i = 0; i < 4000; i++) {
		l = good;
		for (int k = rand() % 4; k >= 0; k--)
			((uint8_t *)&l)[(size_t)rand() % sizeof(l)] = (uint8_t)(rand() >> 8);
		ok += !read_bytes(&l, sizeof(l), &f);
		cr_assert(f.n_load <= ELFSYM_MAX_LOAD && f.build_id_len <= ELFSYM_MAX_BUILD_ID);
	}
	cr_assert_gt(ok, 1000);
}

/* A name on the border of two chunks, a table of many symbols. */
Test(elfscan, large_tables)
{
	enum { N = 10000, NAMES = 200000 };
	static Elf64_Sym symbols[N];
	static char text[NAMES];

	for (size_t at = 65536 - 40; at < 65536 + 10; at++) {
		struct elfscan_wanted w = {.name = "_PyRuntime"};
		struct elfscan_table t = {
			.symbols = 0, .n = N, .names = sizeof(symbols), .names_size = NAMES};
		int fd = memfd_create("elf", MFD_CLOEXEC);

		memset(text, 'x', sizeof(text));
		memcpy(text + at, "_PyRuntime", 11);
		memset(symbols, 0, sizeof(symbols));
		symbols[N - 1] = symbol((uint32_t)at, 0x1234, 5);
		cr_assert_eq(pwrite(fd, symbols, sizeof(symbols), 0), (ssize_t)sizeof(symbols));
		cr_assert_eq(pwrite(fd, text, NAMES, sizeof(symbols)), NAMES);
		cr_assert_eq(elfscan_symbols(fd, &t, &w, 1), 0);
		cr_assert(w.found && w.addr == 0x1234 && w.size == 5, "%zu", at);
		close(fd);
	}
}

static struct maps parse(char *text)
{
	struct maps m;

	cr_assert_eq(maps_parse(text, &m), 0);
	return m;
}

static const struct elfsym_file two_segments = {
	.n_load = 3,
	.load = {{.vaddr = 0, .offset = 0, .filesz = 0x1800, .memsz = 0x1800},
		 {.vaddr = 0x2e00,
		  .offset = 0x1e00,
		  .filesz = 0x2000,
		  .memsz = 0x5000,
		  .write = true},
		 {.vaddr = 0x9000, .offset = 0x4000, .filesz = 0x1000, .memsz = 0x1000}},
};

Test(elfsym, located_by_the_segment)
{
	/* the first mapping of the file is data; two copies are loaded; one has a read-only part */
	char text[] = "10000-15000 r--p 00000000 08:01 7 /lib\n"
		      "100000-102000 r-xp 00000000 08:01 7 /lib\n"
		      "102000-103000 r--p 00001000 08:01 7 /lib\n"
		      "103000-105000 rw-p 00002000 08:01 7 /lib\n"
		      "105000-108000 rw-p 00000000 00:00 0\n"
		      "109000-10a000 r--p 00004000 08:01 7 /lib\n"
		      "200000-202000 r-xp 00000000 08:01 7 /lib\n"
		      "202000-205000 rw-p 00001000 08:01 7 /lib\n"
		      "205000-208000 rw-p 00000000 00:00 0\n"
		      "209000-20a000 r--p 00004000 08:01 7 /lib\n"
		      "300000-302000 r-xp 00000000 08:01 8 /other\n";
	struct maps m = parse(text);
	uint64_t at = 0;

	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[1], 0x10, &at), 0);
	cr_assert_eq(at, 0x100010);
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[1], 0x3000, &at), 0);
	cr_assert_eq(at, 0x103000);
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[1], 0x7000, &at), 0);
	cr_assert_eq(at, 0x107000, "not in the file");
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[3], 0x3000, &at), 0);
	cr_assert_eq(at, 0x103000);
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[6], 0x3000, &at), 0);
	cr_assert_eq(at, 0x203000);
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[0], 0x3000, &at), 0);
	cr_assert_eq(at, 0x103000, "the mapping given is no copy that is loaded");
	at = 1;
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[1], 0x8000, &at), -ENOENT);
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[1], UINT64_MAX, &at), -ENOENT);
	cr_assert_eq(elfsym_locate(&two_segments, &m, &m.v[4], 0x10, &at), -ENOENT);
	cr_assert_eq(elfsym_locate(&(struct elfsym_file){0}, &m, &m.v[1], 0x10, &at), -ENOENT);
	cr_assert_eq(at, 1);
	maps_release(&m);
}

static int a_variable;

/* This program itself: what the file says of itself is where it is. */
Test(elfsym, this_process)
{
	struct elfsym_file f;
	const struct map *code;
	struct maps m;
	uint64_t at;
	int fd;

	cr_assert_eq(maps_read(getpid(), &m), 0);
	code = maps_find(&m, (uintptr_t)&elfsym_read);
	fd = elfsym_open(getpid(), code);
	cr_assert_geq(fd, 0);
	cr_assert_eq(elfsym_read(fd, &f), 0);
	cr_assert_not(f.runtime.found);
	cr_assert_geq(f.n_load, 2);
	cr_assert_geq(f.build_id_len, 8);
	cr_assert_eq(elfsym_locate(&f, &m, code, f.load[0].vaddr, &at), 0);
	cr_assert_eq(memcmp((void *)(uintptr_t)at, ELFMAG, SELFMAG), 0);
	cr_assert_eq(
		elfsym_locate(&f, &m, code, (uintptr_t)&a_variable - at + f.load[0].vaddr, &at), 0);
	cr_assert_eq(at, (uintptr_t)&a_variable);
	close(fd);
	maps_release(&m);
}

Test(elfsym, only_regular_files_are_opened)
{
	struct map none = {.path = "", .start = 1, .end = 2, .dev = 8 << 20};
	struct map pipe_map = {.start = 1, .end = 2, .dev = 8 << 20};
	char path[64];
	int fd;

	cr_assert_eq(elfsym_open(getpid(), &none), -ENOENT);
	none.path = "/etc/passwd";
	fd = elfsym_open(getpid(), &none);
	cr_assert_geq(fd, 0, "by its path, where the mapping is not found");
	close(fd);
	none.deleted = true;
	cr_assert_eq(elfsym_open(getpid(), &none), -ENOENT);
	none.deleted = false;
	none.dev = 0;
	cr_assert_eq(elfsym_open(getpid(), &none), -ENOTSUP, "who knows who answers for it");
	none.dev = 8 << 20;
	none.path = "/dev/null";
	cr_assert_eq(elfsym_open(getpid(), &none), -ENOEXEC);
	none.path = "/proc/self/root/etc/passwd";
	cr_assert_eq(elfsym_open(getpid(), &none), -ELOOP, "links of the kernel's lead anywhere");
	snprintf(path, sizeof(path), "/tmp/scry-unit-%d", getpid());
	cr_assert_eq(mkfifo(path, 0600), 0);
	pipe_map.path = path;
	cr_assert_eq(elfsym_open(getpid(), &pipe_map), -ENOEXEC,
		     "and it does not wait for a writer");
	unlink(path);
	cr_assert_eq(elfsym_open(INT32_MAX, &pipe_map), -ENOENT);
}
