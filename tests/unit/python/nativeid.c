/* Tests of python/nativeid.c: this very C library's structure. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python/nativeid.h"
#include "remote/procmem.h"
#include "tests/support/crew.h"

Test(nativeid, of_threads_and_of_a_forked_child)
{
	static const enum crew_job jobs[] = {CREW_SLEEP, CREW_SLEEP, CREW_SLEEP};
	struct mem *m = NULL;
	struct crew *c;
	uint32_t id = 0;

	cr_assert_eq(procmem_new(getpid(), &m), 0);
	cr_assert_eq(nativeid_read(m, (uint64_t)pthread_self(), &id), 0);
	cr_expect_eq(id, (uint32_t)syscall(SYS_gettid));
	mem_free(m);
	c = crew_start(jobs, 3, 0);
	cr_assert_eq(procmem_new(c->pid, &m), 0);
	for (int i = 1; i < 3; i++) {
		cr_assert_eq(nativeid_read(m, c->hands[i].thread_ptr, &id), 0);
		cr_expect_eq(id, (uint32_t)c->hands[i].tid);
	}
	mem_free(m);
	crew_end(c);
}

Test(nativeid, of_what_is_no_thread)
{
	static uint64_t zeroes[512];
	struct mem *m = NULL;
	uint32_t id = 7;

	cr_assert_eq(procmem_new(getpid(), &m), 0);
	cr_expect_eq(nativeid_read(m, (uint64_t)(uintptr_t)zeroes, &id), -ENOENT);
	cr_expect_lt(nativeid_read(m, 64, &id), 0);
	cr_expect_eq(id, 7);
	mem_free(m);
}
