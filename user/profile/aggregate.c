/*
 * Count a profile.
 *
 * Stacks form a tree, each one a child of the stack of its callers, and a child's id is always
 * larger than its parent's. So everything here is linear in the number of stacks, however deep they
 * are: sums of whole subtrees are made in one pass from the last id to the first, and a function's
 * total is the sum over the subtrees in which it is topmost, found in one depth-first pass with a
 * counter of how often each row is on the path (this is what makes recursion count once):
 *
 *	main ─ f ─ g		f: the subtree of the first f; the f below g is on the path
 *	           └ f		already and adds nothing
 */
#include "profile/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include "base/vec.h"

struct node {
	uint64_t samples, weight; /* of the stack itself, later of its subtree */
	uint32_t child, sibling;  /* 0: none */
};

/* Which row each frame counts for. */
struct row_map {
	uint32_t *row_of; /* by frame id */
	uint32_t n_rows;
};

static int map_frames(const struct names *n, enum aggregate_by by, struct row_map *ret)
{
	uint32_t n_frames = names_frames(n);
	struct intern *functions = intern_new();
	uint32_t *row_of = calloc((size_t)n_frames + 1, sizeof(*row_of));

	if (!functions || !row_of)
		goto err;
	for (uint32_t i = 0; i < n_frames; i++) {
		const struct frame *f = names_frame_at(n, i);
		const uint32_t key[] = {f->kind, f->func, f->file, f->firstline,
					by == AGGREGATE_LINE ? f->line : 0};

		row_of[i] = intern_put(functions, key, sizeof(key));
		if (row_of[i] == INTERN_NONE)
			goto err;
	}
	*ret = (struct row_map){row_of, intern_count(functions)};
	intern_free(functions);
	return 0;
err:
	intern_free(functions);
	free(row_of);
	return -ENOMEM;
}

/* The tree of stacks with the counts of each stack itself; NULL when out of memory. */
static struct node *tree_new(const struct profile *p)
{
	uint32_t n_stacks = names_stacks(p->names), callers, frame;
	struct node *v = calloc(n_stacks, sizeof(*v));

	if (!v)
		return NULL;
	for (size_t i = 0; i < p->n_samples; i++) {
		v[p->samples[i].stack].samples += 1 + (uint64_t)p->samples[i].more;
		v[p->samples[i].stack].weight += p->samples[i].weight;
	}
	for (uint32_t id = n_stacks - 1; id > STACK_EMPTY; id--) {
		names_stack_at(p->names, id, &callers, &frame);
		v[id].sibling = v[callers].child;
		v[callers].child = id;
	}
	return v;
}

static void add_self(const struct profile *p, const struct row_map *map, struct node *v,
		     struct aggregate_row *rows)
{
	uint32_t callers, frame;

	for (uint32_t id = names_stacks(p->names) - 1; id > STACK_EMPTY; id--) {
		struct aggregate_row *r;

		names_stack_at(p->names, id, &callers, &frame);
		r = &rows[map->row_of[frame]];
		r->self += v[id].samples;
		r->self_weight += v[id].weight;
		if (r->frame == INTERN_NONE || frame < r->frame)
			r->frame = frame;
	}
}

static void add_up(const struct names *n, struct node *v)
{
	uint32_t callers, frame;

	for (uint32_t id = names_stacks(n) - 1; id > STACK_EMPTY; id--) {
		names_stack_at(n, id, &callers, &frame);
		v[callers].samples += v[id].samples;
		v[callers].weight += v[id].weight;
	}
}

static void add_total(const struct names *n, const struct row_map *map, const struct node *v,
		      uint32_t *on_path, struct aggregate_row *rows)
{
	uint32_t id = v[STACK_EMPTY].child, callers, frame;

	while (id != STACK_EMPTY) {
		names_stack_at(n, id, &callers, &frame);
		if (on_path[map->row_of[frame]]++ == 0) {
			rows[map->row_of[frame]].total += v[id].samples;
			rows[map->row_of[frame]].total_weight += v[id].weight;
		}
		if (v[id].child != STACK_EMPTY) {
			id = v[id].child;
			continue;
		}
		while (id != STACK_EMPTY) {
			names_stack_at(n, id, &callers, &frame);
			on_path[map->row_of[frame]]--;
			if (v[id].sibling != STACK_EMPTY) {
				id = v[id].sibling;
				break;
			}
			id = callers;
		}
	}
}

static int rows_by_frame(const struct profile *p, enum aggregate_by by, struct aggregate *ret)
{
	struct row_map map = {0};
	struct aggregate_row *rows = NULL;
	struct node *tree = tree_new(p);
	uint32_t *on_path = NULL;
	int err = -ENOMEM;

	if (!tree || map_frames(p->names, by, &map) < 0)
		goto out;
	rows = calloc((size_t)map.n_rows + 1, sizeof(*rows));
	on_path = calloc((size_t)map.n_rows + 1, sizeof(*on_path));
	if (!rows || !on_path)
		goto out;
	for (uint32_t i = 0; i < map.n_rows; i++)
		rows[i].frame = rows[i].process = rows[i].thread = rows[i].state = INTERN_NONE;
	add_self(p, &map, tree, rows);
	add_up(p->names, tree);
	add_total(p->names, &map, tree, on_path, rows);
	ret->rows = rows;
	ret->n = map.n_rows;
	rows = NULL;
	err = 0;
out:
	free(tree);
	free(map.row_of);
	free(on_path);
	free(rows);
	return err;
}

