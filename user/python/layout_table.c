/*
 * Where things lie in CPython before 3.13. Made by tests/tools/layout-tables from the headers of
 * 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, x86-64 Linux: do not edit.
 */
#include "python/layout.h"

static const struct layout tables[LAYOUT_MINOR_MAX + 1] = {
	[8] = {
		.minor = 8,
		.object_frames = true,
		.instr = LAYOUT_LASTI_BYTES,
		.lines = LAYOUT_LNOTAB,
		.proof = LAYOUT_PROOF_NAME,
		.runtime =
			{
				.size = 1464,
				.interp_head = 32,
				.main_interp = 40,
				.gil = 1152,
				.gc_collecting = 544,
				.finalizing = 16,
			},
		.interp =
			{
				.size = 2720,
				.next = 0,
				.id = 16,
				.threads_head = 8,
				.gil_ptr = LAYOUT_NONE,
				.modules = 56,
				.gc_collecting = LAYOUT_NONE,
				.next_version = LAYOUT_NONE,
				.generation = LAYOUT_NONE,
				.tlbc_generation = LAYOUT_NONE,
			},
		.gil =
			{
				.last_holder = 8,
				.locked = 16,
				.switch_number = 24,
			},
		.tstate =
			{
				.size = 264,
				.prev = 0,
				.next = 8,
				.interp = 16,
				.thread_id = 176,
				.native_thread_id = LAYOUT_NONE,
				.frame = 24,
				.frame_hop = LAYOUT_NONE,
				.base_frame = LAYOUT_NONE,
				.datastack_chunk = LAYOUT_NONE,
			},
		.frame =
			{
				.size = 368,
				.previous = 24,
				.code = 32,
				.instr = 104,
				.owner = LAYOUT_NONE,
				.owner_entry = LAYOUT_NONE,
				.localsplus = 360,
				.tlbc_index = LAYOUT_NONE,
			},
		.code =
			{
				.size = 176,
				.filename = 104,
				.name = 112,
				.qualname = LAYOUT_NONE,
				.firstlineno = 40,
				.flags = 36,
				.lines = 120,
				.bytecode = LAYOUT_NONE,
				.version = LAYOUT_NONE,
				.tlbc = LAYOUT_NONE,
			},
		.object =
			{
				.size = 16,
				.refcnt = 0,
				.type = 8,
				.refcnt_shared = LAYOUT_NONE,
			},
		.type =
			{
				.basicsize = 32,
				.flags = 168,
				.dictoffset = 288,
				.cached_keys = 872,
			},
		.dict =
			{
				.keys = 32,
				.values = 40,
			},
		.str =
			{
				.length = 16,
				.hash = 24,
				.state = 32,
				.ascii_data = 48,
				.compact_data = 72,
				.legacy_data = 72,
				.kind_shift = 2,
				.has_ready = true,
			},
		.bytes =
			{
				.size = 16,
				.data = 32,
			},
	},
	[9] = {
		.minor = 9,
		.object_frames = true,
		.instr = LAYOUT_LASTI_BYTES,
		.lines = LAYOUT_LNOTAB,
		.proof = LAYOUT_PROOF_NAME,
		.runtime =
			{
				.size = 656,
				.interp_head = 32,
				.main_interp = 40,
				.gil = 352,
				.gc_collecting = LAYOUT_NONE,
				.finalizing = 16,
			},
		.interp =
			{
				.size = 5656,
				.next = 0,
				.id = 24,
				.threads_head = 8,
				.gil_ptr = LAYOUT_NONE,
				.modules = 856,
				.gc_collecting = 816,
				.next_version = LAYOUT_NONE,
				.generation = LAYOUT_NONE,
				.tlbc_generation = LAYOUT_NONE,
			},
		.gil =
			{
				.last_holder = 8,
				.locked = 16,
				.switch_number = 24,
			},
		.tstate =
			{
				.size = 264,
				.prev = 0,
				.next = 8,
				.interp = 16,
				.thread_id = 176,
				.native_thread_id = LAYOUT_NONE,
				.frame = 24,
				.frame_hop = LAYOUT_NONE,
				.base_frame = LAYOUT_NONE,
				.datastack_chunk = LAYOUT_NONE,
			},
		.frame =
			{
				.size = 368,
				.previous = 24,
				.code = 32,
				.instr = 104,
				.owner = LAYOUT_NONE,
				.owner_entry = LAYOUT_NONE,
				.localsplus = 360,
				.tlbc_index = LAYOUT_NONE,
			},
		.code =
			{
				.size = 176,
				.filename = 104,
				.name = 112,
				.qualname = LAYOUT_NONE,
				.firstlineno = 40,
				.flags = 36,
				.lines = 120,
				.bytecode = LAYOUT_NONE,
				.version = LAYOUT_NONE,
				.tlbc = LAYOUT_NONE,
			},
		.object =
			{
				.size = 16,
				.refcnt = 0,
				.type = 8,
				.refcnt_shared = LAYOUT_NONE,
			},
		.type =
			{
				.basicsize = 32,
				.flags = 168,
				.dictoffset = 288,
				.cached_keys = 864,
			},
		.dict =
			{
				.keys = 32,
				.values = 40,
			},
		.str =
			{
				.length = 16,
				.hash = 24,
				.state = 32,
				.ascii_data = 48,
				.compact_data = 72,
				.legacy_data = 72,
				.kind_shift = 2,
				.has_ready = true,
			},
		.bytes =
			{
				.size = 16,
				.data = 32,
			},
	},
	[10] = {
		.minor = 10,
		.object_frames = true,
		.instr = LAYOUT_LASTI_UNITS,
		.lines = LAYOUT_LINETABLE_310,
		.proof = LAYOUT_PROOF_NAME,
		.runtime =
			{
				.size = 672,
				.interp_head = 32,
				.main_interp = 40,
				.gil = 352,
				.gc_collecting = LAYOUT_NONE,
				.finalizing = 16,
			},
		.interp =
			{
				.size = 113528,
				.next = 0,
				.id = 24,
				.threads_head = 8,
				.gil_ptr = LAYOUT_NONE,
				.modules = 856,
				.gc_collecting = 816,
				.next_version = LAYOUT_NONE,
				.generation = LAYOUT_NONE,
				.tlbc_generation = LAYOUT_NONE,
			},
		.gil =
			{
				.last_holder = 8,
				.locked = 16,
				.switch_number = 24,
			},
		.tstate =
			{
				.size = 280,
				.prev = 0,
				.next = 8,
				.interp = 16,
				.thread_id = 176,
				.native_thread_id = LAYOUT_NONE,
				.frame = 24,
				.frame_hop = LAYOUT_NONE,
				.base_frame = LAYOUT_NONE,
				.datastack_chunk = LAYOUT_NONE,
			},
		.frame =
			{
				.size = 360,
				.previous = 24,
				.code = 32,
				.instr = 96,
				.owner = LAYOUT_NONE,
				.owner_entry = LAYOUT_NONE,
				.localsplus = 352,
				.tlbc_index = LAYOUT_NONE,
			},
		.code =
			{
				.size = 176,
				.filename = 104,
				.name = 112,
				.qualname = LAYOUT_NONE,
				.firstlineno = 40,
				.flags = 36,
				.lines = 120,
				.bytecode = LAYOUT_NONE,
				.version = LAYOUT_NONE,
				.tlbc = LAYOUT_NONE,
			},
		.object =
			{
				.size = 16,
				.refcnt = 0,
				.type = 8,
				.refcnt_shared = LAYOUT_NONE,
			},
		.type =
			{
				.basicsize = 32,
				.flags = 168,
				.dictoffset = 288,
				.cached_keys = 872,
			},
		.dict =
			{
				.keys = 32,
				.values = 40,
			},
		.str =
			{
				.length = 16,
				.hash = 24,
				.state = 32,
				.ascii_data = 48,
				.compact_data = 72,
				.legacy_data = 72,
				.kind_shift = 2,
				.has_ready = true,
			},
		.bytes =
			{
				.size = 16,
				.data = 32,
			},
	},
	[11] = {
		.minor = 11,
		.instr = LAYOUT_PREV_INSTR,
		.lines = LAYOUT_LOCATIONS,
		.proof = LAYOUT_PROOF_NAME,
		.runtime =
			{
				.size = 166688,
				.interp_head = 40,
				.main_interp = 48,
				.gil = 360,
				.gc_collecting = LAYOUT_NONE,
				.finalizing = 24,
			},
		.interp =
			{
				.size = 107752,
				.next = 0,
				.id = 48,
				.threads_head = 16,
				.gil_ptr = LAYOUT_NONE,
				.modules = 888,
				.gc_collecting = 848,
				.next_version = LAYOUT_NONE,
				.generation = LAYOUT_NONE,
				.tlbc_generation = LAYOUT_NONE,
			},
		.gil =
			{
				.last_holder = 8,
				.locked = 16,
				.switch_number = 24,
			},
		.tstate =
			{
				.size = 360,
				.prev = 0,
				.next = 8,
				.interp = 16,
				.thread_id = 152,
				.native_thread_id = 160,
				.frame = 56,
				.frame_hop = 8,
				.base_frame = LAYOUT_NONE,
				.datastack_chunk = 296,
			},
		.frame =
			{
				.size = 80,
				.previous = 48,
				.code = 32,
				.instr = 56,
				.owner = 69,
				.owner_entry = LAYOUT_NONE,
				.localsplus = 72,
				.tlbc_index = LAYOUT_NONE,
			},
		.code =
			{
				.size = 192,
				.filename = 112,
				.name = 120,
				.qualname = 128,
				.firstlineno = 72,
				.flags = 48,
				.lines = 136,
				.bytecode = 184,
				.version = LAYOUT_NONE,
				.tlbc = LAYOUT_NONE,
			},
		.object =
			{
				.size = 16,
				.refcnt = 0,
				.type = 8,
				.refcnt_shared = LAYOUT_NONE,
			},
		.type =
			{
				.basicsize = 32,
				.flags = 168,
				.dictoffset = 288,
				.cached_keys = 872,
			},
		.dict =
			{
				.keys = 32,
				.values = 40,
			},
		.str =
			{
				.length = 16,
				.hash = 24,
				.state = 32,
				.ascii_data = 48,
				.compact_data = 72,
				.legacy_data = 72,
				.kind_shift = 2,
				.has_ready = true,
			},
		.bytes =
			{
				.size = 16,
				.data = 32,
			},
	},
	[12] = {
		.minor = 12,
		.instr = LAYOUT_PREV_INSTR,
		.lines = LAYOUT_LOCATIONS,
		.proof = LAYOUT_PROOF_VERSION,
		.runtime =
			{
				.size = 459944,
				.interp_head = 40,
				.main_interp = 48,
				.gil = LAYOUT_NONE,
				.gc_collecting = LAYOUT_NONE,
				.finalizing = 24,
			},
		.interp =
			{
				.size = 383552,
				.next = 0,
				.id = 8,
				.threads_head = 72,
				.gil_ptr = 384,
				.modules = 944,
				.gc_collecting = 312,
				.next_version = LAYOUT_NONE,
				.generation = LAYOUT_NONE,
				.tlbc_generation = LAYOUT_NONE,
			},
		.gil =
			{
				.last_holder = 8,
				.locked = 16,
				.switch_number = 24,
			},
		.tstate =
			{
				.size = 288,
				.prev = 0,
				.next = 8,
				.interp = 16,
				.thread_id = 136,
				.native_thread_id = 144,
				.frame = 56,
				.frame_hop = 0,
				.base_frame = LAYOUT_NONE,
				.datastack_chunk = 232,
			},
		.frame =
			{
				.size = 80,
				.previous = 8,
				.code = 0,
				.instr = 56,
				.owner = 70,
				.owner_entry = 3,
				.localsplus = 72,
				.tlbc_index = LAYOUT_NONE,
			},
		.code =
			{
				.size = 200,
				.filename = 112,
				.name = 120,
				.qualname = 128,
				.firstlineno = 68,
				.flags = 48,
				.lines = 136,
				.bytecode = 192,
				.version = 92,
				.tlbc = LAYOUT_NONE,
			},
		.object =
			{
				.size = 16,
				.refcnt = 0,
				.type = 8,
				.refcnt_shared = LAYOUT_NONE,
			},
		.type =
			{
				.basicsize = 32,
				.flags = 168,
				.dictoffset = 288,
				.cached_keys = 880,
			},
		.dict =
			{
				.keys = 32,
				.values = 40,
			},
		.str =
			{
				.length = 16,
				.hash = 24,
				.state = 32,
				.ascii_data = 40,
				.compact_data = 56,
				.legacy_data = 56,
				.kind_shift = 2,
			},
		.bytes =
			{
				.size = 16,
				.data = 32,
			},
	},
};

const struct layout *layout_table(uint32_t minor)
{
	return minor <= LAYOUT_MINOR_MAX && tables[minor].minor ? &tables[minor] : NULL;
}
