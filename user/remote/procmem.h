/* Memory of a live process, by process_vm_readv or /proc/PID/mem. */
#ifndef SCRY_REMOTE_PROCMEM_H
#define SCRY_REMOTE_PROCMEM_H

#include <sys/types.h>
#include "remote/mem.h"

struct guard;

/*
 * A reader for process `pid` (as scry sees it); *ret is for mem_free(). Opening touches nothing of
 * the process; 0, -ESRCH or -ENOMEM. A dead process, also one that nobody has waited for yet, reads
 * as -ESRCH.
 */
int procmem_new(pid_t pid, struct mem **ret);
/*
 * For code that runs inside guard_run() (see guard.h): a read that is overdue, because a page of it
 * is behind a userfaultfd or FUSE server that never answers, gives -ETIMEDOUT, and so does every
 * later one of this reader: the process is set aside, and the thread that hangs in the kernel is
 * abandoned. The normal path pays no thread hop. The guard must outlive the reader.
 */
int procmem_new_guarded(pid_t pid, struct guard *g, struct mem **ret);

#endif
