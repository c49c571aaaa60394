/* Names and lines of every code object of real interpreters, against what they say of themselves.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/file.h"
#include "python/discover.h"
#include "python/unicode.h"
#include "remote/procmem.h"
#include "symbol/pycode.h"

#define FOUND_MAX (64u << 10)
#define FIXTURE "tests/live/fixtures/codes.py"
#define HEAD_MAX 512

/* What the interpreter says about one instruction. */
struct truth {
	char *name, *file; /* of all instructions of a code object the same */
	size_t name_len, file_len;
	uint32_t firstline, line;
};

struct target {
	pid_t pid;
	int input; /* closed: it ends */
	FILE *output;
	struct mem *mem;
	struct discover *discover;
	struct discover_found found;
	struct pycode_query *q;
	struct truth *truth;
	size_t n, cap;
	struct identity id; /* of the object whose lines are being read */
};

static void start(struct target *t, const char *command, const char *source)
{
	char line[1024];
	int in[2], out[2];

	cr_assert(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	snprintf(line, sizeof(line), "exec %s -I -c \"$0\"", command);
	t->pid = fork();
	if (t->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", line, source, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	t->input = in[1];
	t->output = fdopen(out[0], "r");
}

static void end(struct target *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!i || t->truth[i].name != t->truth[i - 1].name) {
			free(t->truth[i].name);
			free(t->truth[i].file);
		}
	free(t->truth);
	free(t->q);
	mem_free(t->mem);
	discover_free(t->discover);
	close(t->input);
	fclose(t->output);
	waitpid(t->pid, NULL, 0);
}

static char *unhex(const char *s, size_t *ret_len)
{
	size_t n = *s == '-' ? 0 : strlen(s) / 2;
	char *p = calloc(1, n + 1);

	cr_assert_not_null(p);
	for (size_t i = 0; i < n; i++) {
		unsigned int c;

		cr_assert_eq(sscanf(s + 2 * i, "%2x", &c), 1);
		p[i] = (char)c;
	}
	*ret_len = n;
	return p;
}

/* As the kernel side has it: the hash of a str, or where it has none its mark. */
static uint64_t mark(struct target *t, raddr_t str)
{
	const struct layout *l = &t->found.layout;
	uint8_t head[UNICODE_HEAD], text[UNICODE_MARK_BYTES];
	struct unicode u;

	cr_assert_eq(mem_read(t->mem, str, head, l->str.compact_data), 0);
	cr_assert_eq(unicode_head(l, str, head, l->str.compact_data, &u), 0);
	if (u.hash && u.hash != UINT64_MAX)
		return u.hash;
	cr_assert_eq(mem_read(t->mem, u.data, text, MIN(u.bytes, sizeof(text))), 0);
	return unicode_mark(&u, text);
}

/* As a tick would have it. */
static struct identity identify(struct target *t, raddr_t code)
{
	const struct layout *l = &t->found.layout;
	struct identity id = {.proof = l->proof, .ok = true};
	uint8_t head[HEAD_MAX];
	uint32_t name;

	if (l->proof == LAYOUT_PROOF_COUNTER) {
		cr_assert_eq(mem_read_u32(t->mem, t->found.main_interp + l->interp.next_version,
					  &id.version),
			     0);
		return id;
	}
	cr_assert_eq(mem_read(t->mem, code, head, l->code.size), 0);
	if (l->proof == LAYOUT_PROOF_VERSION) {
		id.version = bytes_load32(head + l->code.version);
		return id;
	}
	id.firstlineno = (int32_t)bytes_load32(head + l->code.firstlineno);
	id.filename = bytes_load64(head + l->code.filename);
	name = l->code.qualname != LAYOUT_NONE ? l->code.qualname : l->code.name;
	id.name_hash = mark(t, bytes_load64(head + name));
	id.file_mark = (uint32_t)mark(t, id.filename);
	return id;
}

static void add(struct target *t, raddr_t code, int64_t offset, const struct truth *truth)
{
	const struct layout *l = &t->found.layout;
	uint64_t instr = code + l->code.bytecode + (uint64_t)offset;

	if (l->instr == LAYOUT_LASTI_BYTES)
		instr = (uint64_t)offset;
	else if (l->instr == LAYOUT_LASTI_UNITS)
		instr = (uint64_t)(offset / 2);
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 1024;
		t->q = realloc(t->q, t->cap * sizeof(*t->q));
		t->truth = realloc(t->truth, t->cap * sizeof(*t->truth));
		cr_assert(t->q && t->truth);
	}
	t->q[t->n] = (struct pycode_query){.code = code, .instr = instr, .id = t->id};
	t->truth[t->n++] = *truth;
}

