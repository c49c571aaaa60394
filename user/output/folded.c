/*
 * Folded stacks: a line for each distinct stack, root first, and how many samples it has.
 *
 *	python3[4711];MainThread[4711];main (/srv/app.py:12);work (/srv/app.py:5) 310
 *
 * Things whose text is the same are merged; children of a node come in the order of their text.
 */
#include "output/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "output/text.h"
#include "output/tree.h"

struct folded {
	struct intern *texts; /* their ids are the labels */
	struct tree_labels labels;
};

static void put_string(struct buf *b, const struct names *n, uint32_t id)
{
	size_t len;
	const char *s = names_string_at(n, id, &len);

	text_escape(b, s, len, ";");
}

static void put_frame(struct buf *b, const struct names *n, const struct frame *f, bool lines)
{
	put_string(b, n, f->func);
	if (f->kind == FRAME_MARKER)
		return;
	buf_puts(b, " (");
	put_string(b, n, f->file);
	if (lines)
		buf_printf(b, ":%u", f->line);
	buf_putc(b, ')');
}

/* The label of the text in b, which is emptied. */
static uint32_t label_of(struct folded *f, struct buf *b)
{
	uint32_t id = b->failed ? INTERN_NONE : intern_put(f->texts, b->data, b->len);

	buf_reset(b);
	return id;
}

static int make_labels(struct folded *f, const struct profile *p, bool lines)
{
	struct tree_labels *l = &f->labels;
	const struct names *n = p->names;
	struct buf b = {0};
	bool ok = true;

	for (uint32_t i = 0; i < names_frames(n) && ok; i++) {
		put_frame(&b, n, names_frame_at(n, i), lines);
		l->frame[i] = label_of(f, &b);
		ok = l->frame[i] != INTERN_NONE;
	}
	for (uint32_t i = 0; i < p->n_processes && ok; i++) {
		put_string(&b, n, p->processes[i].comm);
		buf_printf(&b, "[%u]", p->processes[i].pid);
		l->process[i] = label_of(f, &b);
		ok = l->process[i] != INTERN_NONE;
	}
	for (uint32_t i = 0; i < p->n_threads && ok; i++) {
		put_string(&b, n, p->threads[i].name);
		buf_printf(&b, "[%u]", p->threads[i].tid);
		l->thread[i] = label_of(f, &b);
		ok = l->thread[i] != INTERN_NONE;
	}
	buf_release(&b);
	return ok ? 0 : -ENOMEM;
}

static int compare(const void *va, const void *vb, void *texts)
{
	size_t na, nb;
	const char *a = intern_get(texts, *(const uint32_t *)va, &na);
	const char *b = intern_get(texts, *(const uint32_t *)vb, &nb);
	int c = memcmp(a, b, MIN(na, nb));

	return c ? c : na < nb ? -1 : na > nb;
}

static int make_ranks(struct folded *f)
{
	uint32_t n = intern_count(f->texts);
	uint32_t *sorted = calloc((size_t)n + 1, sizeof(*sorted));

	f->labels.rank = calloc((size_t)n + 1, sizeof(*f->labels.rank));
	if (!sorted || !f->labels.rank) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), compare, f->texts);
	for (uint32_t i = 0; i < n; i++)
		f->labels.rank[sorted[i]] = i;
	free(sorted);
	return 0;
}

/* From the root down. The text of a whole line is nowhere at once: a hostile recording may have one
 * of gigabytes. */
static void put_line(FILE *out, const struct folded *f, const struct tree *t, uint32_t *path,
		     uint32_t id)
{
	uint32_t n = 0;

	for (uint32_t i = id; i != TREE_ROOT; i = t->nodes[i].parent)
		path[n++] = t->nodes[i].label;
	while (n-- > 0 && !ferror(out)) {
		size_t len;
		const char *text = intern_get(f->texts, path[n], &len);

		fwrite_unlocked(text, 1, len, out);
		if (n)
			putc_unlocked(';', out);
	}
	fprintf(out, " %" PRIu64 "\n", t->nodes[id].self);
}

static int write_tree(FILE *out, const struct folded *f, const struct tree *t)
{
	uint32_t *path = calloc((size_t)t->n + 1, sizeof(*path)), up;

	if (!path)
		return -ENOMEM;
	if (t->nodes[TREE_ROOT].self) /* a stack without frames: no recorder makes one */
		fprintf(out, "[empty] %" PRIu64 "\n", t->nodes[TREE_ROOT].self);
	for (uint32_t id = tree_next(t, TREE_ROOT, &up); id != TREE_ROOT && !ferror(out);
	     id = tree_next(t, id, &up))
		if (t->nodes[id].self)
			put_line(out, f, t, path, id);
	free(path);
	return ferror(out) ? -EIO : 0;
}

int folded_write(FILE *out, const struct profile *p, const struct format_options *o)
{
	struct folded f = {.texts = intern_new()};
	struct tree t = {0};
	int err = -ENOMEM;

	f.labels.frame = calloc((size_t)names_frames(p->names) + 1, sizeof(uint32_t));
	f.labels.process = calloc(p->n_processes + 1, sizeof(uint32_t));
	f.labels.thread = calloc(p->n_threads + 1, sizeof(uint32_t));
	if (!f.texts || !f.labels.frame || !f.labels.process || !f.labels.thread)
		goto out;
	err = make_labels(&f, p, o->lines);
	if (err == 0)
		err = make_ranks(&f);
	if (err == 0)
		err = tree_build(p, o->group, o->outcomes, &f.labels, &t);
	if (err == 0)
		err = write_tree(out, &f, &t);
out:
	tree_release(&t);
	free(f.labels.frame);
	free(f.labels.process);
	free(f.labels.thread);
	free(f.labels.rank);
	intern_free(f.texts);
	return err;
}
