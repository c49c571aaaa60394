/* What identifies the code objects of versions that are proven frame by frame. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "python/unicode.h"
#include "tests/support/capture.h"

#define ADDR(p) ((uint64_t)(uintptr_t)(p))

static struct capture c;
static struct fake_world *w;

static void start(void)
{
	capture_init(&c, NULL);
	w = c.target.w;
}

static void stop(void)
{
	capture_release(&c);
}

TestSuite(bpf_identity, .init = start, .fini = stop);

static void take(const struct target_layout *l)
{
	capture_know(&c, l);
	faketarget_do(&c.target, FAKE_TOUCH, NULL, 0);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert(c.sample.flags & EVENT_WALK_END, "flags %x", c.sample.flags);
}

/* The i-th identity of the sample. */
static const struct event_identity *identity(size_t i)
{
	for (size_t k = 0; k < c.count; k++) {
		size_t n = c.pieces[k].len / sizeof(struct event_identity);

		if (c.pieces[k].kind != EVENT_IDENTITY)
			continue;
		if (i < n)
			return (const struct event_identity *)c.pieces[k].data + i;
		i -= n;
	}
	return NULL;
}

Test(bpf_identity, version)
{
	struct target_layout l = faketarget_layout();
	struct fake_frame *frames[3];

	l.proof = TARGET_PROOF_VERSION;
	faketarget_chunk(&c.target, FAKE_CHUNK);
	frames[2] = faketarget_push(&c.target, true);
	faketarget_push(&c.target, false)->owner = 3; /* an entry frame */
	frames[1] = faketarget_push(&c.target, false);
	frames[0] = faketarget_push(&c.target, true);
	take(&l);
	for (int i = 0; i < 3; i++) {
		const struct event_identity *id = identity(i);

		cr_assert_not_null(id);
		cr_assert_eq(id->frame, ADDR(frames[i]));
		cr_assert_eq(id->code, ADDR(&w->code), "without its tag");
		cr_assert_eq(id->version, 4711);
		cr_assert_eq(id->firstlineno, 77);
		cr_assert_eq(id->filename, w->code.filename);
		cr_assert_eq(id->ok, 1);
	}
	cr_assert_null(identity(3));
	cr_assert_eq(c.sample.steps, 4);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), 2);
}

Test(bpf_identity, name)
{
	struct target_layout l = faketarget_layout();
	struct fake_frame *frame;
	const struct event_identity *id;

	l.proof = TARGET_PROOF_NAME;
	faketarget_chunk(&c.target, FAKE_CHUNK);
	frame = faketarget_push(&c.target, true);
	take(&l);
	id = identity(0);
	cr_assert_not_null(id);
	cr_assert_eq(id->frame, ADDR(frame));
	cr_assert_eq(id->name_hash, w->name.hash);
	cr_assert_eq(id->filename, w->code.filename);
	cr_assert_eq(id->firstlineno, 77);
	cr_assert_eq(id->ok, 1);
	/* a name that is not there */
	w->code.name = 0x10;
	take(&l);
	id = identity(0);
	cr_assert_eq(id->name_hash, 0);
	cr_assert_eq(id->ok, 0);
	/* a code object that is not there */
	frame->code = 0x10;
	take(&l);
	id = identity(0);
	cr_assert_eq(id->code, 0x10);
	cr_assert_eq(id->ok, 0);
}

static void str(struct fake_name *s, const char *text, size_t chars, uint32_t state)
{
	memset(s, 0, sizeof(*s));
	s->hash = UINT64_MAX;
	s->length = chars;
	s->state = state;
	memcpy(s->text + (state & 64 ? 0 : 24), text, strlen(text));
}

static uint64_t mark_of(const char *text, size_t chars, uint8_t kind)
{
	struct unicode u = {.chars = chars, .kind = kind, .bytes = chars * kind};

	return unicode_mark(&u, text);
}

