/* Files that claim to hold a runtime, mapped by a process of ours: every lie is refused. */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "python/discover.h"
#include "remote/procmem.h"

#define PAGE 0x1000ul
#define VADDR 0x5000ul /* of the data, the file's second page */

static const char names[] = "\0.PyRuntime\0.shstrtab";

/* What the file says and what its data is. */
struct claim {
	uint64_t addr, size; /* of the section */
	uint64_t vaddr, memsz;
	uint8_t data[PAGE];
};

static void write_file(int fd, const struct claim *c)
{
	Elf64_Ehdr head = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shoff = 0x400,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Phdr p[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = PAGE, .p_memsz = PAGE},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = PAGE,
		 .p_vaddr = c->vaddr,
		 .p_filesz = PAGE,
		 .p_memsz = c->memsz},
	};
	Elf64_Shdr s[] = {
		{.sh_type = SHT_NULL},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_addr = c->addr,
		 .sh_size = c->size,
		 .sh_offset = PAGE},
		{.sh_name = 12,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = 0x800,
		 .sh_size = sizeof(names)},
	};
	uint8_t page[PAGE] = {0};

	memcpy(page, &head, sizeof(head));
	memcpy(page + sizeof(head), p, sizeof(p));
	memcpy(page + 0x400, s, sizeof(s));
	memcpy(page + 0x800, names, sizeof(names));
	cr_assert_eq(pwrite(fd, page, PAGE, 0), (ssize_t)PAGE);
	cr_assert_eq(pwrite(fd, c->data, PAGE, PAGE), (ssize_t)PAGE);
}

static void child(int file, int say)
{
	char *base = mmap(NULL, 6 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED ||
	    mmap(base, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) ==
		    MAP_FAILED ||
	    mmap(base + VADDR, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, PAGE) ==
		    MAP_FAILED ||
	    write(say, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static enum discover_why look(const struct claim *c, uint32_t *ret_version)
{
	char path[] = "/tmp/scry-hostile.XXXXXX", byte;
	struct discover *d = discover_new();
	struct discover_found f;
	int file = mkstemp(path), say[2];
	struct mem *m = NULL;
	pid_t pid;

	cr_assert_geq(file, 0);
	unlink(path);
	write_file(file, c);
	cr_assert_eq(pipe2(say, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		child(file, say[1]);
	close(say[1]);
	cr_assert_eq(read(say[0], &byte, 1), 1);
	close(say[0]);
	close(file);
	cr_assert_eq(procmem_new(pid, &m), 0);
	for (int i = 0; i < 2; i++) { /* the second time from the cache */
		enum discover_why why = discover_process(d, pid, m, &f);

		cr_assert(!i || why == f.why);
	}
	mem_free(m);
	discover_free(d);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	*ret_version = f.version;
	return f.why;
}

static struct claim honest(void)
{
	return (struct claim){.addr = VADDR, .size = PAGE, .vaddr = VADDR, .memsz = PAGE};
}

static void put(struct claim *c, size_t at, uint64_t v)
{
	memcpy(c->data + at, &v, sizeof(v));
}

Test(discover_hostile, nothing_there_is_not_yet)
{
	struct claim c = honest();
	uint32_t version;

	cr_assert_eq(look(&c, &version), DISCOVER_NOT_YET);
}

Test(discover_hostile, addresses_outside_are_refused)
{
	static const uint64_t addrs[] = {0, VADDR - 8, VADDR + PAGE, 1, UINT64_MAX, 1ul << 63};
	uint32_t version;

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct claim c = honest();

		c.addr = addrs[i];
		put(&c, 40, 1);
		cr_assert_neq(look(&c, &version), DISCOVER_OK, "%zu", i);
	}
}

Test(discover_hostile, absurd_segments_are_refused)
{
	static const uint64_t sizes[] = {0, UINT64_MAX, 1ul << 60, UINT64_MAX - VADDR};
	uint32_t version;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct claim c = honest();

		c.memsz = sizes[i];
		put(&c, 40, 1); /* initialised, so that a version is searched for */
		cr_assert_neq(look(&c, &version), DISCOVER_OK, "%zu", i);
	}
}

Test(discover_hostile, noise_is_invalid)
{
	uint32_t version;

	for (unsigned int seed = 1; seed < 6; seed++) {
		struct claim c = honest();

		srand(seed);
		for (size_t i = 0; i < PAGE; i++)
			c.data[i] = (uint8_t)rand();
		cr_assert_eq(look(&c, &version), DISCOVER_INVALID);
		cr_assert_eq(version, 0);
		memcpy(c.data, "xdebugpy", 8);
		put(&c, 8, 0x030e0af0);
		cr_assert_eq(look(&c, &version), DISCOVER_INVALID);
	}
}

Test(discover_hostile, versions_we_do_not_know_are_named)
{
	static const uint64_t versions[] = {0x031000f0, 0x040000f0, 0x030c01f0};
	static const char text[] = "3.7.16 (default, Jan 1 2023, 00:00:00) \n[GCC 12]";
	uint32_t version;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct claim c = honest();

		memcpy(c.data, "xdebugpy", 8);
		put(&c, 8, versions[i]);
		cr_assert_eq(look(&c, &version), DISCOVER_UNSUPPORTED, "%lx",
			     (unsigned long)versions[i]);
		cr_assert_eq(version, versions[i]);
	}
	{
		struct claim c = honest();

		put(&c, 40, 1);
		memcpy(c.data + 0x700, text, sizeof(text));
		cr_assert_eq(look(&c, &version), DISCOVER_UNSUPPORTED);
		cr_assert_eq(version, 0x030710f0);
	}
}
