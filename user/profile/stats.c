/* What the engine counts: names and sums. */
#include "profile/stats.h"

#include <stdlib.h>

static const char *const names[STAT_MAX] = {
	[STAT_TICKS] = "ticks",
	[STAT_WALKS] = "walks",
	[STAT_CALLS] = "calls",
	[STAT_SEGMENTS] = "segments",
	[STAT_BYTES] = "bytes",
	[STAT_BATCHES] = "batches",
	[STAT_BATCHES_COMPLETE] = "batches_complete",
	[STAT_TSTATE_RIGHT] = "tstate_right",
	[STAT_TSTATE_WRONG] = "tstate_wrong",
	[STAT_TSTATE_UNUSED] = "tstate_unused",
	[STAT_LEAF_RIGHT] = "leaf_right",
	[STAT_LEAF_WRONG] = "leaf_wrong",
	[STAT_LEAF_UNUSED] = "leaf_unused",
	[STAT_CHUNK_RIGHT] = "chunk_right",
	[STAT_CHUNK_WRONG] = "chunk_wrong",
	[STAT_CHUNK_UNUSED] = "chunk_unused",
	[STAT_CACHE_FULL] = "cache_full",
	[STAT_CACHE_PARTIAL] = "cache_partial",
	[STAT_CACHE_MISS] = "cache_miss",
	[STAT_WITNESS_INTERRUPT] = "witness_interrupt",
	[STAT_WITNESS_GIL] = "witness_gil",
	[STAT_WITNESS_SCHED] = "witness_sched",
	[STAT_UNCHANGED] = "unchanged",
	[STAT_CODE_HITS] = "code_hits",
	[STAT_CODE_MISSES] = "code_misses",
	[STAT_CODE_RETIRED] = "code_retired",
};

const char *stats_name(enum stats_counter s)
{
	return (unsigned int)s < STAT_MAX ? names[s] : "?";
}

void stats_add(struct stats *to, const struct stats *more)
{
	for (size_t i = 0; i < STAT_MAX; i++)
		to->v[i] += more->v[i];
	for (size_t i = 0; i < OUTCOME_MAX; i++)
		to->outcomes[i] += more->outcomes[i];
}

bool stats_any(const struct stats *s)
{
	for (size_t i = 0; i < STAT_MAX; i++)
		if (s->v[i])
			return true;
	for (size_t i = 0; i < OUTCOME_MAX; i++)
		if (s->outcomes[i])
			return true;
	return false;
}

/* By stacks walked, then by what was read; equal ones stay as they are. */
static int compare(const void *va, const void *vb)
{
	static const enum stats_counter by[] = {STAT_TICKS, STAT_WALKS, STAT_CALLS, STAT_BYTES};
	const struct stats_row *a = va, *b = vb;

	for (size_t i = 0; i < ARRAY_SIZE(by); i++)
		if (a->v.v[by[i]] != b->v.v[by[i]])
			return a->v.v[by[i]] < b->v.v[by[i]] ? 1 : -1;
	return a->process < b->process ? -1 : a->process > b->process;
}

void stats_finish(struct stats_table *t)
{
	t->total = (struct stats){0};
	for (size_t i = 0; i < t->n; i++)
		stats_add(&t->total, &t->rows[i].v);
	qsort(t->rows, t->n, sizeof(*t->rows), compare);
}

void stats_release(struct stats_table *t)
{
	if (!t)
		return;
	free(t->rows);
	*t = (struct stats_table){0};
}
