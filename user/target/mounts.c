/* What kind of file system a device number of a process's mappings stands for. */
#include "target/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"

#define MOUNTS_MAX_TEXT (16u << 20)
#define MINOR_BITS 20 /* of struct map's dev */

/* "36 35 98:0 /root /mount options fields… - type source options"; blanks in names are escaped. */
static bool line_dev(const char *s, uint32_t *ret)
{
	uint64_t id, parent, major, minor;

	if (num_scan(&s, 10, &id) || *s++ != ' ' || num_scan(&s, 10, &parent) || *s++ != ' ' ||
	    num_scan(&s, 10, &major) || *s++ != ':' || num_scan(&s, 10, &minor) || *s != ' ')
		return false;
	if (minor >> MINOR_BITS || major >> (32 - MINOR_BITS))
		return false;
	*ret = (uint32_t)(major << MINOR_BITS | minor);
	return true;
}

int mounts_type(const char *text, uint32_t dev, char *buf, size_t size)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		const char *type;
		uint32_t d;
		size_t n;

		end = line + strcspn(line, "\n");
		if (!line_dev(line, &d) || d != dev)
			continue;
		type = memmem(line, (size_t)(end - line), " - ", 3);
		if (!type)
			continue;
		type += 3;
		n = strcspn(type, " \n");
		if (n >= size)
			return -ENOSPC;
		memcpy(buf, type, n);
		buf[n] = '\0';
		return 0;
	}
	return -ENOENT;
}

/* The kernel's own mount of shared memory, which no process shows: memfd and the like. */
static bool is_shared_memory(uint32_t dev)
{
	int fd = memfd_create("scry", MFD_CLOEXEC);
	struct stat st;
	bool is = fd >= 0 && !fstat(fd, &st) &&
		  dev == (major(st.st_dev) << MINOR_BITS | minor(st.st_dev));

	if (fd >= 0)
		close(fd);
	return is;
}

static bool type_may_hang(const char *type)
{
	static const char *const types[] = {"fuse", "nfs",    "nfs4", "cifs", "smb3",
					    "ceph", "lustre", "afs",  "coda", "orangefs"};

	if (!strncmp(type, "fuse.", 5))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

bool mounts_may_hang(pid_t pid, uint32_t dev)
{
	char path[64], type[64];
	struct buf b;
	bool hang;

	if (dev >> MINOR_BITS)
		return false;
	buf_init(&b);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	if (file_read(path, MOUNTS_MAX_TEXT, &b) || mounts_type(b.data, dev, type, sizeof(type)))
		hang = !is_shared_memory(dev);
	else
		hang = type_may_hang(type);
	buf_release(&b);
	return hang;
}
