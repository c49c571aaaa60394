/*
 * Processes that come, change and go, without the kernel's notices: by looking at /proc.
 *
 * A process that was known is looked at again so often that all of that takes about a percent of a
 * CPU; new ones are looked for once a second. What begins and ends in between is not seen.
 */
#include "base/clock.h"
#include "collect/targets_impl.h"
#include "target/task.h"

#define POLL_SCAN_NS NSEC_PER_SEC
#define POLL_MIN_NS (20 * NSEC_PER_MSEC)
#define POLL_SHARE 100 /* of the time, a hundredth */

/* The first thread of a process stays, as a zombie, until the others have ended too. */
static bool has_ended(const struct task_stat *st)
{
	return task_ended(st) && st->threads <= 1;
}

static bool is_image(const struct process *p, const struct task_stat *st)
{
	return task_ended(st) || task_same_image(&st->image, &p->image);
}

static void look(struct targets *t, struct process *p)
{
	struct event_life life = {.pid = p->pid, .start_boottime = p->start_boottime};
	struct task_stat st;

	if (task_stat((pid_t)p->pid, 0, &st) || has_ended(&st) ||
	    clock_of_ticks(st.start_ticks) != p->start_boottime)
		targets_exit(t, &life); /* if it is another one now, the next scan finds it */
	else if (p->state != PROCESS_WAITING && !is_image(p, &st))
		targets_exec(t, &life);
}

/* One that was not Python, and has mapped code since. */
static void look_again(struct targets *t, struct process *p)
{
	uint64_t pages;

	if (p->state != PROCESS_IGNORED || !p->recheck || !p->exec_vm ||
	    task_exec_pages((pid_t)p->pid, &pages) || pages == p->exec_vm)
		return;
	p->exec_vm = 0;
	targets_attach(t, p);
}

static void look_at_known(struct targets *t, bool again)
{
	struct process *p, *tmp;

	HASH_ITER (hh, t->processes, p, tmp) {
		if (again)
			look_again(t, p);
	}
	HASH_ITER (hh, t->processes, p, tmp)
		look(t, p);
}

int targets_poll(struct targets *t, uint64_t now)
{
	bool scan = now >= t->scan_next;
	int err = 0;

	if (now < t->poll_next)
		return 0;
	look_at_known(t, scan);
	if (scan) {
		err = targets_scan(t);
		t->scan_next = now + POLL_SCAN_NS;
	}
	t->poll_next = now + MIN(MAX((clock_mono() - now) * POLL_SHARE, POLL_MIN_NS), POLL_SCAN_NS);
	return err;
}
