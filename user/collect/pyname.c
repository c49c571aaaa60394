/*
 * The names that Python has for the threads of a process, and which of them were asked for.
 *
 * Reading one takes some 40 small reads. So it is done when a thread is met, and while it is young
 * whenever its age has doubled: ten times in all. But what a look costs is up to the process, whose
 * dicts may be huge, or say so: the looks of one process have an allowance of CPU time.
 */
#include "collect/pyname.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "python/threading.h"

#define PYNAME_COMM 16			  /* bytes of a kernel's name, with or without a NUL */
#define PYNAME_PAUSE (10 * NSEC_PER_MSEC) /* at least, between two looks at one thread */
#define PYNAME_YOUNG NSEC_PER_SEC
#define PYNAME_TRIES 8	      /* looks at one that is not young, when names could not be read */
#define PYNAME_THREADS 16384u /* that are remembered; when there are more, all are met again */

/* CPU time of all looks at one process: this once, for each look, and this part of the time */
#define PYNAME_COST (20 * NSEC_PER_MSEC)
#define PYNAME_COST_LOOK (NSEC_PER_MSEC / 5)
#define PYNAME_COST_PART 64

struct pyname_thread {
	uint32_t tid;
	bool wanted;
	uint8_t tries;
	uint64_t start, next; /* boottime ns; UINT64_MAX: it is not looked at any more */
	UT_hash_handle hh;
};

struct pyname {
	struct threading threading;
	struct pyname_thread *threads; /* uthash by tid */
	uint64_t looks, spent;	       /* spent: ns of CPU time */
	uint64_t since;		       /* CLOCK_MONOTONIC ns */
};

static void forget(struct pyname *v)
{
	struct pyname_thread *th, *tmp;

	HASH_ITER (hh, v->threads, th, tmp) {
		HASH_DEL(v->threads, th);
		free(th);
	}
}

void pyname_free(struct pyname *v)
{
	if (!v)
		return;
	forget(v);
	free(v);
}

/* NULL: no memory. */
static struct pyname *of_process(struct process *p)
{
	if (!p->names) {
		p->names = calloc(1, sizeof(*p->names));
		if (p->names)
			p->names->since = clock_mono();
	}
	return p->names;
}

static bool may_look(const struct pyname *v)
{
	return v->spent < PYNAME_COST + v->looks * PYNAME_COST_LOOK +
				  (clock_mono() - v->since) / PYNAME_COST_PART;
}

int pyname_read(struct process *p, const struct targets_who *who, struct buf *out)
{
	struct pyname *v = of_process(p);
	uint64_t start;
	int err;

	if (!v)
		return -ENOMEM;
	if (p->gone)
		return -ESRCH;
	if (!may_look(v))
		return -EBUSY;
	start = clock_cpu_self();
	err = threading_name(&v->threading, &p->found, p->mem, who->thread_ptr, who->ns_tid, out);
	v->spent += clock_cpu_self() - start;
	v->looks++;
	return err;
}

static struct pyname_thread *find_thread(struct process *p, const struct targets_who *who)
{
	struct pyname *v = of_process(p);
	struct pyname_thread *th = NULL;

	if (v)
		HASH_FIND(hh, v->threads, &who->tid, sizeof(who->tid), th);
	if (!v || (th && th->start == who->start))
		return th;
	if (!th) {
		if (HASH_COUNT(v->threads) >= PYNAME_THREADS)
			forget(v);
		th = calloc(1, sizeof(*th));
		if (!th)
			return NULL;
		th->tid = who->tid;
		HASH_ADD(hh, v->threads, tid, sizeof(th->tid), th);
	}
	th->start = who->start;
	th->next = 0;
	th->tries = 0;
	th->wanted = false;
	return th;
}

static void look(const struct threadname *n, struct process *p, const struct targets_who *who,
		 struct pyname_thread *th, uint64_t now)
{
	uint64_t age = now > th->start ? now - th->start : 0;
	struct buf name;
	int err;

	buf_init(&name);
	err = pyname_read(p, who, &name);
	if (!err) /* else what was proven before still is: it may just have ended */
		th->wanted = name.data && threadname_wants(n, name.data, name.len);
	buf_release(&name);
	if (age < PYNAME_YOUNG)
		th->next = now + MAX(age, (uint64_t)PYNAME_PAUSE);
	else if (err == -EBUSY || (err == -EAGAIN && th->tries++ < PYNAME_TRIES))
		th->next = now + PYNAME_PAUSE;
	else
		th->next = UINT64_MAX;
}

bool pyname_wants(const struct threadname *n, struct process *p, const struct targets_who *who,
		  bool *ret_settled)
{
	bool wanted = !n || threadname_wants(n, who->comm, PYNAME_COMM);
	struct pyname_thread *th = wanted ? NULL : find_thread(p, who);
	uint64_t now;

	/* without its pointer and id nothing is known of it yet */
	if (th && th->next != UINT64_MAX && who->thread_ptr && who->ns_tid) {
		now = clock_boot();
		if (now >= th->next)
			look(n, p, who, th, now);
	}
	if (ret_settled)
		*ret_settled = !th || th->next == UINT64_MAX;
	return wanted || (th && th->wanted);
}
