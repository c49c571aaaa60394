/*
 * Write a flame graph: the page in flamegraph.html with its scripts and the data as JSON in it.
 *
 * The data is the call tree by process and thread, which the page merges as it is asked to:
 *
 *	strings: ["", "main", …]
 *	labels:  [kind, name, file, line, …]	four numbers each, in the order of their names
 *	nodes:   [up, label, self, …]		three numbers each, depth first; up: how many levels
 *						the parent is above the node before
 *	times:   [ns, …]			of the own samples of each node that has any; if
 *						the event is no clock there are none
 *
 * A label's kind is a frame's, or 5 for a process (line: pid, file: command line) or 6 for a thread
 * (line: tid).
 */
#include "output/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "output/jsonw.h"
#include "output/tree.h"

static const unsigned char page[] = {
#include "output/flamegraph.html.h"
};
static const unsigned char model_script[] = {
#include "output/flamegraph_model.js.h"
};
static const unsigned char view_script[] = {
#include "output/flamegraph_view.js.h"
};

#define MARK_DATA "@DATA@"
#define MARK_SCRIPT "@SCRIPT@"

enum label_kind { LABEL_PROCESS = FRAME_MARKER + 1, LABEL_THREAD };

struct label {
	uint32_t kind, name, file, line; /* name, file: string ids */
};

struct flamegraph {
	const struct profile *profile;
	const struct format_options *options;
	struct intern *labels; /* struct label */
	struct tree_labels l;
	uint32_t *sorted; /* labels in the order of their names */
	struct tree tree;
	uint32_t *string_of; /* string's place in the page's list + 1, by string id */
	uint32_t *strings;   /* the list */
	uint32_t n_strings;
};

/* --- labels --- */

static struct label label_at(const struct flamegraph *g, uint32_t id)
{
	struct label v;

	memcpy(&v, intern_get(g->labels, id, NULL), sizeof(v));
	return v;
}

static bool put_label(struct flamegraph *g, uint32_t *ret, const struct label *v)
{
	*ret = intern_put(g->labels, v, sizeof(*v));
	return *ret != INTERN_NONE;
}

static int make_labels(struct flamegraph *g)
{
	const struct profile *p = g->profile;
	bool ok = true;

	for (uint32_t i = 0; i < names_frames(p->names) && ok; i++) {
		const struct frame *f = names_frame_at(p->names, i);
		struct label v = {f->kind, f->func, f->file,
				  g->options->lines ? f->line : f->firstline};

		ok = put_label(g, &g->l.frame[i], &v);
	}
	for (uint32_t i = 0; i < p->n_processes && ok; i++) {
		const struct process_info *t = &p->processes[i];
		struct label v = {LABEL_PROCESS, t->comm, t->cmdline, t->pid};

		ok = put_label(g, &g->l.process[i], &v);
	}
	for (uint32_t i = 0; i < p->n_threads && ok; i++) {
		const struct thread_info *t = &p->threads[i];
		struct label v = {LABEL_THREAD, t->name, 0, t->tid};

		ok = put_label(g, &g->l.thread[i], &v);
	}
	return ok ? 0 : -ENOMEM;
}

static int compare_strings(const struct names *n, uint32_t a, uint32_t b)
{
	size_t na, nb;
	const char *sa = names_string_at(n, a, &na), *sb = names_string_at(n, b, &nb);
	int c = memcmp(sa, sb, MIN(na, nb));

	return c ? c : na < nb ? -1 : na > nb;
}

static int compare(const void *va, const void *vb, void *arg)
{
	const struct flamegraph *g = arg;
	struct label a = label_at(g, *(const uint32_t *)va), b = label_at(g, *(const uint32_t *)vb);
	int c = compare_strings(g->profile->names, a.name, b.name);

	c = c ? c : compare_strings(g->profile->names, a.file, b.file);
	if (c)
		return c;
	if (a.line != b.line)
		return a.line < b.line ? -1 : 1;
	return a.kind < b.kind ? -1 : a.kind > b.kind;
}

