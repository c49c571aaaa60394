/* Where scry itself stands among pid namespaces. */
#ifndef SCRY_TARGET_NS_H
#define SCRY_TARGET_NS_H

#include "base/compiler.h"

#define NS_FIRST_PID 0xeffffffcu /* inode of the pid namespace the machine started with */

struct ns_self {
	uint64_t pid_inode; /* of /proc/self/ns/pid: struct pid_namespace's ns.inum */
};

int ns_self(struct ns_self *ret);

#endif
