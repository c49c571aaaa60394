/* Where things lie in one build of CPython: offsets in bytes, from a table or read at attach. */
#ifndef SCRY_PYTHON_LAYOUT_H
#define SCRY_PYTHON_LAYOUT_H

#include <stdbool.h>
#include "base/compiler.h"

#define LAYOUT_NONE UINT32_MAX /* this version has no such field */
#define LAYOUT_MINOR_MIN 8
#define LAYOUT_MINOR_MAX 15

/* How a frame says where it is. */
enum layout_instr {
	LAYOUT_LASTI_BYTES, /* 3.8, 3.9: f_lasti, byte offset into co_code */
	LAYOUT_LASTI_UNITS, /* 3.10: f_lasti, in 2-byte units */
	LAYOUT_PREV_INSTR,  /* 3.11, 3.12: pointer to the unit last executed, or one before */
	LAYOUT_INSTR_PTR,   /* 3.13+: instr_ptr, pointer to the current instruction */
};

enum layout_lines { LAYOUT_LNOTAB, LAYOUT_LINETABLE_310, LAYOUT_LOCATIONS };

/* What proves that a code object read later is the one that ran (design.md §6). */
enum layout_proof { LAYOUT_PROOF_NAME = 1, LAYOUT_PROOF_VERSION = 2, LAYOUT_PROOF_COUNTER = 3 };

struct layout {
	uint32_t minor;	  /* 8 - 15 */
	uint32_t version; /* PY_VERSION_HEX of the target, 0 when not known */
	bool free_threaded;
	bool object_frames; /* 3.8 - 3.10: frames are PyFrameObjects on the heap */
	enum layout_instr instr;
	enum layout_lines lines;
	enum layout_proof proof;
	struct {
		uint32_t size, finalizing;
		uint32_t interp_head, main_interp; /* pointers to interpreters */
		uint32_t gil; /* 3.8 - 3.11: struct _gil_runtime_state, inline; else NONE */
		uint32_t gc_collecting; /* 3.8: in the runtime; else NONE */
	} runtime;
	struct {
		uint32_t size, next, id, threads_head, modules;
		uint32_t gil_ptr; /* 3.12+: pointer to its struct _gil_runtime_state; else NONE */
		uint32_t gc_collecting; /* int */
		uint32_t next_version;	/* func_state.next_version, 4 bytes; NONE: not known */
		uint32_t generation;	/* _code_object_generation, 8 bytes; 3.14+ */
		uint32_t tlbc_generation;
	} interp;
	struct {
		uint32_t last_holder, locked, switch_number;
	} gil; /* inside struct _gil_runtime_state */
	struct {
		uint32_t size, prev, next, interp, thread_id;
		uint32_t native_thread_id; /* 3.11+ */
		uint32_t frame;	     /* 3.8 - 3.10 frame, 3.13+ current_frame, 3.11 - 3.12 cframe */
		uint32_t frame_hop;  /* 3.11, 3.12: current_frame inside the CFrame */
		uint32_t base_frame; /* 3.15 */
		uint32_t datastack_chunk; /* 3.11+; datastack_top and _limit follow it */
	} tstate;
	struct {
		uint32_t size, previous, code, instr, localsplus;
		uint32_t owner;	      /* one byte; 3.11+ */
		uint32_t owner_entry; /* owners from here on are to be skipped; 3.12+ */
		uint32_t tlbc_index;  /* free-threaded 3.14+ */
	} frame;
	struct {
		uint32_t size, filename, name, qualname, firstlineno, flags;
		uint32_t lines;		/* co_lnotab, co_linetable: a bytes object */
		uint32_t bytecode;	/* 3.11+: co_code_adaptive, inline; else NONE */
		uint32_t version, tlbc; /* co_version: 3.12+; free-threaded 3.14+ */
	} code;
	struct {
		uint32_t size, refcnt, type;
		uint32_t refcnt_shared; /* free-threaded: ob_ref_shared; else NONE */
	} object;
	struct {
		uint32_t basicsize, flags, dictoffset, cached_keys;
	} type;
	struct {
		uint32_t keys, values;
	} dict;
	struct {
		uint32_t length, hash, state, ascii_data, compact_data;
		uint32_t legacy_data; /* non-compact: where the data pointer is */
		uint32_t kind_shift;  /* of the 3-bit kind in state; then come compact, ascii */
		bool has_ready;	      /* 3.8 - 3.11 */
	} str;
	struct {
		uint32_t size, data;
	} bytes;
};

/* The table of a minor version without _Py_DebugOffsets (8 - 12), NULL for others. x86-64 Linux. */
const struct layout *layout_table(uint32_t minor);
/*
 * Checks a layout once, as hostile, so that the hot path can read plainly: what the version must
 * have is there, aligned, inside its struct, within the limits in layout.c. 0 or -EINVAL.
 */
int layout_check(const struct layout *l);
bool layout_equal(const struct layout *a, const struct layout *b);

#endif
