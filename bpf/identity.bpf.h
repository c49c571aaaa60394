/*
 * Which code object a frame ran, for versions whose code objects are proven frame by frame.
 */
#ifndef SCRY_BPF_IDENTITY_BPF_H
#define SCRY_BPF_IDENTITY_BPF_H

#include "bpf/output.bpf.h"
#include "bpf/strings.bpf.h"

/* Room for one more identity: at the end of the piece that is last, else in a new one. */
static __always_inline struct event_identity *identity_place(struct tick *t)
{
	struct output *o = &t->out;
	struct event_piece *piece;
	__u8 *at;

	if (!output_room(t, sizeof(struct event_identity)))
		return NULL;
	if (!o->identity) {
		at = output_at(t, o->used, PIECE);
		if (!at)
			return NULL;
		piece_head(at, 0, 0, EVENT_IDENTITY);
		o->identity = o->used;
		o->used += PIECE;
	}
	piece = (struct event_piece *)output_at(t, o->identity, PIECE);
	at = output_at(t, o->used, sizeof(struct event_identity));
	if (!piece || !at)
		return NULL;
	piece->len += sizeof(struct event_identity);
	o->used += sizeof(struct event_identity);
	return (struct event_identity *)at;
}

/*
 * Where the identity of t->code is kept. A code object that frames of this stack run cannot change
 * before the tick is over, so each is read once: recursion is many frames of a few.
 */
static __always_inline struct event_identity *identity_noted(struct tick *t)
{
	return &t->noted[(t->code >> 4 ^ t->code >> 10) & (NOTED - 1)];
}

/* Those of another tick are of no use. */
static __always_inline void identity_forget(struct tick *t)
{
	for (__u32 i = 0; i < NOTED; i++)
		t->noted[i].code = 0;
}

/* Reads the identity of t->code. */
static __always_inline void identity_read(struct tick *t, struct event_identity *id)
{
	const struct target_layout *l = &t->layout;
	__u32 len = l->code_len;

	__builtin_memset(id, 0, sizeof(*id));
	id->code = t->code;
	if (len > TARGET_CODE_MAX)
		len = TARGET_CODE_MAX;
	if (!t->code || bpf_probe_read_user(t->object, len, (void *)(t->code + l->code_from)))
		return;
	id->firstlineno = object_word(t, l->code_firstlineno - l->code_from);
	id->filename = object_word(t, l->code_filename - l->code_from);
	if (t->proof == TARGET_PROOF_VERSION) {
		id->version = object_word(t, l->code_version - l->code_from);
		id->ok = 1;
		return;
	}
	t->str = object_word(t, l->code_name - l->code_from);
	string_mark();
	id->name_hash = t->mark;
	id->ok = id->name_hash != 0;
	if (t->file != id->filename) {
		t->str = t->file = id->filename;
		string_mark();
		t->file_mark = t->mark;
	}
	id->version = t->file_mark;
}

/* Notes which code object the frame t->frame ran (t->code); 1: no room. */
__attribute__((noinline)) int frames_identity(void)
{
	struct tick *t = tick_get();
	struct event_identity *id, *noted;

	if (!t)
		return 1;
	id = identity_place(t);
	if (!id) {
		t->sample.flags |= EVENT_WALK_FULL;
		return 1;
	}
	noted = identity_noted(t);
	if (!t->code || noted->code != t->code)
		identity_read(t, noted);
	*id = *noted;
	id->frame = t->frame;
	id->lasti = t->lasti;
	return 0;
}

#endif
