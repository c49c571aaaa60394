/* Walk the frame chain of one thread over bytes that are already here. */
#include "python/walk.h"

#include "base/bytes.h"

/* A chain visits each frame once; no target holds more frames than this many bytes of chunks allow.
 */
#define WALK_MAX_STEPS (1u << 20)
#define WALK_HAS_FUNCTION 12 /* from this minor on f_funcobj follows `previous` */
#define WALK_TAGS                                                                                  \
	7 /* low bits of a pointer: a _PyStackRef's tag (3.14+), an allocator's alignment          \
	     before */

#define OWNED_BY_THREAD 0 /* owner, 3.11 */

static bool has_field(uint32_t offset)
{
	return offset != LAYOUT_NONE;
}

/* What a walk looks at, taken out of the layout: a store into a frame might change that, as far as
 * a compiler knows, and each field would be loaded again for each frame. */
struct fields {
	uint32_t size, previous, code, instr, owner, entry, tlbc;
	bool owned, entries, copies, function, object;
};

static struct fields fields_of(const struct layout *l)
{
	return (struct fields){
		.size = walk_frame_size(l),
		.previous = l->frame.previous,
		.code = l->frame.code,
		.instr = l->frame.instr,
		.owner = l->frame.owner,
		.entry = l->frame.owner_entry,
		.tlbc = l->frame.tlbc_index,
		.owned = has_field(l->frame.owner),
		.entries = has_field(l->frame.owner_entry),
		.copies = has_field(l->frame.tlbc_index),
		.function = l->minor >= WALK_HAS_FUNCTION,
		.object = l->object_frames,
	};
}

static inline void decode(const struct fields *k, const uint8_t *p, struct walk_frame *f,
			  raddr_t addr, raddr_t code)
{
	f->addr = addr;
	f->code = code;
	f->function = k->function ? bytes_load64(p + k->previous + 8) & ~(uint64_t)WALK_TAGS : 0;
	/* f_lasti is an int; the others are pointers */
	f->instr = k->object ? (uint64_t)(int64_t)(int32_t)bytes_load32(p + k->instr)
			     : bytes_load64(p + k->instr);
	f->tlbc = k->copies ? bytes_load32(p + k->tlbc) : 0;
	f->owner = k->owned ? p[k->owner] : 0;
}

/* Its code object; 0: an entry frame, or one that is being cleared. */
static inline raddr_t code_of(const struct fields *k, const uint8_t *p)
{
	if (k->entries && p[k->owner] >= k->entry)
		return 0;
	return bytes_load64(p + k->code) & ~(uint64_t)WALK_TAGS;
}

/*
 * Whether a stack may begin with this frame. `previous` is NULL in other frames too: a generator's
 * is so until it runs, and compilers store it some instructions after the thread state's pointer to
 * the frame. From 3.12 on each evaluation loop begins with an entry frame; 3.11 has a byte before
 * the owner for frames that C code entered.
 */
static bool can_be_root(const struct fields *k, const uint8_t *p)
{
	if (!k->owned)
		return true;
	if (k->entries)
		return p[k->owner] >= k->entry;
	return p[k->owner] == OWNED_BY_THREAD && p[k->owner - 1] == 1;
}

uint32_t walk_frame_size(const struct layout *l)
{
	uint32_t end = MAX(MAX(l->frame.previous, l->frame.code) + 8,
			   l->frame.instr + (l->object_frames ? 4 : 8));

	if (l->minor >= WALK_HAS_FUNCTION)
		end = MAX(end, l->frame.previous + 16);
	if (has_field(l->frame.owner))
		end = MAX(end, l->frame.owner + 1);
	if (has_field(l->frame.tlbc_index))
		end = MAX(end, l->frame.tlbc_index + 4);
	return end;
}

/* The bytes of a frame. Most lie beside the one before, in the span that `near` is. */
static const uint8_t *frame_bytes(struct snapshot *s, raddr_t frame, uint32_t size,
				  struct snapshot_view *near)
{
	bool here =
		frame >= near->addr && near->end - near->addr >= size && frame <= near->end - size;

	if (!here && !snapshot_find(s, frame, size, near))
		return NULL;
	return near->bytes + (frame - near->addr);
}

void walk_frames(const struct layout *l, struct snapshot *s, raddr_t frame, struct walk_frame *v,
		 size_t max, struct walk_result *ret)
{
	const struct fields k = fields_of(l);
	raddr_t mark = 0; /* a frame passed before: seen again, the chain is a ring */
	struct snapshot_view near = {0};
	enum walk_end end = WALK_ROOT;
	size_t n = 0, steps = 0;
	const uint8_t *p = NULL;
	raddr_t code;

	for (; frame; frame = bytes_load64(p + k.previous)) {
		if (frame & 7) {
			end = WALK_BROKEN;
			break;
		}
		if (steps == WALK_MAX_STEPS || frame == mark) {
			end = WALK_CYCLE;
			n = 0;
			break;
		}
		if (!(steps & (steps - 1)))
			mark = frame;
		p = frame_bytes(s, frame, k.size, &near);
		if (!p) {
			end = WALK_MISSING;
			break;
		}
		steps++;
		code = code_of(&k, p);
		if (code && n == max) {
			end = WALK_TOO_DEEP;
			break;
		}
		if (code)
			decode(&k, p, &v[n++], frame, code);
	}
	if (!frame && p && !can_be_root(&k, p))
		end = WALK_BROKEN;
	*ret = (struct walk_result){.end = end, .n = n, .steps = steps};
	if (end == WALK_MISSING || end == WALK_TOO_DEEP)
		ret->next = frame;
}
