/* Samples are put together from their records, and from nothing else. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/buf.h"
#include "collect/assemble.h"

/* What was handed over. */
struct seen {
	uint32_t samples, unknowns, execs, exits;
	uint64_t seq, tstate;
	size_t count;
	uint64_t addr[8];
	uint32_t len[8], kind[8];
	uint8_t first[8];
};

static struct seen seen;
static struct assemble *a;

static void on_sample(void *arg, const struct assembled *s)
{
	struct seen *to = arg;

	to->samples++;
	to->seq = s->seq;
	to->tstate = s->sample->tstate;
	to->count = s->count;
	for (size_t i = 0; i < s->count && i < 8; i++) {
		to->addr[i] = s->pieces[i].addr;
		to->len[i] = s->pieces[i].len;
		to->kind[i] = s->pieces[i].kind;
		to->first[i] = s->pieces[i].data[0];
		cr_assert_eq((uintptr_t)s->pieces[i].data % 8, 0);
	}
}

static void on_unknown(void *arg, const struct event_unknown *u)
{
	((struct seen *)arg)->unknowns += u->task.pid;
}

static void on_life(void *arg, enum event_kind kind, const struct event_life *l)
{
	struct seen *to = arg;

	*(kind == EVENT_EXEC ? &to->execs : &to->exits) += l->pid;
}

static void start(void)
{
	static const struct assemble_ops ops = {on_sample, on_unknown, on_life};

	memset(&seen, 0, sizeof(seen));
	a = assemble_new(&ops, &seen);
}

static void stop(void)
{
	assemble_free(a);
}

TestSuite(assemble, .init = start, .fini = stop);

static void begin(struct buf *b, uint16_t part, uint16_t parts, uint64_t seq)
{
	struct event_head h = {.kind = EVENT_SAMPLE,
			       .version = EVENT_VERSION,
			       .cpu = 3,
			       .part = part,
			       .parts = parts,
			       .seq = seq};
	struct event_sample s = {.tstate = 0x1000 + seq};

	buf_init(b);
	buf_put(b, &h, sizeof(h));
	if (!part)
		buf_put(b, &s, sizeof(s));
}

static void piece(struct buf *b, uint64_t addr, uint32_t len, uint32_t kind, uint8_t fill)
{
	struct event_piece p = {.addr = addr, .len = len, .kind = kind};
	size_t padded = (len + 7) & ~7u;

	buf_put(b, &p, sizeof(p));
	memset(buf_grow(b, padded), fill, padded);
}

static struct event_head *head(struct buf *b)
{
	return (struct event_head *)b->data;
}

static void send(struct buf *b)
{
	head(b)->length = b->len;
	assemble_record(a, b->data, b->len);
	buf_release(b);
}

static uint64_t bad(void)
{
	struct assemble_stats s;

	assemble_stats(a, &s);
	return s.bad;
}

static uint64_t incomplete(void)
{
	struct assemble_stats s;

	assemble_stats(a, &s);
	return s.incomplete;
}

Test(assemble, one_part)
{
	struct buf b;

	begin(&b, 0, 1, 7);
	piece(&b, 0x7000, 100, EVENT_CHUNK, 1);
	piece(&b, 0x9000, 88, EVENT_FRAME, 2);
	piece(&b, 0, 2 * sizeof(struct event_identity), EVENT_IDENTITY, 3);
	send(&b);
	cr_assert_eq(seen.samples, 1);
	cr_assert_eq(seen.seq, 7);
	cr_assert_eq(seen.tstate, 0x1007);
	cr_assert_eq(seen.count, 3);
	cr_assert_eq(seen.addr[0], 0x7000);
	cr_assert_eq(seen.len[0], 100);
	cr_assert_eq(seen.kind[1], EVENT_FRAME);
	cr_assert_eq(seen.first[2], 3);
	cr_assert_eq(bad(), 0);
}

Test(assemble, three_parts)
{
	struct buf b;

	for (int i = 0; i < 3; i++) {
		begin(&b, i, 3, 9);
		piece(&b, 0x1000 * (i + 1), 64, EVENT_CHUNK, i);
		cr_assert_eq(seen.samples, 0);
		send(&b);
	}
	cr_assert_eq(seen.samples, 1);
	cr_assert_eq(seen.count, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(seen.addr[i], 0x1000 * (i + 1));
		cr_assert_eq(seen.first[i], i);
	}
	cr_assert_eq(incomplete(), 0);
}

