/* What identifies the code objects of a stack, read inside of the stack's own witness. */
#include <errno.h>
#include <string.h>
#include "base/bytes.h"
#include "python/reader_impl.h"
#include "python/unicode.h"

#define RECENT 64 /* code objects of this stack that are remembered; a power of two */

void reader_identity_place(const struct layout *l, uint32_t *ret_offset, uint32_t *ret_len)
{
	uint32_t name = l->code.qualname != LAYOUT_NONE ? l->code.qualname : l->code.name;
	uint32_t from = MIN(MIN(l->code.filename, l->code.firstlineno), name);
	uint32_t end = MAX(MAX(l->code.filename + 8, l->code.firstlineno + 4), name + 8);

	if (l->code.version != LAYOUT_NONE) {
		from = MIN(from, l->code.version);
		end = MAX(end, l->code.version + 4);
	}
	*ret_offset = from;
	*ret_len = end - from;
}

/* A string's hash, or its mark where none was computed; 0: it waits, or neither is to be had. */
static uint64_t string_mark(struct reader *r, struct reader_job *j, raddr_t addr)
{
	uint8_t b[UNICODE_MARK_BYTES] = {0};
	const void *p = reader_stack_get(r, j, READER_CODE, addr, UNICODE_HEAD);
	struct unicode u;

	if (!p || unicode_head(&r->found.layout, addr, p, UNICODE_HEAD, &u))
		return 0;
	if (u.hash && u.hash != UINT64_MAX)
		return u.hash;
	if (u.bytes) {
		uint32_t n = MIN(u.bytes, (uint32_t)UNICODE_MARK_BYTES);

		p = reader_stack_get(r, j, READER_CODE, u.data, n);
		if (!p)
			return 0;
		memcpy(b, p, n);
	}
	return unicode_mark(&u, b);
}

static struct identity identify(struct reader *r, struct reader_job *j, raddr_t code,
				enum layout_proof proof)
{
	const struct layout *l = &r->found.layout;
	struct identity id = {.proof = proof, .interp = j->interp->addr};
	uint32_t name = l->code.qualname != LAYOUT_NONE ? l->code.qualname : l->code.name;
	const uint8_t *p = reader_stack_get(r, j, READER_CODE, code + r->code_at, r->code_len);

	if (!p)
		return id;
	p -= r->code_at;
	id.filename = bytes_load64(p + l->code.filename);
	id.firstlineno = (int32_t)bytes_load32(p + l->code.firstlineno);
	if (proof == LAYOUT_PROOF_VERSION) {
		id.version = bytes_load32(p + l->code.version);
		id.ok = true;
		return id;
	}
	id.name_hash = string_mark(r, j, bytes_load64(p + name));
	id.file_mark = (uint32_t)string_mark(r, j, id.filename);
	id.ok = id.name_hash != 0;
	return id;
}

void reader_identity_fill(struct reader *r, struct reader_job *j, const struct walk_frame *frames,
			  struct identity *ids, size_t n)
{
	enum layout_proof proof = r->found.layout.proof;
	size_t recent[RECENT];

	j->one_id = j->interp->id.proof == LAYOUT_PROOF_COUNTER;
	if (j->one_id) {
		if (n)
			ids[0] = j->interp->id;
		return;
	}
	if (proof == LAYOUT_PROOF_COUNTER)
		proof = LAYOUT_PROOF_VERSION;
	for (size_t i = 0; i < RECENT; i++)
		recent[i] = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		size_t *last = &recent[frames[i].code / 32 % RECENT];

		if (*last != SIZE_MAX && frames[*last].code == frames[i].code)
			ids[i] = ids[*last];
		else
			ids[i] = identify(r, j, frames[i].code, proof);
		*last = i;
	}
}
