/*
 * Read a layout out of _Py_DebugOffsets.
 *
 * The table is a cookie and then 64-bit words. Their order is that of `order` below: a minor
 * version only inserts words, so each word says from which minor on it is there, and one list
 * serves all. Released versions only: while a version was in alpha or beta its table still moved.
 *
 * What the table lacks is derived from its neighbours where the headers of all builds agree on the
 * distance, and that distance is checked against a second neighbour where there is one:
 *   - object heads: {ob_refcnt, ob_type} or, free-threaded, {ob_tid, flags, mutex, gc bits,
 *     ob_ref_local at 12, ob_ref_shared at 16, ob_type}; any other size is refused.
 *   - str.hash follows length; a non-compact string's data pointer follows the compact struct.
 *   - co_flags stands before co_argcount; co_version between co_nfreevars and co_localsplusnames.
 *   - gil.switch_number: 8 behind locked. The main interpreter follows the head of the list.
 *   - 3.13, 3.14: tp_basicsize behind tp_name, tp_dictoffset 120 behind tp_flags, ht_cached_keys
 *     864 behind the object's head (3.13.0's headers; live instances of 3.13.18, 3.14.6, 3.14.10).
 *   - func_state.next_version: see next_version().
 */
#include <errno.h>
#include <string.h>
#include "base/bytes.h"
#include "python/debug_offsets.h"

#define LEVEL_CANDIDATE 0xc0 /* of PY_VERSION_HEX: release candidates and releases */
#define WORD_MAX (1u << 24)  /* no offset or size of any build comes near */

enum word {
	SKIP, /* words that nobody here needs */
	RUNTIME_SIZE,
	RUNTIME_FINALIZING,
	RUNTIME_HEAD,
	INTERP_SIZE,
	INTERP_ID,
	INTERP_NEXT,
	INTERP_THREADS,
	INTERP_GC,
	INTERP_MODULES,
	INTERP_GIL_PTR,
	INTERP_GIL,
	INTERP_GIL_LOCKED,
	INTERP_GIL_HOLDER,
	INTERP_GENERATION,
	INTERP_TLBC,
	TSTATE_SIZE,
	TSTATE_PREV,
	TSTATE_NEXT,
	TSTATE_INTERP,
	TSTATE_FRAME,
	TSTATE_BASE,
	TSTATE_THREAD_ID,
	TSTATE_NATIVE_ID,
	TSTATE_CHUNK,
	FRAME_SIZE,
	FRAME_PREVIOUS,
	FRAME_CODE,
	FRAME_INSTR,
	FRAME_LOCALS,
	FRAME_OWNER,
	FRAME_TLBC,
	CODE_SIZE,
	CODE_FILENAME,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINES,
	CODE_FIRSTLINE,
	CODE_ARGCOUNT,
	CODE_LOCALNAMES,
	CODE_BYTECODE,
	CODE_TLBC,
	OBJECT_SIZE,
	OBJECT_TYPE,
	TYPE_FLAGS,
	TYPE_BASICSIZE,
	TYPE_DICTOFFSET,
	TYPE_KEYS,
	DICT_KEYS,
	DICT_VALUES,
	BYTES_SIZE,
	BYTES_DATA,
	STR_SIZE,
	STR_STATE,
	STR_LENGTH,
	STR_ASCII,
	STR_COMPACT,
	GC_COLLECTING,
	WORDS
};

struct place {
	uint8_t from; /* minor version */
	uint8_t n;    /* words: 1 unless skipped */
	enum word word;
};

