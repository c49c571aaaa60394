/* A call tree: the stacks of a profile merged by what their frames are called. */
#ifndef SCRY_OUTPUT_TREE_H
#define SCRY_OUTPUT_TREE_H

#include "profile/aggregate.h"

#define TREE_ROOT 0u

struct tree_node {
	uint32_t parent, label;
	uint32_t child, sibling; /* in the order of their labels' ranks; TREE_ROOT: none */
	uint64_t self, total;	 /* samples */
	uint64_t weight;	 /* of its own samples, in the event's unit */
};

struct tree {
	struct tree_node *nodes; /* a parent before its children; [TREE_ROOT] has no label */
	uint32_t n;
};

/* What things are called: label numbers by frame, process and thread id, and the rank by which each
 * label is sorted. Frames with the same label are merged where their callers are. */
struct tree_labels {
	uint32_t *frame, *process, *thread, *rank;
};

/* With a group, processes are the children of the root, and threads theirs. 0 or -ENOMEM. */
int tree_build(const struct profile *p, enum aggregate_group group, uint32_t outcomes,
	       const struct tree_labels *l, struct tree *ret);
/* The node behind `id`, depth first, from TREE_ROOT on; *ret_up: how many levels its parent is
 * above `id`. TREE_ROOT: that was the last. */
uint32_t tree_next(const struct tree *t, uint32_t id, uint32_t *ret_up);
void tree_release(struct tree *t);

#endif
