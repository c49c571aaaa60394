/*
 * Layouts, code objects, strings and lines on live interpreters: what is read from outside is what
 * the interpreter says of itself (tests/tools/object-truth.py).
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/clock.h"
#include "python/code.h"
#include "python/debug_offsets.h"
#include "python/linetable.h"
#include "python/unicode.h"
#include "remote/procmem.h"
#include "tests/support/interpreters.h"

#define TAGS 7
#define WAIT_NS (20 * NSEC_PER_SEC)

struct target {
	const char *name;
	struct mem *mem;
	struct layout layout;
	raddr_t runtime, code_type;
	uint64_t thread_id, native_id;
	uint32_t max_version;
	unsigned int live, freed, freed_alive, freed_told; /* told: by the reference count alone */
};

static uint64_t word(struct target *t, raddr_t at)
{
	uint64_t v = 0;

	cr_assert_eq(mem_read_u64(t->mem, at, &v), 0, "%s: nothing at %lx", t->name,
		     (unsigned long)at);
	return v;
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 10);
}

static bool read_code(struct target *t, raddr_t addr, struct code *ret)
{
	uint8_t head[CODE_MAX];

	return mem_read(t->mem, addr, head, t->layout.code.size) == 0 &&
	       code_head(&t->layout, addr, head, t->layout.code.size, ret) == 0;
}

/* The string object at addr says what `hex` says. */
static void is_string(struct target *t, raddr_t addr, const char *hex, const char *hash)
{
	uint8_t head[UNICODE_HEAD] = {0}, *chars;
	struct unicode u;
	struct buf is, digits;

	cr_assert_eq(mem_read(t->mem, addr, head, sizeof(head)), 0);
	cr_assert_eq(unicode_head(&t->layout, addr, head, sizeof(head), &u), 0, "%s: %s", t->name,
		     hex);
	cr_assert(!hash || u.hash == number(hash), "%s: hash of %s", t->name, hex);
	chars = malloc(u.bytes + 1);
	cr_assert_not_null(chars);
	cr_assert_eq(mem_read(t->mem, u.data, chars, u.bytes), 0);
	buf_init(&is);
	buf_init(&digits);
	cr_assert_eq(unicode_utf8(&u, chars, &is), 0);
	for (size_t i = 0; i < is.len; i++)
		buf_printf(&digits, "%02x", (uint8_t)is.data[i]);
	cr_assert_str_eq(digits.data, hex, "%s", t->name);
	buf_release(&is);
	buf_release(&digits);
	free(chars);
}

static void check_code(struct target *t, char **v)
{
	struct code c;

	cr_assert(read_code(t, number(v[0]), &c), "%s: %s", t->name, v[0]);
	cr_assert(c.alive, "%s: reference count %lx", t->name, word(t, number(v[0])));
	cr_assert_eq(c.type, t->code_type);
	cr_assert_eq(c.firstlineno, number(v[1]), "%s", t->name);
	is_string(t, c.name, v[3], v[2]);
	if (t->layout.code.qualname != LAYOUT_NONE)
		is_string(t, c.qualname, v[4], NULL);
	is_string(t, c.filename, v[5], NULL);
	t->max_version = MAX(t->max_version, c.version);
	t->live++;
}

static void check_freed(struct target *t, char **v)
{
	struct code c;

	t->freed++;
	if (!read_code(t, number(v[0]), &c) || c.type != t->code_type)
		return;
	t->freed_alive += c.alive;
	t->freed_told += !c.alive;
}

/* The state of the only thread. */
static raddr_t find_state(struct target *t)
{
	raddr_t interp = word(t, t->runtime + t->layout.runtime.interp_head);

	return word(t, interp + t->layout.interp.threads_head);
}

/* Runtime, interpreter, GIL and thread state of a process that sleeps. */
static void check_states(struct target *t)
{
	const struct layout *l = &t->layout;
	raddr_t interp = word(t, t->runtime + l->runtime.interp_head);
	raddr_t state = find_state(t), gil;

	cr_assert_eq(word(t, t->runtime + l->runtime.main_interp), interp);
	cr_assert_eq(word(t, t->runtime + l->runtime.finalizing), 0);
	cr_assert_eq(word(t, interp + l->interp.next), 0);
	cr_assert_eq(word(t, interp + l->interp.id), 0);
	cr_assert_eq(word(t, state + l->tstate.next), 0);
	cr_assert_eq(word(t, state + l->tstate.prev), 0);
	cr_assert_eq(word(t, state + l->tstate.interp), interp);
	cr_assert_eq(word(t, state + l->tstate.thread_id), t->thread_id);
	if (l->tstate.native_thread_id != LAYOUT_NONE)
		cr_assert_eq(word(t, state + l->tstate.native_thread_id), t->native_id);
	gil = l->runtime.gil != LAYOUT_NONE ? t->runtime + l->runtime.gil
					    : word(t, interp + l->interp.gil_ptr);
	cr_assert_eq(word(t, gil + l->gil.last_holder), state);
	for (uint64_t end = clock_mono() + WAIT_NS; clock_mono() < end; sched_yield())
		if ((uint32_t)word(t, gil + l->gil.locked) == 0)
			break;
	cr_assert_eq((uint32_t)word(t, gil + l->gil.locked), 0); /* it sleeps */
	cr_assert_lt(word(t, gil + l->gil.switch_number), 100);
	cr_assert_gt(word(t, gil + l->gil.switch_number), 0);
	gil = l->runtime.gc_collecting != LAYOUT_NONE ? t->runtime + l->runtime.gc_collecting
						      : interp + l->interp.gc_collecting;
	cr_assert_eq((uint32_t)word(t, gil), 0);
	if (l->tstate.datastack_chunk != LAYOUT_NONE) {
		raddr_t chunk = word(t, state + l->tstate.datastack_chunk);
		raddr_t top = word(t, state + l->tstate.datastack_chunk + 8);
		raddr_t limit = word(t, state + l->tstate.datastack_chunk + 16);

		cr_assert(chunk && top > chunk && top <= limit && limit - chunk <= 1 << 20);
	}
}