/* clang-format off */
static const struct place order[] = {
	{13, 1, RUNTIME_SIZE}, {13, 1, RUNTIME_FINALIZING}, {13, 1, RUNTIME_HEAD},
	{13, 1, INTERP_SIZE}, {13, 1, INTERP_ID}, {13, 1, INTERP_NEXT}, {13, 1, INTERP_THREADS},
	{14, 1, SKIP /* threads_main */},
	{13, 1, INTERP_GC}, {13, 1, INTERP_MODULES},
	{13, 2, SKIP /* sysdict, builtins */},
	{13, 1, INTERP_GIL_PTR}, {13, 1, INTERP_GIL}, {13, 1, SKIP /* enabled */},
	{13, 1, INTERP_GIL_LOCKED}, {13, 1, INTERP_GIL_HOLDER},
	{14, 1, INTERP_GENERATION}, {14, 1, INTERP_TLBC},
	{13, 1, TSTATE_SIZE}, {13, 1, TSTATE_PREV}, {13, 1, TSTATE_NEXT}, {13, 1, TSTATE_INTERP},
	{13, 1, TSTATE_FRAME},
	{15, 1, TSTATE_BASE}, {15, 2, SKIP /* last_profiled_frame, its sequence */},
	{13, 1, TSTATE_THREAD_ID}, {13, 1, TSTATE_NATIVE_ID}, {13, 1, TSTATE_CHUNK},
	{13, 1, SKIP /* status */},
	{15, 4, SKIP /* holds_gil, gil_requested, current_exception, exc_state */},
	{15, 1, SKIP /* err_stackitem */},
	{13, 1, FRAME_SIZE}, {13, 1, FRAME_PREVIOUS}, {13, 1, FRAME_CODE}, {13, 1, FRAME_INSTR},
	{13, 1, FRAME_LOCALS}, {13, 1, FRAME_OWNER},
	{14, 1, SKIP /* stackpointer */}, {14, 1, FRAME_TLBC},
	{13, 1, CODE_SIZE}, {13, 1, CODE_FILENAME}, {13, 1, CODE_NAME}, {13, 1, CODE_QUALNAME},
	{13, 1, CODE_LINES}, {13, 1, CODE_FIRSTLINE}, {13, 1, CODE_ARGCOUNT},
	{13, 1, CODE_LOCALNAMES}, {13, 1, SKIP /* localspluskinds */}, {13, 1, CODE_BYTECODE},
	{14, 1, CODE_TLBC},
	{13, 1, OBJECT_SIZE}, {13, 1, OBJECT_TYPE},
	{13, 3, SKIP /* size, tp_name, tp_repr */}, {13, 1, TYPE_FLAGS},
	{15, 1, TYPE_BASICSIZE}, {15, 1, TYPE_DICTOFFSET}, {15, 1, SKIP}, {15, 1, TYPE_KEYS},
	{13, 3, SKIP /* tuple */}, {13, 3, SKIP /* list */}, {14, 4, SKIP /* set */},
	{13, 1, SKIP}, {13, 1, DICT_KEYS}, {13, 1, DICT_VALUES}, {13, 2, SKIP /* float */}, {13, 3, SKIP /* long */},
	{13, 1, SKIP}, {13, 1, BYTES_SIZE}, {13, 1, BYTES_DATA},
	{13, 1, STR_SIZE}, {13, 1, STR_STATE}, {13, 1, STR_LENGTH}, {13, 1, STR_ASCII},
	{15, 1, STR_COMPACT},
	{13, 1, SKIP}, {13, 1, GC_COLLECTING}, {15, 3, SKIP /* frame, generation_stats */},
	{14, 4, SKIP /* gen_object */}, {14, 2, SKIP /* llist_node */},
	{14, 6, SKIP /* debugger_support */},
};
/* clang-format on */

/*
 * func_state.next_version stands far behind the last word of the table, behind structs whose size
 * differs between builds. A row is a build whose headers were measured (3.13.0, 3.13.18, 3.14.10,
 * 3.15.2). It is this build if the interpreter's state is laid out the same up to the table's last
 * words (gil, generation), and if what _PyRuntimeState has beside the main interpreter's state is
 * as big as there: 16,000 bytes more tell a debug build, a new micro version moves it by some 100.
 * No row: NONE, and the proof is each frame's own co_version. --with-trace-refs (8 bytes more)
 * does not show in the table: the value is looked at before it is used, at attach.
 */
struct counter {
	uint8_t minor;
	bool free_threaded;
	uint32_t gil, generation, rest, next_version;
};

#define REST_SLACK 2048

static const struct counter counters[] = {
	{13, false, 7752, LAYOUT_NONE, 88352, 17000}, {13, false, 7752, LAYOUT_NONE, 104352, 17016},
	{13, true, 7760, LAYOUT_NONE, 112640, 20092}, {13, true, 7760, LAYOUT_NONE, 128640, 20172},
	{14, false, 7784, 7992, 90752, 14256},	      {14, false, 7784, 7992, 106752, 14272},
	{14, true, 7808, 8024, 115648, 20052},	      {14, true, 7808, 8024, 131656, 20076},
	{15, false, 7736, 7944, 120328, 14264},	      {15, false, 7736, 7944, 136336, 14280},
	{15, true, 7736, 7952, 158968, 20004},	      {15, true, 7736, 7952, 174976, 20028},
};

