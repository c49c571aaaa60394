/* Print one entry of user/python/layout_table.c: compiled by layout-tables against the headers of
 * one CPython. */
#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_interp.h"
#else
#include <frameobject.h>
#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FROM(hex) (PY_VERSION_HEX >= (hex))
#define V3_9 0x03090000
#define V3_10 0x030a0000
#define V3_11 0x030b0000
#define V3_12 0x030c0000

typedef struct pyruntimestate runtime_t;
typedef struct _gil_runtime_state gil_t;
typedef PyInterpreterState interp_t;
typedef PyThreadState tstate_t;
#if FROM(V3_11)
typedef _PyInterpreterFrame frame_t;
typedef _PyCFrame cframe_t;
#else
typedef PyFrameObject frame_t;
#endif

static void open_group(const char *name)
{
	printf("\t\t.%s =\n\t\t\t{\n", name);
}

static void close_group(void)
{
	printf("\t\t\t},\n");
}

static void field(const char *name, size_t value)
{
	printf("\t\t\t\t.%s = %zu,\n", name, value);
}

static void none(const char *name)
{
	printf("\t\t\t\t.%s = LAYOUT_NONE,\n", name);
}

#define FIELD(name, type, member) field(name, offsetof(type, member))

static void print_head(void)
{
	printf("\t[%d] = {\n", PY_MINOR_VERSION);
	printf("\t\t.minor = %d,\n", PY_MINOR_VERSION);
	if (!FROM(V3_11))
		printf("\t\t.object_frames = true,\n");
	printf("\t\t.instr = %s,\n", FROM(V3_11)   ? "LAYOUT_PREV_INSTR"
				     : FROM(V3_10) ? "LAYOUT_LASTI_UNITS"
						   : "LAYOUT_LASTI_BYTES");
	printf("\t\t.lines = %s,\n", FROM(V3_11)   ? "LAYOUT_LOCATIONS"
				     : FROM(V3_10) ? "LAYOUT_LINETABLE_310"
						   : "LAYOUT_LNOTAB");
	printf("\t\t.proof = %s,\n", FROM(V3_12) ? "LAYOUT_PROOF_VERSION" : "LAYOUT_PROOF_NAME");
}

static void print_runtime(void)
{
	open_group("runtime");
	field("size", sizeof(runtime_t));
	FIELD("interp_head", runtime_t, interpreters.head);
	FIELD("main_interp", runtime_t, interpreters.main);
#if FROM(V3_12)
	none("gil");
#else
	FIELD("gil", runtime_t, ceval.gil);
#endif
#if FROM(V3_9)
	none("gc_collecting");
	FIELD("finalizing", runtime_t, _finalizing);
#else
	FIELD("gc_collecting", runtime_t, gc.collecting);
	FIELD("finalizing", runtime_t, finalizing);
#endif
	close_group();
}

static void print_interp(void)
{
	open_group("interp");
	field("size", sizeof(interp_t));
	FIELD("next", interp_t, next);
	FIELD("id", interp_t, id);
#if FROM(V3_11)
	FIELD("threads_head", interp_t, threads.head);
#else
	FIELD("threads_head", interp_t, tstate_head);
#endif
#if FROM(V3_12)
	FIELD("gil_ptr", interp_t, ceval.gil);
	FIELD("modules", interp_t, imports.modules);
#else
	none("gil_ptr");
	FIELD("modules", interp_t, modules);
#endif
#if FROM(V3_9)
	FIELD("gc_collecting", interp_t, gc.collecting);
#else
	none("gc_collecting");
#endif
	none("next_version");
	none("generation");
	none("tlbc_generation");
	close_group();
	open_group("gil");
	FIELD("last_holder", gil_t, last_holder);
	FIELD("locked", gil_t, locked);
	FIELD("switch_number", gil_t, switch_number);
	close_group();
}