/* Strings that nobody has hashed: what user space makes of them later is the same. */
Test(bpf_identity, name_without_hash)
{
	enum {
		ASCII = 1 << 2 | 32 | 64,
		LATIN1 = 1 << 2 | 32,
		UCS4 = 4 << 2 | 32,
		LEGACY = 1 << 2
	};
	struct target_layout l = faketarget_layout();
	char text[151];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('0' + i % 75);
	text[150] = '\0';
	l.proof = TARGET_PROOF_NAME;
	faketarget_chunk(&c.target, FAKE_CHUNK);
	faketarget_push(&c.target, false);
	w->code.filename = ADDR(&w->file);
	for (size_t n = 0; n <= 150; n += n < 17 || (n > 125 && n < 130) ? 1 : 4) {
		str(&w->name, text, n, ASCII); /* and other bytes behind it */
		str(&w->file, text, n, ASCII);
		w->file.text[n] = '\0';
		take(&l);
		cr_assert_eq(identity(0)->name_hash, mark_of(text, n, 1), "%zu", n);
		cr_assert_eq(identity(0)->version, (uint32_t)mark_of(text, n, 1));
		cr_assert_eq(identity(0)->ok, 1);
	}
	str(&w->name, "", 0, ASCII);
	w->name.hash = 0;
	take(&l);
	cr_assert_eq(identity(0)->name_hash, mark_of("", 0, 1));
	str(&w->name, "caf\xe9", 4, LATIN1);
	str(&w->file, text, 10, ASCII);
	w->file.hash = 0x1234;
	take(&l);
	cr_assert_eq(identity(0)->name_hash, mark_of("caf\xe9", 4, 1));
	cr_assert_eq(identity(0)->version, 0x1234);
	str(&w->name, "a", 2, UCS4);
	w->name.text[24 + 4] = 'b';
	take(&l);
	cr_assert_eq(identity(0)->name_hash, mark_of("a\0\0\0b\0\0", 2, 4));
	str(&w->name, text, 5, LEGACY);
	take(&l);
	cr_assert_eq(identity(0)->ok, 0);
	str(&w->name, text, ~0ull, UCS4); /* no such string */
	take(&l);
	cr_assert_eq(identity(0)->ok, 1);
}

/* 3.8 - 3.10: nothing but identities, leaf first, with the instruction. */
Test(bpf_identity, object_frames)
{
	struct target_layout l = faketarget_layout();
	struct fake_frame *frames[200];

	l.proof = TARGET_PROOF_NAME;
	l.object_frames = 1;
	l.tstate_chunk = TARGET_NONE;
	l.frame_owner = TARGET_NONE;
	l.frame_lasti = offsetof(struct fake_frame, rest[6]);
	l.frame_size = l.frame_lasti + 8;
	for (int i = 199; i >= 0; i--) {
		frames[i] = faketarget_push(&c.target, false);
		frames[i]->rest[6] = 0xabc00000000 + (i ? 2u * i : ~0u);
	}
	take(&l);
	cr_assert_eq(capture_count(&c, EVENT_CHUNK) + capture_count(&c, EVENT_FRAME), 0);
	for (int i = 0; i < 200; i++) {
		cr_assert_eq(identity(i)->frame, ADDR(frames[i]));
		cr_assert_eq(identity(i)->code, ADDR(&w->code));
		cr_assert_eq(identity(i)->name_hash, w->name.hash);
		cr_assert_eq(identity(i)->lasti, i ? 2 * i : -1);
		cr_assert_eq(identity(i)->ok, 1);
	}
	cr_assert_null(identity(200));
}

/* Code objects that come again and again, and more of them than are kept: each has its own words.
 */
Test(bpf_identity, many_codes)
{
	struct target_layout l = faketarget_layout();
	struct fake_frame *frames[90];
	const struct event_identity *id;
	uint32_t version;

	l.proof = TARGET_PROOF_VERSION;
	faketarget_chunk(&c.target, FAKE_CHUNK);
	for (int i = 89; i >= 0; i--) {
		frames[i] = faketarget_push(&c.target, false);
		/* words that lie elsewhere in the same bytes, and none */
		frames[i]->code = i % 10 == 9 ? 0 : ADDR(&w->code) - i * 7 % 23 * 8;
	}
	for (int tick = 0; tick < 2; tick++) {
		w->code.version += tick;
		take(&l);
		for (int i = 0; i < 90; i++) {
			id = identity(i);
			cr_assert_eq(id->frame, ADDR(frames[i]));
			cr_assert_eq(id->code, frames[i]->code);
			cr_assert_eq(id->ok, frames[i]->code != 0);
			version = 0;
			if (id->ok)
				memcpy(&version, (char *)(uintptr_t)id->code + l.code_version, 4);
			cr_assert_eq(id->version, version, "%d", i);
		}
	}
}

/* Counters are an interpreter's own: with two of them each frame's version is taken instead. */
Test(bpf_identity, counter_with_two_interpreters)
{
	struct target_layout l = faketarget_layout();

	faketarget_chunk(&c.target, FAKE_CHUNK);
	faketarget_push(&c.target, true);
	take(&l);
	cr_assert_null(identity(0));
	w->interp[0].next = ADDR(&w->interp[1]);
	take(&l);
	cr_assert(c.sample.flags & EVENT_MANY_INTERPS);
	cr_assert_not_null(identity(0));
	cr_assert_eq(identity(0)->version, 4711);
}