static uint32_t next_version(const struct layout *l, const uint32_t *w)
{
	uint32_t rest = l->runtime.size - l->interp.size;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		const struct counter *c = &counters[i];

		if (c->minor == l->minor && c->free_threaded == l->free_threaded &&
		    c->gil == w[INTERP_GIL] && c->generation == l->interp.generation &&
		    rest > c->rest - REST_SLACK && rest < c->rest + REST_SLACK)
			return c->next_version;
	}
	return LAYOUT_NONE;
}

static int read_words(struct bytes *b, uint32_t minor, uint32_t *ret_words)
{
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct place *p = &order[i];

		if (p->from > minor)
			continue;
		for (unsigned int n = 0; n < p->n; n++) {
			uint64_t v = bytes_u64(b);

			if (v > WORD_MAX)
				return -EINVAL;
			ret_words[p->word] = (uint32_t)v;
		}
	}
	return b->bad ? -EINVAL : 0;
}

static void set_states(struct layout *l, const uint32_t *w)
{
	bool tlbc = l->free_threaded && l->minor >= 14;

	l->runtime.size = w[RUNTIME_SIZE];
	l->runtime.interp_head = w[RUNTIME_HEAD];
	l->runtime.main_interp = w[RUNTIME_HEAD] + 8;
	l->runtime.gil = LAYOUT_NONE;
	l->runtime.gc_collecting = LAYOUT_NONE;
	l->runtime.finalizing = w[RUNTIME_FINALIZING];
	l->interp.size = w[INTERP_SIZE];
	l->interp.next = w[INTERP_NEXT];
	l->interp.id = w[INTERP_ID];
	l->interp.threads_head = w[INTERP_THREADS];
	l->interp.gil_ptr = w[INTERP_GIL_PTR];
	l->interp.modules = w[INTERP_MODULES];
	l->interp.gc_collecting = w[INTERP_GC] + w[GC_COLLECTING];
	l->interp.generation = l->minor >= 14 ? w[INTERP_GENERATION] : LAYOUT_NONE;
	l->interp.tlbc_generation = tlbc ? w[INTERP_TLBC] : LAYOUT_NONE;
	l->interp.next_version = next_version(l, w);
	/* a locked or holder before the struct wraps to something that layout_check() refuses */
	l->gil.last_holder = w[INTERP_GIL_HOLDER] - w[INTERP_GIL];
	l->gil.locked = w[INTERP_GIL_LOCKED] - w[INTERP_GIL];
	l->gil.switch_number = l->gil.locked + 8;
	l->tstate.size = w[TSTATE_SIZE];
	l->tstate.prev = w[TSTATE_PREV];
	l->tstate.next = w[TSTATE_NEXT];
	l->tstate.interp = w[TSTATE_INTERP];
	l->tstate.thread_id = w[TSTATE_THREAD_ID];
	l->tstate.native_thread_id = w[TSTATE_NATIVE_ID];
	l->tstate.frame = w[TSTATE_FRAME];
	l->tstate.frame_hop = LAYOUT_NONE;
	l->tstate.base_frame = l->minor >= 15 ? w[TSTATE_BASE] : LAYOUT_NONE;
	l->tstate.datastack_chunk = w[TSTATE_CHUNK];
}

static void set_frame_and_code(struct layout *l, const uint32_t *w)
{
	bool tlbc = l->free_threaded && l->minor >= 14;

	l->frame.size = w[FRAME_SIZE];
	l->frame.previous = w[FRAME_PREVIOUS];
	l->frame.code = w[FRAME_CODE];
	l->frame.instr = w[FRAME_INSTR];
	l->frame.owner = w[FRAME_OWNER];
	l->frame.owner_entry = 3; /* FRAME_OWNED_BY_CSTACK in 3.13, _BY_INTERPRETER from 3.14 */
	l->frame.localsplus = w[FRAME_LOCALS];
	l->frame.tlbc_index = tlbc ? w[FRAME_TLBC] : LAYOUT_NONE;
	l->code.size = w[CODE_SIZE];
	l->code.filename = w[CODE_FILENAME];
	l->code.name = w[CODE_NAME];
	l->code.qualname = w[CODE_QUALNAME];
	l->code.firstlineno = w[CODE_FIRSTLINE];
	l->code.flags = w[CODE_ARGCOUNT] - 4;
	l->code.lines = w[CODE_LINES];
	l->code.bytecode = w[CODE_BYTECODE];
	l->code.version = w[CODE_LOCALNAMES] - 4;
	l->code.tlbc = tlbc ? w[CODE_TLBC] : LAYOUT_NONE;
}

