/* Which processes a recording wants: those asked for with -p, and their descendants. */
#include "collect/family.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include "target/task.h"

#define FAMILY_MAX_UP 128	 /* ancestors that are looked at */
#define FAMILY_MAX_MEMBERS 65536 /* remembered descendants */

/* A process is remembered with its start, so that a reused pid is another one. */
struct member {
	pid_t pid;
	uint64_t start_ticks;
	bool asked;
	UT_hash_handle hh;
};

struct family {
	struct member *members;
	bool everyone, inherit;
	pid_t self;
};

static struct member *add(struct family *f, pid_t pid, bool asked)
{
	struct task_stat st;
	struct member *m;

	HASH_FIND_INT(f->members, &pid, m);
	if (task_stat(pid, 0, &st))
		return NULL;
	if (!m) {
		if (HASH_COUNT(f->members) >= FAMILY_MAX_MEMBERS)
			return NULL;
		m = calloc(1, sizeof(*m));
		if (!m)
			return NULL;
		m->pid = pid;
		HASH_ADD_INT(f->members, pid, m);
	}
	m->start_ticks = st.start_ticks;
	m->asked = asked;
	return m;
}

struct family *family_new(const pid_t *pids, size_t n, bool inherit)
{
	struct family *f = calloc(1, sizeof(*f));
	size_t i;

	if (!f)
		return NULL;
	f->everyone = n == 0;
	f->inherit = inherit;
	f->self = getpid();
	for (i = 0; i < n; i++)
		add(f, pids[i], true);
	return f;
}

void family_free(struct family *f)
{
	struct member *m, *tmp;

	if (!f)
		return;
	HASH_ITER (hh, f->members, m, tmp) {
		HASH_DEL(f->members, m);
		free(m);
	}
	free(f);
}

/* An ended member still vouches for its children; another process that took its pid does not. */
static bool is_member(const struct family *f, pid_t pid)
{
	struct task_stat st;
	struct member *m;

	HASH_FIND_INT(f->members, &pid, m);
	return m && (task_stat(pid, 0, &st) || st.start_ticks == m->start_ticks);
}

bool family_wants(struct family *f, pid_t pid, pid_t ppid)
{
	struct task_stat st;
	pid_t up = ppid;
	int i;

	if (pid == f->self)
		return false;
	if (f->everyone)
		return true;
	if (is_member(f, pid))
		return true;
	if (!f->inherit)
		return false;
	if (!up && task_stat(pid, 0, &st) == 0)
		up = st.ppid;
	for (i = 0; up > 1 && i < FAMILY_MAX_UP; i++) {
		if (is_member(f, up)) {
			add(f, pid, false);
			return true;
		}
		if (task_stat(up, 0, &st))
			break;
		up = st.ppid;
	}
	return false;
}

bool family_descends(pid_t pid, pid_t of)
{
	struct task_stat st;
	int i;

	for (i = 0; pid > 1 && i < FAMILY_MAX_UP; i++) {
		if (pid == of)
			return true;
		if (task_stat(pid, 0, &st))
			return false;
		pid = st.ppid;
	}
	return pid == of;
}

bool family_alive(const struct family *f)
{
	struct member *m, *tmp;
	struct task_stat st;

	HASH_ITER (hh, f->members, m, tmp) {
		if (task_stat_process(m->pid, &st, NULL) == 0 && st.start_ticks == m->start_ticks)
			return true;
	}
	return f->everyone;
}