/* One line of the fixture's output; false: the last. */
static bool read_code(struct target *t, char *line)
{
	struct truth truth = {0};
	char *word[5], *save, *pair;
	raddr_t code;

	line[strcspn(line, "\n")] = '\0';
	if (!strcmp(line, "end"))
		return false;
	for (int i = 0; i < 5; i++) {
		word[i] = strsep(&line, " ");
		cr_assert_not_null(word[i]);
	}
	code = strtoull(word[0], NULL, 16);
	truth.name = unhex(word[1], &truth.name_len);
	truth.file = unhex(word[2], &truth.file_len);
	truth.firstline = (uint32_t)strtoul(word[3], NULL, 10);
	t->id = identify(t, code);
	for (pair = strtok_r(word[4], ",", &save); pair; pair = strtok_r(NULL, ",", &save)) {
		long offset;

		cr_assert_eq(sscanf(pair, "%ld:%u", &offset, &truth.line), 2);
		add(t, code, offset, &truth);
	}
	return true;
}

static void attach(struct target *t, const char *name)
{
	enum discover_why why;

	cr_assert_eq(procmem_new(t->pid, &t->mem), 0);
	t->discover = discover_new();
	cr_assert_not_null(t->discover);
	why = discover_process(t->discover, t->pid, t->mem, &t->found);
	cr_assert_eq(why, DISCOVER_OK, "%s: %s", name, discover_reason(why));
}

static size_t compare(const struct target *t, const struct names *names, const char *name)
{
	size_t wrong = 0, func_len, file_len;

	for (size_t i = 0; i < t->n; i++) {
		const struct frame *f = names_frame_at(names, t->q[i].ret_frame);
		const char *func = names_string_at(names, f->func, &func_len);
		const char *file = names_string_at(names, f->file, &file_len);
		const struct truth *w = &t->truth[i];

		if (t->q[i].ret_named && f->line == w->line && f->firstline == w->firstline &&
		    func_len == w->name_len && !memcmp(func, w->name, func_len) &&
		    file_len == w->file_len && !memcmp(file, w->file, file_len))
			continue;
		if (wrong++ < 5)
			cr_log_error("%s: %.60s %.60s:%u/%u is taken for %.60s %.60s:%u/%u", name,
				     w->name, w->file, w->line, w->firstline, func, file, f->line,
				     f->firstline);
	}
	return wrong;
}

static void check(const char *name, const char *command, const char *source)
{
	struct target t = {0};
	struct names *names = names_new();
	struct pycode *cache;
	char *line = NULL;
	size_t size = 0;
	uint64_t calls;

	cr_assert_not_null(names);
	start(&t, command, source);
	while (getline(&line, &size, t.output) > 0) {
		if (!t.mem)
			attach(&t, name);
		if (!read_code(&t, line))
			break;
	}
	free(line);
	cr_assert_gt(t.n, 1000, "%s: only %zu instructions", name, t.n);
	cache = pycode_new(names, &t.found.layout, t.found.types, t.found.runtime);
	cr_assert_not_null(cache);
	/* some are doubted (pycode_proof.c) until it has moved on */
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(pycode_resolve(cache, t.mem, t.q, t.n), 0);
		pycode_emptied(cache);
	}
	cr_expect_eq(compare(&t, names, name), 0);
	calls = t.mem->stats.calls;
	cr_expect_eq(pycode_resolve(cache, t.mem, t.q, t.n), 0);
	cr_expect_eq(compare(&t, names, name), 0);
	cr_expect_eq(t.mem->stats.calls, calls, "%s: reads what it knows", name);
	pycode_free(cache);
	names_free(names);
	end(&t);
}

Test(pycode_live, says_what_the_interpreter_says, .timeout = 240)
{
	const char *cache = getenv("SCRY_CACHE");
	struct buf found, source;
	char path[256], *line, *save;

	buf_init(&found);
	buf_init(&source);
	snprintf(path, sizeof(path), "%s/interpreters.found",
		 cache ? cache : "/var/cache/scry-test");
	if (geteuid() || file_read(path, FOUND_MAX, &found))
		cr_skip_test("needs root, and interpreters from tests/tools/setup-interpreters");
	cr_assert_eq(file_read(FIXTURE, FOUND_MAX, &source), 0);
	for (line = strtok_r(found.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = strsep(&line, "\t");

		strsep(&line, "\t");
		if (line && *line != '!')
			check(name, line, source.data);
	}
	buf_release(&found);
	buf_release(&source);
}