static void set_objects(struct layout *l, const uint32_t *w)
{
	l->object.size = w[OBJECT_SIZE];
	l->object.type = w[OBJECT_TYPE];
	l->object.refcnt = l->free_threaded ? 12 : 0;
	l->object.refcnt_shared = l->free_threaded ? 16 : LAYOUT_NONE;
	l->type.flags = w[TYPE_FLAGS];
	l->type.basicsize = l->minor >= 15 ? w[TYPE_BASICSIZE] : l->object.size + 16;
	l->type.dictoffset = l->minor >= 15 ? w[TYPE_DICTOFFSET] : w[TYPE_FLAGS] + 120;
	l->type.cached_keys = l->minor >= 15 ? w[TYPE_KEYS] : l->object.size + 864;
	l->dict.keys = w[DICT_KEYS];
	l->dict.values = w[DICT_VALUES];
	l->str.length = w[STR_LENGTH];
	l->str.hash = w[STR_LENGTH] + 8;
	l->str.state = w[STR_STATE];
	l->str.ascii_data = w[STR_ASCII];
	l->str.compact_data = l->minor >= 15 ? w[STR_COMPACT] : w[STR_ASCII] + 16;
	l->str.legacy_data = l->str.compact_data;
	l->str.kind_shift = l->free_threaded && l->minor >= 14 ? 8 : 2;
	l->str.has_ready = false;
	l->bytes.size = w[BYTES_SIZE];
	l->bytes.data = w[BYTES_DATA];
}

/* The distances that set_…() assumed, as far as the table can tell. */
static bool neighbours_hold(const struct layout *l, const uint32_t *w)
{
	uint32_t head = l->free_threaded ? 32 : 16;

	return l->object.size == head && l->object.type == head - 8 && l->str.length == head &&
	       l->str.state == head + 16 && l->str.ascii_data == head + 24 &&
	       w[STR_SIZE] == l->str.legacy_data + 8 &&
	       l->code.version == l->code.firstlineno + 24 &&
	       l->code.flags + 20 == l->code.firstlineno &&
	       (l->minor >= 15 || l->type.flags == head + 152) &&
	       l->gil.last_holder + 8 == l->gil.locked && l->bytes.size == head &&
	       l->bytes.data == head + 16;
}

int debug_offsets_parse(const void *bytes, size_t len, struct layout *ret)
{
	struct bytes b = bytes_of(bytes, len);
	const void *cookie = bytes_take(&b, DEBUG_OFFSETS_COOKIE_LEN);
	uint64_t version, free_threaded;
	uint32_t words[WORDS] = {0};
	struct layout l = {.instr = LAYOUT_INSTR_PTR, .lines = LAYOUT_LOCATIONS};

	if (!cookie || memcmp(cookie, DEBUG_OFFSETS_COOKIE, DEBUG_OFFSETS_COOKIE_LEN) != 0)
		return -ENOENT;
	version = bytes_u64(&b);
	free_threaded = bytes_u64(&b);
	if (b.bad || version > UINT32_MAX || free_threaded > 1)
		return -EINVAL;
	l.version = (uint32_t)version;
	l.minor = l.version >> 16 & 0xff;
	l.free_threaded = free_threaded;
	if (l.version >> 24 != 3 || l.minor < 13 || l.minor > LAYOUT_MINOR_MAX ||
	    (l.version & 0xf0) < LEVEL_CANDIDATE) {
		ret->version = l.version;
		return -EOPNOTSUPP;
	}
	if (read_words(&b, l.minor, words) != 0)
		return -EINVAL;
	set_states(&l, words);
	set_frame_and_code(&l, words);
	set_objects(&l, words);
	l.proof =
		l.interp.next_version == LAYOUT_NONE ? LAYOUT_PROOF_VERSION : LAYOUT_PROOF_COUNTER;
	if (!neighbours_hold(&l, words) || layout_check(&l) != 0)
		return -EINVAL;
	*ret = l;
	return 0;
}
