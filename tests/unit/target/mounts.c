/* Tests of target/mounts.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/maps.h"
#include "target/mounts.h"

#define DEV(major, minor) ((major##u << 20) | minor##u)

static const char text[] = "23 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
			   "28 0 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
			   "x 0 0:50 / / rw - bad bad rw\n"
			   "31 28 0:50 / /mnt/a\\040-\\040b rw,nosuid master:3 propagate_from:2 - "
			   "fuse.sshfs me@there: rw\n"
			   "32 28 0:1048576 / /x rw - bad bad rw\n"
			   "33 28 0:51 / /x rw bad\n"
			   "34 28 0:52 / /x rw - nfs4";

Test(mounts, types)
{
	char type[64] = "";

	cr_assert_eq(mounts_type(text, DEV(0, 21), type, sizeof(type)), 0);
	cr_assert_str_eq(type, "sysfs");
	cr_assert_eq(mounts_type(text, DEV(254, 1), type, sizeof(type)), 0);
	cr_assert_str_eq(type, "ext4");
	cr_assert_eq(mounts_type(text, DEV(0, 50), type, sizeof(type)), 0);
	cr_assert_str_eq(type, "fuse.sshfs");
	cr_assert_eq(mounts_type(text, DEV(0, 52), type, sizeof(type)), 0);
	cr_assert_str_eq(type, "nfs4");
	cr_assert_eq(mounts_type(text, DEV(0, 51), type, sizeof(type)), -ENOENT);
	cr_assert_eq(mounts_type(text, DEV(1, 0), type, sizeof(type)), -ENOENT);
	cr_assert_eq(mounts_type("", 0, type, sizeof(type)), -ENOENT);
	cr_assert_eq(mounts_type(text, DEV(0, 50), type, 10), -ENOSPC);
}

static uint32_t dev_of(const void *p)
{
	const struct map *map;
	struct maps m;
	uint32_t dev;

	cr_assert_eq(maps_read(getpid(), &m), 0);
	map = maps_find(&m, (uintptr_t)p);
	cr_assert_not_null(map);
	dev = map->dev;
	maps_release(&m);
	return dev;
}

Test(mounts, who_may_hang)
{
	int fd = memfd_create("x", MFD_CLOEXEC);
	void *p;

	cr_assert_not(mounts_may_hang(getpid(), DEV(8, 1)), "a disk");
	cr_assert(mounts_may_hang(getpid(), DEV(0, 1048575)), "not to be seen");
	cr_assert_not(mounts_may_hang(getpid(), dev_of((void *)(uintptr_t)&mounts_type)));
	cr_assert_eq(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert_neq(p, MAP_FAILED);
	cr_assert_not(mounts_may_hang(getpid(), dev_of(p)), "shared memory");
	munmap(p, 4096);
	close(fd);
}
