/* The kernel's id of the thread that a thread pointer is of. */
#include "python/nativeid.h"

#include <errno.h>

#include "base/bytes.h"

/*
 * struct pthread. glibc: a head of a fixed size for the thread's control block, two links, the id;
 * so since 2.4. musl: the id behind six words. On x86-64 the first word of both is their own
 * address, and glibc's third one is, too; musl's third one is the previous thread in a ring.
 */
#if defined(__x86_64__)
#define GLIBC_TID 720
#define MUSL_TID 48
#define HAS_SELF true
#else
#define GLIBC_TID 208
#define MUSL_TID 32
#define HAS_SELF false
#endif
#define GLIBC_MAX_TID 4194304u /* PID_MAX_LIMIT of a 64-bit kernel */

static bool is_tid(uint32_t tid)
{
	return tid && tid <= GLIBC_MAX_TID;
}

int nativeid_read(struct mem *m, raddr_t thread_ptr, uint32_t *ret)
{
	uint8_t head[GLIBC_TID + sizeof(uint32_t)];
	int err = mem_read(m, thread_ptr, head, sizeof(head));
	uint32_t tid;

	if (err)
		return err;
	if (HAS_SELF && bytes_load64(head) != thread_ptr)
		return -ENOENT;
	tid = bytes_load32(head + GLIBC_TID);
	if (!is_tid(tid) || (HAS_SELF && bytes_load64(head + 16) != thread_ptr))
		tid = bytes_load32(head + MUSL_TID);
	if (!is_tid(tid))
		return -ENOENT;
	*ret = tid;
	return 0;
}
