/*
 * Merge stacks into a call tree.
 *
 * Stacks share their callers, so the node of a stack is that of its callers' stack and one label
 * more. Which node belongs to a stack below a group is remembered: the work is linear in the number
 * of distinct (group, stack), however deep they are.
 */
#include "output/tree.h"

#include <errno.h>
#include <stdlib.h>
#include "base/buf.h"
#include "base/vec.h"

struct builder {
	const struct profile *profile;
	const struct tree_labels *labels;
	struct intern *keys; /* of nodes: (parent, label); their ids are the nodes' numbers */
	struct tree_node *nodes;
	size_t cap;
	struct intern *seen; /* (group's node, stack), */
	struct buf node_of;  /* and the node of each, uint32_t */
	struct buf path;     /* ids in `seen`, and frames, of the stack being added */
};

struct step {
	uint32_t seen, frame;
};

/* The child of parent with this label; INTERN_NONE when out of memory. */
static uint32_t node_put(struct builder *b, uint32_t parent, uint32_t label)
{
	const uint32_t key[] = {parent, label};
	uint32_t before = intern_count(b->keys), id;

	if (parent == INTERN_NONE && before)
		return INTERN_NONE;
	id = intern_put(b->keys, key, sizeof(key));
	if (id == INTERN_NONE || id < before)
		return id;
	if (vec_reserve(&b->nodes, &b->cap, (size_t)id + 1, sizeof(*b->nodes)))
		return INTERN_NONE;
	b->nodes[id] = (struct tree_node){.parent = parent, .label = label};
	return id;
}

static uint32_t *node_of(struct builder *b, uint32_t seen)
{
	return (uint32_t *)(void *)b->node_of.data + seen;
}

/* Notes the stacks from `stack` towards the root up to one that has a node, which is returned. */
static uint32_t climb(struct builder *b, uint32_t group, uint32_t stack)
{
	buf_reset(&b->path);
	while (stack != STACK_EMPTY) {
		const uint32_t key[] = {group, stack}, none = INTERN_NONE;
		uint32_t before = intern_count(b->seen);
		struct step s = {.seen = intern_put(b->seen, key, sizeof(key))};

		if (s.seen == INTERN_NONE)
			return INTERN_NONE;
		if (s.seen < before)
			return *node_of(b, s.seen);
		buf_put(&b->node_of, &none, sizeof(none));
		names_stack_at(b->profile->names, stack, &stack, &s.frame);
		buf_put(&b->path, &s, sizeof(s));
	}
	return group;
}

static uint32_t stack_node(struct builder *b, uint32_t group, uint32_t stack)
{
	uint32_t node = climb(b, group, stack);
	const struct step *s = (const struct step *)(void *)b->path.data;

	if (b->path.failed || b->node_of.failed)
		return INTERN_NONE;
	for (size_t i = b->path.len / sizeof(*s); i-- > 0 && node != INTERN_NONE;) {
		node = node_put(b, node, b->labels->frame[s[i].frame]);
		*node_of(b, s[i].seen) = node;
	}
	return node;
}

static int add_stack(struct builder *b, const struct aggregate_stack *s)
{
	uint32_t node = TREE_ROOT;

	if (s->process != AGGREGATE_ALL)
		node = node_put(b, node, b->labels->process[s->process]);
	if (s->thread != AGGREGATE_ALL)
		node = node_put(b, node, b->labels->thread[s->thread]);
	if (node != INTERN_NONE)
		node = stack_node(b, node, s->stack);
	if (node == INTERN_NONE)
		return -ENOMEM;
	b->nodes[node].self += s->samples;
	b->nodes[node].weight += s->weight;
	return 0;
}

struct order {
	const struct tree_node *nodes;
	const uint32_t *rank;
};

/* Children of one parent beside each other, the first-ranked last. */
static int compare(const void *va, const void *vb, void *arg)
{
	const struct order *o = arg;
	const struct tree_node *a = &o->nodes[*(const uint32_t *)va];
	const struct tree_node *b = &o->nodes[*(const uint32_t *)vb];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return o->rank[a->label] > o->rank[b->label] ? -1 : 1;
}

static int link_children(struct tree_node *nodes, uint32_t n, const uint32_t *rank)
{
	struct order o = {nodes, rank};
	uint32_t *ids = calloc(n, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++)
		ids[i - 1] = i;
	qsort_r(ids, n - 1, sizeof(*ids), compare, &o);
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct tree_node *v = &nodes[ids[i]];

		v->sibling = nodes[v->parent].child;
		nodes[v->parent].child = ids[i];
	}
	for (uint32_t i = n - 1; i > TREE_ROOT; i--) {
		nodes[i].total += nodes[i].self;
		nodes[nodes[i].parent].total += nodes[i].total;
	}
	nodes[TREE_ROOT].total += nodes[TREE_ROOT].self;
	free(ids);
	return 0;
}

int tree_build(const struct profile *p, enum aggregate_group group, uint32_t outcomes,
	       const struct tree_labels *l, struct tree *ret)
{
	struct builder b = {.profile = p, .labels = l, .keys = intern_new(), .seen = intern_new()};
	struct aggregate_stack *v = NULL;
	size_t n = 0;
	int err = -ENOMEM;

	if (!b.keys || !b.seen || node_put(&b, INTERN_NONE, INTERN_NONE) != TREE_ROOT)
		goto out;
	err = aggregate_stacks(p, group, outcomes, &v, &n);
	for (size_t i = 0; i < n && err == 0; i++)
		err = add_stack(&b, &v[i]);
	if (err == 0)
		err = link_children(b.nodes, intern_count(b.keys), l->rank);
	if (err == 0) {
		*ret = (struct tree){b.nodes, intern_count(b.keys)};
		b.nodes = NULL;
	}
out:
	intern_free(b.keys);
	intern_free(b.seen);
	buf_release(&b.node_of);
	buf_release(&b.path);
	free(b.nodes);
	free(v);
	return err;
}

uint32_t tree_next(const struct tree *t, uint32_t id, uint32_t *ret_up)
{
	*ret_up = 0;
	if (t->nodes[id].child != TREE_ROOT)
		return t->nodes[id].child;
	for (; id != TREE_ROOT; id = t->nodes[id].parent) {
		++*ret_up;
		if (t->nodes[id].sibling != TREE_ROOT)
			return t->nodes[id].sibling;
	}
	return TREE_ROOT;
}

void tree_release(struct tree *t)
{
	if (!t)
		return;
	free(t->nodes);
	*t = (struct tree){0};
}