static uint32_t line_now(struct target *t, raddr_t frame, const struct code *c)
{
	const struct layout *l = &t->layout;
	uint64_t size = word(t, c->lines + l->bytes.size);
	uint8_t table[4096];

	cr_assert_leq(size, sizeof(table));
	cr_assert_eq(mem_read(t->mem, c->lines + l->bytes.data, table, size), 0);
	return linetable_line(l->lines, table, size, c->firstlineno,
			      code_offset(l, c, word(t, frame + l->frame.instr)));
}

/* The running function gets to the line that it says it will wait in. */
static void check_frame(struct target *t, raddr_t state, raddr_t code, uint32_t line)
{
	const struct layout *l = &t->layout;
	raddr_t frame = word(t, state + l->tstate.frame);
	uint64_t end = clock_mono() + WAIT_NS;
	struct code c;

	if (l->tstate.frame_hop != LAYOUT_NONE)
		frame = word(t, frame + l->tstate.frame_hop);
	cr_assert(read_code(t, code, &c));
	while (line_now(t, frame, &c) != line && clock_mono() < end)
		sched_yield();
	cr_assert_eq(line_now(t, frame, &c), line, "%s", t->name);
	cr_assert_eq(word(t, frame + l->frame.code) & ~(raddr_t)TAGS, code, "%s", t->name);
	if (l->frame.owner != LAYOUT_NONE)
		cr_assert_eq((uint8_t)word(t, frame + l->frame.owner), 0);
	cr_assert_neq(word(t, frame + l->frame.previous), 0); /* main() */
}

/* The counter stands above every version seen, and not far. */
static void check_counter(struct target *t)
{
	const struct layout *l = &t->layout;
	raddr_t interp = word(t, t->runtime + l->runtime.interp_head);
	uint32_t next;

	if (l->minor < 13)
		return;
	cr_assert_neq(l->interp.next_version, LAYOUT_NONE);
	next = (uint32_t)word(t, interp + l->interp.next_version);
	cr_assert_gt(t->max_version, 0);
	cr_assert_gt(next, t->max_version, "%s: %u", t->name, next);
	cr_assert_lt(next, t->max_version + 100000, "%s: %u", t->name, next);
	if (l->interp.generation != LAYOUT_NONE)
		cr_assert_geq(word(t, interp + l->interp.generation), t->freed);
}

static void set_layout(struct target *t, unsigned int minor)
{
	uint8_t table[DEBUG_OFFSETS_MAX];

	if (minor < 13) {
		t->layout = *layout_table(minor);
		return;
	}
	cr_assert_eq(mem_read(t->mem, t->runtime, table, sizeof(table)), 0);
	cr_assert_eq(debug_offsets_parse(table, sizeof(table), &t->layout), 0);
	cr_assert_eq(t->layout.minor, minor);
}

static void check_said(struct target *t, unsigned int minor, char **v)
{
	if (strcmp(v[0], "runtime") == 0) {
		t->runtime = number(v[1]);
	} else if (strcmp(v[0], "codetype") == 0) {
		t->code_type = number(v[1]);
	} else if (strcmp(v[0], "thread") == 0) {
		t->thread_id = number(v[1]);
		t->native_id = number(v[2]);
		cr_assert_eq(procmem_new((pid_t)t->native_id, &t->mem), 0);
		set_layout(t, minor);
	} else if (strcmp(v[0], "waiting") == 0) {
		check_frame(t, find_state(t), number(v[1]), (uint32_t)number(v[2]));
		check_states(t);
	}
}

static void check_interpreter(const char *name, unsigned int minor, FILE *output)
{
	struct target t = {.name = name};
	char *text = NULL;
	size_t cap = 0;
	bool ended = false;

	/* all of it is there before anything is looked at, so that nothing moves meanwhile */
	struct buf said;
	char *save, *line;

	buf_init(&said);
	while (!ended && getline(&text, &cap, output) > 0) {
		ended = strcmp(text, "end\n") == 0;
		buf_puts(&said, text);
	}
	cr_assert(ended, "%s", name);
	for (line = strtok_r(said.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *v[8] = {0}, *inner;

		v[0] = strtok_r(line, " ", &inner);
		for (size_t i = 1; i < 7; i++)
			v[i] = strtok_r(NULL, " ", &inner);
		if (strcmp(v[0], "code") == 0)
			check_code(&t, v + 1);
		else if (strcmp(v[0], "freed") == 0)
			check_freed(&t, v + 1);
		else
			check_said(&t, minor, v);
	}
	check_counter(&t);
	kill((pid_t)t.native_id, SIGKILL);
	mem_free(t.mem);
	buf_release(&said);
	free(text);
	cr_assert_gt(t.live, 20);
	cr_assert_eq(t.freed, 300);
	cr_assert_eq(t.freed_alive, 0, "%s: %u freed ones look alive", name, t.freed_alive);
	cr_log_info("%s: %u live, %u freed (%u told by their count), versions to %u", name, t.live,
		    t.freed, t.freed_told, t.max_version);
}

Test(objects, interpreters, .timeout = 300)
{
	interpreters_run("tests/tools/object-truth.py", "", check_interpreter);
}
