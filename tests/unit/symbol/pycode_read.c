/* Strings and tables that are long, damaged, shared, at the edge of what is mapped. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "python/linetable.h"
#include "python/unicode.h"
#include "symbol/pycode_read.h"
#include "tests/support/fakecode.h"

#define A 0x7f0000000040ul
#define STRIDE 0x100000ul
#define PAGE 4096

static struct fakecache f;
static struct fakecode code;

static void start(void)
{
	fakecache_init(&f, 13);
	code = (struct fakecode){
		.addr = A, .version = 5, .firstlineno = 10, .name = "one", .file = "/f.py"};
}

static void done(void)
{
	fakecache_release(&f);
}

/* Names it; the calls it took. */
static uint64_t ask(struct pycode_query *q)
{
	uint64_t calls;

	q->id.version = 100;
	cr_assert_eq(fakecache_ask(&f, q, &calls), 0);
	return calls;
}

static const char *func_of(const struct pycode_query *q, size_t *ret_len)
{
	const struct frame *frame = names_frame_at(f.names, q->ret_frame);

	cr_assert(q->ret_named);
	return names_string_at(f.names, frame->func, ret_len);
}

static void expect(const char *text, uint64_t calls)
{
	struct pycode_query q = fakecode_query(&f.layout, A, 8);

	cr_assert_eq(ask(&q), calls);
	cr_assert_str_eq(fakecache_text(&f, &q), text, "%s, not %s", fakecache_text(&f, &q), text);
}

Test(pycode_read, long_name, .init = start, .fini = done)
{
	char name[UNICODE_MAX_CHARS + 100];
	struct pycode_query q = fakecode_query(&f.layout, A, 0);
	size_t n;

	memset(name, 'n', sizeof(name));
	name[300] = '\0';
	code.name = name;
	fakecode_put(f.mem, &f.layout, &code);
	cr_assert_eq(ask(&q), 3);
	cr_assert_str_eq(func_of(&q, &n), name);
	cr_assert_eq(ask(&q), 0);

	name[300] = 'n';
	name[sizeof(name) - 1] = '\0';
	code.addr = A + STRIDE;
	fakecode_put(f.mem, &f.layout, &code);
	q = fakecode_query(&f.layout, A + STRIDE, 0);
	cr_assert_eq(ask(&q), 3);
	func_of(&q, &n);
	cr_assert_eq(n, UNICODE_MAX_CHARS + strlen("\xe2\x80\xa6"));
}

Test(pycode_read, long_line_table, .init = start, .fini = done)
{
	uint8_t lines[3 * 400];
	struct pycode_query q = fakecode_query(&f.layout, A, 22);

	for (size_t i = 0; i < sizeof(lines); i += 3) { /* a line a unit */
		lines[i] = 0x80 | 11 << 3;
		lines[i + 1] = lines[i + 2] = 0;
	}
	fakecode_put(f.mem, &f.layout, &code);
	fakecode_bytes(f.mem, &f.layout, fakecode_lines_at(A), lines, sizeof(lines));
	cr_assert_eq(ask(&q), 3);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:22/10");
}

/* Longer than LINETABLE_MAX says it is: its head is what counts. */
Test(pycode_read, absurd_line_table, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_add_u64(f.mem, fakecode_lines_at(A) + f.layout.bytes.size, UINT64_MAX);
	expect("one /f.py:0/10", 3); /* there are no such bytes */
}

Test(pycode_read, empty_line_table, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_add_u64(f.mem, fakecode_lines_at(A) + f.layout.bytes.size, 0);
	expect("one /f.py:0/10", 2);
}

Test(pycode_read, unmapped_line_table, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_hole(f.mem, fakecode_lines_at(A), 64);
	expect("one /f.py:0/10", 2);
}

Test(pycode_read, unmapped_name, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_hole(f.mem, fakecode_name_at(A), 64);
	expect("[unreadable]", 2);
}

Test(pycode_read, unmapped_file, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_hole(f.mem, fakecode_file_at(A), 64);
	expect("[unreadable]", 2);
}

Test(pycode_read, unmapped_end_of_a_long_name, .init = start, .fini = done)
{
	char name[1000];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	code.name = name;
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_hole(f.mem, fakecode_name_at(A) + 900, 8);
	expect("[unreadable]", 3);
}

Test(pycode_read, unmapped_head, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_hole(f.mem, A + 100, 8);
	expect("[unreadable]", 1);
}

Test(pycode_read, not_a_str, .init = start, .fini = done)
{
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_add_u32(f.mem, fakecode_name_at(A) + f.layout.str.state, 7u << 2);
	expect("[unreadable]", 2);
	fakemem_add_u32(f.mem, fakecode_name_at(A) + f.layout.str.state, (1u | 8 | 16) << 2);
	fakemem_add_u64(f.mem, fakecode_name_at(A) + f.layout.str.length, UINT64_MAX);
	expect("[unreadable]", 2);
}