/* Another CPU's records come in between; part 1 of sample 20 is lost. */
Test(assemble, parts_of_others_are_never_mixed_in)
{
	struct buf b;

	begin(&b, 0, 2, 20);
	send(&b);
	begin(&b, 0, 2, 20);
	head(&b)->cpu = 5;
	piece(&b, 0x5000, 8, EVENT_CHUNK, 5);
	send(&b);
	begin(&b, 1, 2, 20);
	head(&b)->cpu = 5;
	send(&b);
	cr_assert_eq(seen.samples, 1);
	cr_assert_eq(seen.count, 1);
	begin(&b, 1, 2, 21); /* of another sample, whose part 0 is lost */
	send(&b);
	cr_assert_eq(seen.samples, 1);
	cr_assert_eq(incomplete(), 1);
	begin(&b, 1, 2, 20); /* too late */
	send(&b);
	cr_assert_eq(seen.samples, 1);
	cr_assert_eq(bad(), 0);
}

Test(assemble, sample_without_its_end)
{
	struct buf b;

	begin(&b, 0, 3, 1);
	send(&b);
	begin(&b, 2, 3, 1);
	send(&b);
	begin(&b, 0, 1, 2);
	send(&b);
	cr_assert_eq(seen.samples, 1);
	cr_assert_eq(seen.seq, 2);
	cr_assert_eq(incomplete(), 1);
}

Test(assemble, unknown_and_life)
{
	struct event_head h = {.version = EVENT_VERSION};
	struct event_unknown u = {.task.pid = 11};
	struct event_life l = {.pid = 12};
	struct buf b;

	buf_init(&b);
	h.kind = EVENT_UNKNOWN;
	buf_put(&b, &h, sizeof(h));
	buf_put(&b, &u, sizeof(u));
	send(&b);
	cr_assert_eq(seen.unknowns, 11);
	for (int i = 0; i < 2; i++) {
		buf_init(&b);
		h.kind = i ? EVENT_EXIT : EVENT_EXEC;
		buf_put(&b, &h, sizeof(h));
		buf_put(&b, &l, sizeof(l));
		send(&b);
	}
	cr_assert_eq(seen.execs, 12);
	cr_assert_eq(seen.exits, 12);
	buf_init(&b);
	buf_put(&b, &h, sizeof(h)); /* without its body */
	send(&b);
	cr_assert_eq(bad(), 1);
}

static void refused(struct buf *b)
{
	uint64_t before = bad();

	head(b)->length = b->len;
	assemble_record(a, b->data, b->len);
	buf_release(b);
	cr_assert_eq(bad(), before + 1);
	cr_assert_eq(seen.samples, 0);
}

Test(assemble, heads_that_lie)
{
	struct buf b;

	begin(&b, 0, 1, 1);
	assemble_record(a, b.data, b.len); /* length 0 */
	cr_assert_eq(bad(), 1);
	head(&b)->length = b.len;
	assemble_record(a, b.data, b.len - 8);
	assemble_record(a, b.data, 8);
	assemble_record(a, b.data, 0);
	cr_assert_eq(bad(), 4);
	head(&b)->version = EVENT_VERSION + 1;
	refused(&b);
	begin(&b, 0, 1, 1);
	head(&b)->kind = 99;
	refused(&b);
	begin(&b, 0, 0, 1);
	refused(&b);
	begin(&b, 1, 1, 1);
	refused(&b);
	begin(&b, 0, 17, 1);
	refused(&b);
	begin(&b, 0, 1, 1);
	head(&b)->cpu = 1u << 30;
	refused(&b);
	begin(&b, 1, 2, 1); /* too short for part 0 */
	head(&b)->part = 0;
	head(&b)->parts = 1;
	refused(&b);
}

Test(assemble, pieces_that_lie)
{
	static const struct event_piece lies[] = {
		{0x1000, 16, EVENT_CHUNK}, /* longer than what is left */
		{0x1000, UINT32_MAX, EVENT_CHUNK},
		{0x1000, 0, EVENT_CHUNK},
		{0, 8, EVENT_FRAME},
		{UINT64_MAX - 3, 8, EVENT_CHUNK}, /* over the end of the address space */
		{0x1000, 8, EVENT_IDENTITY},
		{0, 8, EVENT_IDENTITY}, /* not a whole one */
		{0x1000, 8, 0},
		{0x1000, 8, 77},
	};
	struct buf b;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		begin(&b, 0, 1, 1);
		buf_put(&b, &lies[i], sizeof(lies[i]));
		buf_u64(&b, 0);
		refused(&b);
	}
	begin(&b, 0, 1, 1);
	buf_u64(&b, 0x1000); /* half a piece */
	refused(&b);
}

/* More pieces than any sample has. */
Test(assemble, too_many_pieces)
{
	struct buf b;

	for (int part = 0; part < 3; part++) {
		begin(&b, part, 3, 1);
		for (int i = 0; i < 1000; i++)
			piece(&b, 0x1000, 8, EVENT_FRAME, 0);
		send(&b);
	}
	cr_assert_eq(seen.samples, 0);
	cr_assert_eq(bad(), 1);
}
