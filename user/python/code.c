/*
 * The head of a code object.
 *
 * A freed object keeps most of its bytes: type, names and version look as before. What tells is the
 * reference count. It was 0 when the object died, and then an allocator put a link over the first
 * word: another block's address (pymalloc, mimalloc), or that address mixed with its own (glibc,
 * which writes over the type as well). Addresses have bits above 32, counts of live objects do not:
 *   3.8 - 3.11     ob_refcnt, 64 bits; deep-frozen objects have 999,999,999
 *   3.12, 3.13     the count is the low half, all ones when immortal; the high half stays 0
 *   3.14+          the same, with flags in the top 16 bits (which no address has)
 *   free-threaded  ob_ref_local (all ones: immortal) plus ob_ref_shared >> 2, to which deferred
 *                  counting adds a constant; the allocator's link goes over ob_tid, so that a
 *                  dead object shows its last counts: 0 and 0
 */
#include <errno.h>
#include "base/bytes.h"
#include "python/code.h"

#define POINTER_ALIGN 8
#define BYTECODE_MAX (1u << 30) /* bytes of one code object's instructions */
#define FLAG_BITS 48		/* of a 3.14+ reference count, above the address bits */
#define FLAGS_MAX 0xff
#define SHARED_SHIFT 2
#define SHARED_DEFERRED (INT64_MAX / 8)
#define COUNT_MAX (1ll << 32)
#define UNIT 2
#define FUNCTION_CODE 32 /* func_code, behind globals, builtins, name and qualified name */

static bool is_object(raddr_t p)
{
	return p != 0 && p % POINTER_ALIGN == 0;
}

static bool count_holds(uint64_t word, uint32_t minor)
{
	uint64_t flags = word >> FLAG_BITS;

	if (minor >= 14 && flags <= FLAGS_MAX)
		word &= (1ull << FLAG_BITS) - 1;
	return word != 0 && word <= UINT32_MAX;
}

static bool shared_count_holds(uint32_t local, int64_t shared)
{
	int64_t n = shared >> SHARED_SHIFT; /* below 0 while owners on other threads gave up more */

	if (local == UINT32_MAX)
		return true;
	if (n > SHARED_DEFERRED / 2) {
		/* it lives at any count, also below 0 (threads keep counts of their own): the
		 * collector takes the constant away before it frees it */
		n -= SHARED_DEFERRED;
		return n > -COUNT_MAX && n < COUNT_MAX;
	}
	return n > -COUNT_MAX && n < COUNT_MAX && n + local > 0;
}

static bool is_alive(const struct layout *l, const uint8_t *p)
{
	if (l->free_threaded)
		return shared_count_holds(bytes_load32(p + l->object.refcnt),
					  (int64_t)bytes_load64(p + l->object.refcnt_shared));
	return count_holds(bytes_load64(p + l->object.refcnt), l->minor);
}

static bool is_single(const struct layout *l, const uint8_t *p)
{
	if (l->free_threaded)
		return bytes_load32(p + l->object.refcnt) == 1 &&
		       bytes_load64(p + l->object.refcnt_shared) >> SHARED_SHIFT == 0;
	return bytes_load32(p + l->object.refcnt) == 1;
}

/* 3.12+: the low half of the count has its top bit set (all ones at first; 3.14 leaves it room). */
static bool is_immortal(const struct layout *l, const uint8_t *p)
{
	if (l->free_threaded)
		return bytes_load32(p + l->object.refcnt) == UINT32_MAX;
	return l->minor >= 12 && (int32_t)bytes_load32(p + l->object.refcnt) < 0;
}

int code_head(const struct layout *l, raddr_t addr, const void *bytes, size_t len, struct code *ret)
{
	const uint8_t *p = bytes;
	struct code c = {0};

	if (len < l->code.size || !is_object(addr))
		return -EINVAL;
	c.type = bytes_load64(p + l->object.type);
	c.filename = bytes_load64(p + l->code.filename);
	c.name = bytes_load64(p + l->code.name);
	c.lines = bytes_load64(p + l->code.lines);
	c.firstlineno = bytes_load32(p + l->code.firstlineno);
	if (!is_object(c.type) || !is_object(c.filename) || !is_object(c.name) ||
	    !is_object(c.lines))
		return -EINVAL;
	if (l->code.qualname != LAYOUT_NONE) {
		c.qualname = bytes_load64(p + l->code.qualname);
		if (!is_object(c.qualname))
			return -EINVAL;
	}
	if (l->code.version != LAYOUT_NONE)
		c.version = bytes_load32(p + l->code.version);
	if (l->code.bytecode != LAYOUT_NONE) {
		/* a variable-sized object: its size, in units, follows the object's head */
		uint64_t units = bytes_load64(p + l->object.size);

		if (units == 0 || units > BYTECODE_MAX / UNIT)
			return -EINVAL;
		c.bytecode = addr + l->code.bytecode;
		c.bytecode_len = (uint32_t)units * UNIT;
	}
	c.alive = is_alive(l, p);
	c.immortal = is_immortal(l, p);
	c.single = is_single(l, p);
	*ret = c;
	return 0;
}

int64_t code_offset(const struct layout *l, const struct code *c, uint64_t instr)
{
	int32_t lasti = (int32_t)(uint32_t)instr;
	int64_t before = l->instr == LAYOUT_PREV_INSTR ? UNIT : 0;
	int64_t at;

	switch (l->instr) {
	case LAYOUT_LASTI_BYTES:
		return MAX(lasti, -1);
	case LAYOUT_LASTI_UNITS:
		return lasti < 0 ? -1 : (int64_t)lasti * UNIT;
	case LAYOUT_PREV_INSTR:
	case LAYOUT_INSTR_PTR:
		at = (int64_t)(instr - c->bytecode);
		return at >= -before && at < c->bytecode_len && at % UNIT == 0 ? at : -1;
	}
	return -1;
}

uint32_t code_function_size(const struct layout *l)
{
	return l->object.size + FUNCTION_CODE + 8;
}

raddr_t code_of_function(const struct layout *l, raddr_t type, const void *bytes)
{
	const uint8_t *p = bytes;

	if (!is_alive(l, p) || (type && bytes_load64(p + l->object.type) != type))
		return 0;
	return bytes_load64(p + l->object.size + FUNCTION_CODE);
}
