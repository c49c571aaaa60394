/* What the threads of processes do now, as text and as JSON. */
#include "output/dump.h"

#include <inttypes.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/plain.h"
#include "output/jsonw.h"

/* --- text --- */

/* Text of the target, in which nothing can steer a terminal. */
static void put_text(FILE *f, const struct moment *m, uint32_t string)
{
	size_t len;
	const char *s = names_string_at(m->names, string, &len);
	struct buf safe;

	buf_init(&safe);
	plain_put(&safe, s, len);
	if (safe.len)
		fwrite(safe.data, 1, safe.len, f);
	buf_release(&safe);
}

static void put_frame(FILE *f, const struct moment *m, uint32_t id)
{
	const struct frame *v = names_frame_at(m->names, id);

	fputs("    ", f);
	put_text(f, m, v->func);
	if (v->kind != FRAME_MARKER) {
		fputs(" (", f);
		put_text(f, m, v->file);
		if (v->line)
			fprintf(f, ":%" PRIu32, v->line);
		fputc(')', f);
	}
	fputc('\n', f);
}

static const char *gil_of(const struct moment_thread *t)
{
	return t->holds_gil ? "holds" : t->run == RUN_GIL ? "waits" : "";
}

static void put_thread(FILE *f, const struct moment *m, const struct moment_thread *t)
{
	uint32_t stack = t->stack, frame;

	fprintf(f, "\nThread %" PRIu32 " (%s", t->info.tid, moment_state(t));
	if (t->holds_gil)
		fputs(", gil", f);
	else if (t->run == RUN_GIL)
		fputs(", waits for gil", f);
	if (t->run == RUN_GC)
		fputs(", gc", f);
	if (t->outcome == OUTCOME_UNPROVEN)
		fputs(", unproven", f);
	fputs(") \"", f);
	put_text(f, m, t->info.name);
	if (t->info.python && t->info.python != t->info.name) {
		fputs("\", in Python \"", f);
		put_text(f, m, t->info.python);
	}
	fputs("\"\n", f);
	if (stack == STACK_EMPTY)
		fprintf(f, "    [%s]\n", outcome_name(t->outcome));
	while (stack != STACK_EMPTY) {
		names_stack_at(m->names, stack, &stack, &frame);
		put_frame(f, m, frame);
	}
}

/* Whose child it is, if that one is here too. */
static void put_parent(FILE *f, const struct moment *m, const struct moment_process *p)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->processes[i].info.pid == p->info.ppid)
			fprintf(f, " (child of %" PRIu32 ")", p->info.ppid);
}

static void put_process(FILE *f, const struct moment *m, const struct moment_process *p)
{
	uint32_t what = p->info.cmdline ? p->info.cmdline : p->info.comm;

	fprintf(f, "Process %" PRIu32, p->info.pid);
	put_parent(f, m, p);
	fputs(": ", f);
	if (p->reason) {
		put_text(f, m, p->reason);
		fputc('\n', f);
		return;
	}
	put_text(f, m, what);
	fputs("\nPython ", f);
	put_text(f, m, p->info.python);
	fputs(" (", f);
	put_text(f, m, p->info.exe);
	fputs(")\n", f);
	for (const struct moment_thread *t = p->threads; t; t = t->hh.next)
		put_thread(f, m, t);
}

void dump_text(FILE *f, const struct moment *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (i)
			fputc('\n', f);
		put_process(f, m, &m->processes[i]);
	}
}

/* --- JSON --- */

static void json_string(struct jsonw *j, const char *key, const struct moment *m, uint32_t id)
{
	size_t len;
	const char *s = names_string_at(m->names, id, &len);

	jsonw_str(j, key, s, len);
}

static void json_plain(struct jsonw *j, const char *key, const char *s)
{
	size_t len = 0;

	while (s[len])
		len++;
	jsonw_str(j, key, s, len);
}

static void json_frame(struct jsonw *j, const struct moment *m, uint32_t id)
{
	const struct frame *v = names_frame_at(m->names, id);

	jsonw_object(j, NULL);
	if (v->kind == FRAME_MARKER) {
		json_string(j, "marker", m, v->func);
	} else {
		json_string(j, "function", m, v->func);
		json_string(j, "file", m, v->file);
		jsonw_u64(j, "line", v->line);
		jsonw_u64(j, "first_line", v->firstline);
	}
	jsonw_end(j, '}');
}

static void json_thread(struct jsonw *j, const struct moment *m, const struct moment_thread *t)
{
	uint32_t stack = t->stack, frame;

	jsonw_object(j, NULL);
	jsonw_u64(j, "tid", t->info.tid);
	json_string(j, "name", m, t->info.name);
	json_string(j, "python_name", m, t->info.python);
	json_plain(j, "state", moment_state(t));
	json_plain(j, "gil", gil_of(t));
	jsonw_bool(j, "gc", t->run == RUN_GC);
	json_plain(j, "outcome", outcome_name(t->outcome));
	jsonw_array(j, "frames");
	while (stack != STACK_EMPTY) {
		names_stack_at(m->names, stack, &stack, &frame);
		json_frame(j, m, frame);
	}
	jsonw_end(j, ']');
	jsonw_end(j, '}');
}

static void json_process(struct jsonw *j, const struct moment *m, const struct moment_process *p)
{
	jsonw_object(j, NULL);
	jsonw_u64(j, "pid", p->info.pid);
	jsonw_u64(j, "ppid", p->info.ppid);
	jsonw_u64(j, "uid", p->info.uid);
	json_string(j, "name", m, p->info.comm);
	json_string(j, "command", m, p->info.cmdline);
	json_string(j, "container", m, p->info.container);
	json_string(j, "python", m, p->info.python);
	json_string(j, "path", m, p->info.exe);
	json_string(j, "reason", m, p->reason);
	jsonw_array(j, "threads");
	for (const struct moment_thread *t = p->threads; t; t = t->hh.next)
		json_thread(j, m, t);
	jsonw_end(j, ']');
	jsonw_end(j, '}');
}

void dump_json(FILE *f, const struct moment *m)
{
	struct jsonw j;

	jsonw_init(&j, f);
	jsonw_object(&j, NULL);
	jsonw_u64(&j, "time_ms", m->time / NSEC_PER_MSEC);
	jsonw_array(&j, "processes");
	for (size_t i = 0; i < m->n; i++)
		json_process(&j, m, &m->processes[i]);
	jsonw_end(&j, ']');
	jsonw_end(&j, '}');
	fputc('\n', f);
}