static int sort_labels(struct flamegraph *g)
{
	uint32_t n = intern_count(g->labels);

	g->sorted = calloc((size_t)n + 1, sizeof(*g->sorted));
	g->l.rank = calloc((size_t)n + 1, sizeof(*g->l.rank));
	if (!g->sorted || !g->l.rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		g->sorted[i] = i;
	qsort_r(g->sorted, n, sizeof(*g->sorted), compare, g);
	for (uint32_t i = 0; i < n; i++)
		g->l.rank[g->sorted[i]] = i;
	return 0;
}

/* --- the data --- */

static uint32_t string(struct flamegraph *g, uint32_t id)
{
	if (!g->string_of[id]) {
		g->strings[g->n_strings] = id;
		g->string_of[id] = ++g->n_strings;
	}
	return g->string_of[id] - 1;
}

static void put_labels(struct jsonw *j, struct flamegraph *g)
{
	jsonw_array(j, "labels");
	for (uint32_t i = 0; i < intern_count(g->labels); i++) {
		struct label v = label_at(g, g->sorted[i]);

		jsonw_u64(j, NULL, v.kind);
		jsonw_u64(j, NULL, string(g, v.name));
		jsonw_u64(j, NULL, string(g, v.file));
		jsonw_u64(j, NULL, v.line);
	}
	jsonw_end(j, ']');
	jsonw_array(j, "strings");
	for (uint32_t i = 0; i < g->n_strings; i++) {
		size_t len;
		const char *s = names_string_at(g->profile->names, g->strings[i], &len);

		jsonw_str(j, NULL, s, len);
	}
	jsonw_end(j, ']');
}

static void put_nodes(struct jsonw *j, const struct flamegraph *g)
{
	const struct tree_node *v = g->tree.nodes;
	uint32_t up, id = tree_next(&g->tree, TREE_ROOT, &up);

	jsonw_array(j, "nodes");
	while (id != TREE_ROOT) {
		jsonw_u64(j, NULL, up);
		jsonw_u64(j, NULL, g->l.rank[v[id].label]);
		jsonw_u64(j, NULL, v[id].self);
		id = tree_next(&g->tree, id, &up);
	}
	jsonw_end(j, ']');
}

static void put_times(struct jsonw *j, const struct flamegraph *g)
{
	const struct tree *t = &g->tree;
	uint32_t up, id = TREE_ROOT;

	jsonw_array(j, "times");
	if (g->profile->recording.clock)
		id = tree_next(t, TREE_ROOT, &up);
	for (; id != TREE_ROOT; id = tree_next(t, id, &up))
		if (t->nodes[id].self)
			jsonw_u64(j, NULL, t->nodes[id].weight);
	jsonw_end(j, ']');
}

static void put_text(struct jsonw *j, const char *key, const char *s)
{
	jsonw_str(j, key, s ? s : "", s ? strlen(s) : 0);
}

static void put_facts(struct jsonw *j, const struct flamegraph *g)
{
	static const char *const groups[] = {[AGGREGATE_NONE] = "none",
					     [AGGREGATE_PER_PROCESS] = "process",
					     [AGGREGATE_PER_THREAD] = "thread"};
	const struct recording *r = &g->profile->recording;
	const struct summary *s = &g->profile->summary;

	put_text(j, "title", g->options->title);
	put_text(j, "host", r->host);
	put_text(j, "kernel", r->kernel);
	put_text(j, "scry", r->scry);
	put_text(j, "event", r->event);
	put_text(j, "command", r->command);
	put_text(j, "group", groups[g->options->group]);
	jsonw_bool(j, "freq", r->freq);
	jsonw_u64(j, "rate", r->rate);
	jsonw_bool(j, "clock", r->clock);
	jsonw_u64(j, "cpus", r->cpus);
	jsonw_u64(j, "start_real", r->start_real);
	jsonw_u64(j, "duration_ns", s->duration_ns);
	jsonw_u64(j, "samples", profile_count(g->profile));
	jsonw_u64(j, "lost", s->lost);
	jsonw_u64(j, "other", s->other);
	jsonw_object(j, "outcomes");
	for (unsigned int i = 0; i < OUTCOME_MAX; i++)
		jsonw_u64(j, outcome_name((enum outcome)i), s->outcomes[i]);
	jsonw_end(j, '}');
}

static void put_data(FILE *f, struct flamegraph *g)
{
	struct jsonw j;

	jsonw_init(&j, f);
	jsonw_object(&j, NULL);
	put_facts(&j, g);
	put_labels(&j, g);
	put_nodes(&j, g);
	put_times(&j, g);
	jsonw_end(&j, '}');
}

/* --- the page --- */

static int put_page(FILE *f, struct flamegraph *g)
{
	const unsigned char *end = page + sizeof(page);
	const unsigned char *data = memmem(page, sizeof(page), MARK_DATA, strlen(MARK_DATA));
	const unsigned char *script = memmem(page, sizeof(page), MARK_SCRIPT, strlen(MARK_SCRIPT));

	if (!data || !script || script < data)
		return -EINVAL; /* a page without its marks: a test sees it first */
	fwrite(page, 1, (size_t)(data - page), f);
	put_data(f, g);
	data += strlen(MARK_DATA);
	fwrite(data, 1, (size_t)(script - data), f);
	fwrite(model_script, 1, sizeof(model_script), f);
	fwrite(view_script, 1, sizeof(view_script), f);
	script += strlen(MARK_SCRIPT);
	fwrite(script, 1, (size_t)(end - script), f);
	return ferror(f) ? -EIO : 0;
}

int flamegraph_write(FILE *f, const struct profile *p, const struct format_options *o)
{
	struct flamegraph g = {.profile = p, .options = o, .labels = intern_new()};
	size_t n_strings = names_strings(p->names);
	int err = -ENOMEM;

	g.l.frame = calloc((size_t)names_frames(p->names) + 1, sizeof(uint32_t));
	g.l.process = calloc(p->n_processes + 1, sizeof(uint32_t));
	g.l.thread = calloc(p->n_threads + 1, sizeof(uint32_t));
	g.string_of = calloc(n_strings, sizeof(uint32_t));
	g.strings = calloc(n_strings, sizeof(uint32_t));
	if (g.labels && g.l.frame && g.l.process && g.l.thread && g.string_of && g.strings)
		err = make_labels(&g);
	if (err == 0)
		err = sort_labels(&g);
	if (err == 0)
		err = tree_build(p, AGGREGATE_PER_THREAD, o->outcomes, &g.l, &g.tree);
	if (err == 0)
		err = put_page(f, &g);
	tree_release(&g.tree);
	free(g.l.frame);
	free(g.l.process);
	free(g.l.thread);
	free(g.l.rank);
	free(g.sorted);
	free(g.string_of);
	free(g.strings);
	intern_free(g.labels);
	return err;
}