static void print_tstate(void)
{
	open_group("tstate");
	field("size", sizeof(tstate_t));
	FIELD("prev", tstate_t, prev);
	FIELD("next", tstate_t, next);
	FIELD("interp", tstate_t, interp);
	FIELD("thread_id", tstate_t, thread_id);
#if FROM(V3_11)
	FIELD("native_thread_id", tstate_t, native_thread_id);
	FIELD("frame", tstate_t, cframe);
	FIELD("frame_hop", cframe_t, current_frame);
	none("base_frame");
	FIELD("datastack_chunk", tstate_t, datastack_chunk);
	_Static_assert(offsetof(tstate_t, datastack_top) ==
			       offsetof(tstate_t, datastack_chunk) + sizeof(void *),
		       "layout.h says so");
#else
	none("native_thread_id");
	FIELD("frame", tstate_t, frame);
	none("frame_hop");
	none("base_frame");
	none("datastack_chunk");
#endif
	close_group();
}

static void print_frame(void)
{
	open_group("frame");
	field("size", sizeof(frame_t));
#if FROM(V3_11)
	FIELD("previous", frame_t, previous);
	FIELD("code", frame_t, f_code);
	FIELD("instr", frame_t, prev_instr);
	FIELD("owner", frame_t, owner);
#if FROM(V3_12)
	field("owner_entry", FRAME_OWNED_BY_CSTACK);
#else
	none("owner_entry");
#endif
	FIELD("localsplus", frame_t, localsplus);
#else
	FIELD("previous", frame_t, f_back);
	FIELD("code", frame_t, f_code);
	FIELD("instr", frame_t, f_lasti);
	none("owner");
	none("owner_entry");
	FIELD("localsplus", frame_t, f_localsplus);
#endif
	none("tlbc_index");
	close_group();
}

static void print_code(void)
{
	open_group("code");
	field("size", sizeof(PyCodeObject));
	FIELD("filename", PyCodeObject, co_filename);
	FIELD("name", PyCodeObject, co_name);
#if FROM(V3_11)
	FIELD("qualname", PyCodeObject, co_qualname);
#else
	none("qualname");
#endif
	FIELD("firstlineno", PyCodeObject, co_firstlineno);
	FIELD("flags", PyCodeObject, co_flags);
#if FROM(V3_10)
	FIELD("lines", PyCodeObject, co_linetable);
#else
	FIELD("lines", PyCodeObject, co_lnotab);
#endif
#if FROM(V3_11)
	FIELD("bytecode", PyCodeObject, co_code_adaptive);
#else
	none("bytecode");
#endif
#if FROM(V3_12)
	FIELD("version", PyCodeObject, co_version);
#else
	none("version");
#endif
	none("tlbc");
	close_group();
}

static void print_objects(void)
{
	open_group("object");
	field("size", sizeof(PyObject));
	FIELD("refcnt", PyObject, ob_refcnt);
	FIELD("type", PyObject, ob_type);
	none("refcnt_shared");
	close_group();

	open_group("type");
	FIELD("basicsize", PyTypeObject, tp_basicsize);
	FIELD("flags", PyTypeObject, tp_flags);
	FIELD("dictoffset", PyTypeObject, tp_dictoffset);
	FIELD("cached_keys", PyHeapTypeObject, ht_cached_keys);
	close_group();

	open_group("dict");
	FIELD("keys", PyDictObject, ma_keys);
	FIELD("values", PyDictObject, ma_values);
	close_group();

	open_group("str");
	FIELD("length", PyASCIIObject, length);
	FIELD("hash", PyASCIIObject, hash);
	FIELD("state", PyASCIIObject, state);
	field("ascii_data", sizeof(PyASCIIObject));
	field("compact_data", sizeof(PyCompactUnicodeObject));
	FIELD("legacy_data", PyUnicodeObject, data);
	union {
		PyASCIIObject object;
		unsigned char bytes[sizeof(PyASCIIObject)];
	} str = {.bytes = {0}};
	str.object.state.kind = 1;
	field("kind_shift",
	      __builtin_ctz(*(uint32_t *)(str.bytes + offsetof(PyASCIIObject, state))));
#if !FROM(V3_12)
	printf("\t\t\t\t.has_ready = true,\n");
#endif
	close_group();

	open_group("bytes");
	FIELD("size", PyBytesObject, ob_base.ob_size);
	FIELD("data", PyBytesObject, ob_sval);
	close_group();
	printf("\t},\n");
}

int main(void)
{
	print_head();
	print_runtime();
	print_interp();
	print_tstate();
	print_frame();
	print_code();
	print_objects();
	return 0;
}
