/*
 * Where scry itself stands among pid namespaces.
 *
 * Its depth is not asked for: the NSpid line of a /proc that belongs to the namespace, as in any
 * container, starts at that namespace.
 */
#include "target/ns.h"

#include <errno.h>
#include <sys/stat.h>

int ns_self(struct ns_self *ret)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	ret->pid_inode = st.st_ino;
	return 0;
}
