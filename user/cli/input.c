/* Read a recording for a command. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/input.h"
#include "output/capture.h"

static enum status can_not_open(const char *path, int err, struct buf *ret_text)
{
	if (err == ENOENT && strcmp(path, "scry.data") == 0)
		buf_puts(ret_text, "there is no scry.data here; scry record writes one");
	else
		buf_printf(ret_text, "can't read %s: %s", path, strerror(err));
	return err == EACCES || err == EPERM ? STATUS_PERMISSION : STATUS_NO_INPUT;
}

static enum status can_not_read(const char *name, int err, struct buf *ret_text)
{
	switch (err) {
	case ENOMSG:
		buf_printf(ret_text, "%s is not a recording of scry", name);
		return STATUS_DATA;
	case EPROTONOSUPPORT:
		buf_printf(ret_text, "%s is of a newer scry; this one is %s", name, SCRY_VERSION);
		return STATUS_DATA;
	case EBADMSG:
		buf_printf(ret_text, "%s is damaged from its start", name);
		return STATUS_DATA;
	case ENOMEM:
		buf_printf(ret_text, "not enough memory to read %s", name);
		return STATUS_INTERNAL;
	default:
		buf_printf(ret_text, "can't read %s: %s", name, strerror(err));
		return err == EISDIR ? STATUS_NO_INPUT : STATUS_WRITE;
	}
}

enum status input_read(const char *path, struct profile *ret, struct buf *ret_text)
{
	bool standard = strcmp(path, "-") == 0;
	const char *name = standard ? "standard input" : path;
	uint64_t skipped = 0;
	int fd, err;

	memset(ret, 0, sizeof(*ret));
	fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return can_not_open(path, errno, ret_text);
	err = capture_read(fd, ret, &skipped);
	if (!standard)
		close(fd);
	if (err)
		return can_not_read(name, -err, ret_text);
	if (skipped)
		buf_printf(ret_text,
			   "the last %llu bytes of %s are damaged or incomplete and left out",
			   (unsigned long long)skipped, name);
	return STATUS_OK;
}