/* How many rows there are, and which one a sample counts for. */
static size_t rows_of(const struct profile *p, enum aggregate_by by)
{
	return by == AGGREGATE_PROCESS	? p->n_processes
	       : by == AGGREGATE_THREAD ? p->n_threads
					: (size_t)RUN_MAX;
}

static size_t row_of(const struct sample *s, enum aggregate_by by)
{
	return by == AGGREGATE_PROCESS ? s->process : by == AGGREGATE_THREAD ? s->thread : s->state;
}

static void name_row(const struct profile *p, enum aggregate_by by, uint32_t i,
		     struct aggregate_row *r)
{
	r->frame = r->process = r->thread = r->state = INTERN_NONE;
	if (by == AGGREGATE_STATE) {
		r->state = i;
	} else if (by == AGGREGATE_PROCESS) {
		r->process = i;
	} else {
		r->thread = i;
		r->process = p->threads[i].process;
	}
}

/* Rows whose self is their total. */
static int rows_by_task(const struct profile *p, enum aggregate_by by, struct aggregate *ret)
{
	size_t n = rows_of(p, by);
	struct aggregate_row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		name_row(p, by, i, &rows[i]);
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct sample *s = &p->samples[i];
		struct aggregate_row *r = &rows[row_of(s, by)];

		r->total += 1 + (uint64_t)s->more;
		r->total_weight += s->weight;
		r->self = r->total;
		r->self_weight = r->total_weight;
	}
	ret->rows = rows;
	ret->n = n;
	return 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* What is equal in all counts stays in the order of the ids: of first sight. */
static int compare_ids(const struct aggregate_row *a, const struct aggregate_row *b)
{
	const uint32_t x[] = {a->frame, a->process, a->thread, a->state};
	const uint32_t y[] = {b->frame, b->process, b->thread, b->state};

	for (size_t i = 0; i < ARRAY_SIZE(x); i++) {
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	}
	return 0;
}

static int compare_total(const void *va, const void *vb)
{
	const struct aggregate_row *a = va, *b = vb;
	int c = compare_u64(a->total_weight, b->total_weight);

	c = c ? c : compare_u64(a->total, b->total);
	c = c ? c : compare_u64(a->self_weight, b->self_weight);
	c = c ? c : compare_u64(a->self, b->self);
	return c ? c : compare_ids(a, b);
}

static int compare_self(const void *va, const void *vb)
{
	const struct aggregate_row *a = va, *b = vb;
	int c = compare_u64(a->self_weight, b->self_weight);

	c = c ? c : compare_u64(a->self, b->self);
	return c ? c : compare_total(a, b);
}

int aggregate_rows(const struct profile *p, enum aggregate_by by, bool by_total,
		   struct aggregate *ret)
{
	struct aggregate a = {0};
	size_t kept = 0;
	int err;

	if (by == AGGREGATE_FUNCTION || by == AGGREGATE_LINE)
		err = rows_by_frame(p, by, &a);
	else
		err = rows_by_task(p, by, &a);
	if (err < 0)
		return err;
	for (size_t i = 0; i < a.n; i++) {
		if (a.rows[i].total)
			a.rows[kept++] = a.rows[i];
	}
	a.n = kept;
	qsort(a.rows, a.n, sizeof(*a.rows), by_total ? compare_total : compare_self);
	for (size_t i = 0; i < p->n_samples; i++)
		a.weight += p->samples[i].weight;
	a.samples = profile_count(p);
	*ret = a;
	return 0;
}

void aggregate_release(struct aggregate *a)
{
	if (!a)
		return;
	free(a->rows);
	*a = (struct aggregate){0};
}

int aggregate_stacks(const struct profile *p, enum aggregate_group group, uint32_t outcomes,
		     struct aggregate_stack **ret, size_t *ret_n)
{
	struct intern *keys = intern_new();
	struct aggregate_stack *v = NULL;
	size_t cap = 0, n = 0;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct sample *s = &p->samples[i];
		const uint32_t key[] = {
			group == AGGREGATE_NONE ? AGGREGATE_ALL : s->process,
			group >= AGGREGATE_PER_THREAD ? s->thread : AGGREGATE_ALL,
			s->stack,
			s->outcome,
			group == AGGREGATE_PER_STATE ? s->state : RUN_UNKNOWN,
		};
		uint32_t id;

		if (!(outcomes & 1u << s->outcome))
			continue;
		id = intern_put(keys, key, sizeof(key));
		if (id == INTERN_NONE)
			goto err;
		if (vec_reserve(&v, &cap, (size_t)id + 1, sizeof(*v)))
			goto err;
		if (id == n)
			v[n++] = (struct aggregate_stack){.process = key[0],
							  .thread = key[1],
							  .stack = s->stack,
							  .outcome = s->outcome,
							  .state = s->state};
		v[id].samples += 1 + (uint64_t)s->more;
		v[id].weight += s->weight;
	}
	intern_free(keys);
	*ret = v;
	*ret_n = n;
	return 0;
err:
	intern_free(keys);
	free(v);
	return -ENOMEM;
}