/* ASCII by its head, and it isn't. */
Test(pycode_read, characters_that_the_str_cannot_hold, .init = start, .fini = done)
{
	code.name = "caf\xe9";
	fakecode_put(f.mem, &f.layout, &code);
	expect("[unreadable]", 2);
}

/* The last things of their page, and nothing mapped behind. */
Test(pycode_read, at_the_edge, .init = start, .fini = done)
{
	raddr_t end = 0x7f1000000000ul, at = end - f.layout.str.ascii_data - 8;

	code.qualname_at = at;
	code.lines = end - PAGE - f.layout.bytes.data - 8;
	fakecode_put(f.mem, &f.layout, &code);
	fakecode_str(f.mem, &f.layout, at, "edgeone", 77);
	fakecode_bytes(f.mem, &f.layout, code.lines, "\xd3\0\0\xdf\0\0\xf8", 7);
	expect("edgeone /f.py:11/10", 2);
}

/* Its head reaches into the next page: so does what is mapped. */
Test(pycode_read, across_the_edge, .init = start, .fini = done)
{
	raddr_t at = 0x7f1000000000ul - f.layout.str.ascii_data + 8;
	char padding[PAGE] = {0};

	code.qualname_at = at;
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_add(f.mem, 0x7f1000000000ul, padding, sizeof(padding));
	fakecode_str(f.mem, &f.layout, at, "one", 77);
	expect("one /f.py:11/10", 2);
}

Test(pycode_read, shared_strings_are_read_once, .init = start, .fini = done)
{
	struct pycode_query q[8];
	uint64_t heads = 8, tables = 8, files = 8, names = 1;

	for (int i = 0; i < 8; i++) {
		code.addr = A + i * STRIDE;
		code.qualname_at = fakecode_name_at(A);
		fakecode_put(f.mem, &f.layout, &code);
		q[i] = fakecode_query(&f.layout, code.addr, 8);
		q[i].id.version = 100;
	}
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, 8), 0);
	for (int i = 0; i < 8; i++)
		cr_assert_str_eq(fakecache_text(&f, &q[i]), "one /f.py:11/10");
	cr_assert_eq(f.mem->stats.segments, 2 * heads + tables + files + names);
}

/* More line tables than one batch holds: none is lost. */
Test(pycode_read, more_than_a_batch, .init = start, .fini = done)
{
	enum { N = 20 };
	struct pycode_query q[N];
	uint8_t *big = calloc(1, LINETABLE_MAX);

	cr_assert_not_null(big);
	memset(big, 0x80 | 15 << 3 | 7, LINETABLE_MAX);
	memcpy(big, "\xd3\0\0\xdf\0\0", 6);
	code.lines = 0x7f2000000000ul;
	for (int i = 0; i < N; i++) {
		code.addr = A + i * STRIDE;
		fakecode_put(f.mem, &f.layout, &code);
		q[i] = fakecode_query(&f.layout, code.addr, 8);
		q[i].id.version = 100;
	}
	fakecode_bytes(f.mem, &f.layout, code.lines, big, LINETABLE_MAX);
	free(big);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, q, N), 0);
	for (int i = 0; i < N; i++)
		cr_assert_str_eq(fakecache_text(&f, &q[i]), "one /f.py:11/10");
}

/* A thread of a free-threaded build runs a copy of the bytecode. */
Test(pycode_read, bytecode_copies, .init = start, .fini = done)
{
	raddr_t array = 0x7f3000000000ul, copy = 0x7f4000000000ul;
	struct fakecode moved;
	uint8_t head[FAKECODE_MAX];
	struct pycode_query q = fakecode_query(&f.layout, A, 8);

	code.tlbc = array;
	fakecode_put(f.mem, &f.layout, &code);
	fakemem_add_u64(f.mem, array, 2);
	fakemem_add_u64(f.mem, array + 8, A + f.layout.code.bytecode);
	fakemem_add_u64(f.mem, array + 16, copy);
	cr_assert_eq(ask(&q), 2);
	q.tlbc = 1;
	q.instr = copy + 8;
	cr_assert_eq(ask(&q), 2);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:11/10");
	q.instr = copy;
	cr_assert_eq(ask(&q), 0);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:10/10");

	q.tlbc = 2; /* not in the array: the name holds */
	q.instr = copy + 0x1000;
	ask(&q);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:0/10");
	fakemem_add_u64(f.mem, array, 4); /* it has grown */
	fakemem_add_u64(f.mem, array + 24, copy + 0x1000);
	ask(&q);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:10/10");
	q.tlbc = 1;
	q.instr = copy + 0x2008;
	fakemem_add_u64(f.mem, array + 16, copy + 0x2000);
	moved = code;
	moved.tlbc = array + 0x1000; /* while the old one is read */
	fakecode_head(&f.layout, &moved, head);
	fakemem_change(f.mem, (struct fakemem_when){f.mem->stats.calls + 1, 4}, A, head,
		       f.layout.code.size);
	ask(&q);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:0/10");
	q.tlbc = PYCODE_MAX_TLBC;
	cr_assert_eq(ask(&q), 0);
	cr_assert_str_eq(fakecache_text(&f, &q), "one /f.py:0/10");
}
