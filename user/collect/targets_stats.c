/* What was counted for each process (--stats), also for those that have ended. */
#include <errno.h>
#include "base/vec.h"
#include "collect/targets_impl.h"

#define STATS_MAX_PROCESSES 4096 /* told apart; what ends after so many is summed up */

static struct stats_row row_of(const struct targets *t, const struct process *p)
{
	struct stats_row r = {
		.process = p->info.id,
		.pid = p->pid,
		.comm = names_string_at(t->names, p->info.comm, NULL),
	};

	process_stats(p, &r.v);
	return r;
}

/* Adds the row, or what it counts to `others`. */
static int put(struct stats_table *to, size_t *cap, struct stats *others, const struct stats_row *r,
	       bool apart)
{
	if (!apart || to->n >= STATS_MAX_PROCESSES) {
		stats_add(others, &r->v);
		return 0;
	}
	if (vec_reserve(&to->rows, cap, to->n + 1, sizeof(*r)))
		return -ENOMEM;
	to->rows[to->n++] = *r;
	return 0;
}

void targets_stats_keep(struct targets *t, const struct process *p)
{
	struct stats_row r = row_of(t, p);

	if (t->o->stats && put(&t->ended, &t->cap_ended, &t->others, &r, p->announced))
		stats_add(&t->others, &r.v);
}

int targets_stats(const struct targets *t, struct stats_table *ret)
{
	struct stats_row others = {.process = STATS_OTHERS, .comm = "", .v = t->others}, r;
	struct stats_table v = {0};
	const struct process *p;
	size_t cap = 0, i;
	int err = 0;

	for (i = 0; i < t->ended.n && !err; i++)
		err = put(&v, &cap, &others.v, &t->ended.rows[i], true);
	for (p = t->processes; p && !err; p = p->hh.next) {
		r = row_of(t, p);
		err = put(&v, &cap, &others.v, &r, p->announced);
	}
	if (!err && stats_any(&others.v)) {
		err = vec_reserve(&v.rows, &cap, v.n + 1, sizeof(others));
		if (!err)
			v.rows[v.n++] = others;
	}
	if (err) {
		stats_release(&v);
		return err;
	}
	stats_finish(&v);
	*ret = v;
	return 0;
}
