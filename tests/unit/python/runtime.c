/* Whether a runtime is one: every version's table, what may not hold, and what the counter says. */
#include <criterion/criterion.h>
#include <errno.h>
#include "python/evidence.h"
#include "python/runtime.h"
#include "tests/support/fakepython.h"

static const uint32_t version_of[] = {[8] = 0x030812f0,
				      [9] = 0x030912f0,
				      [10] = 0x030a0df0,
				      [11] = 0x030b07f0,
				      [12] = 0x030c01f0};

static enum discover_why check(struct mem *m, uint32_t version, uint64_t size,
			       struct discover_found *ret)
{
	struct runtime_hint h = {.addr = FAKEPYTHON_RUNTIME, .size = size, .version = version};
	enum discover_why why = runtime_by_table(m, &h, ret);

	return why == DISCOVER_NOT_PYTHON ? runtime_by_version(m, &h, ret) : why;
}

Test(runtime, every_table_by_version_and_by_size)
{
	for (uint32_t minor = 8; minor <= 12; minor++) {
		struct fakepython p = {layout_table(minor), 2, 2, true, 1};
		struct discover_found f = {0};
		struct mem *m = fakepython_new(&p);

		cr_assert_eq(check(m, version_of[minor], 0, &f), DISCOVER_OK, "3.%u", minor);
		cr_assert_eq(f.minor, minor);
		cr_assert_eq(f.version, version_of[minor]);
		cr_assert_eq(f.layout.version, version_of[minor]);
		cr_assert_eq(f.runtime, FAKEPYTHON_RUNTIME);
		cr_assert_eq(f.main_interp, fakepython_interp(1));
		cr_assert_eq(f.gil, minor < 12 ? FAKEPYTHON_RUNTIME + f.layout.runtime.gil
					       : FAKEPYTHON_GIL);
		cr_assert_eq(f.types.code, FAKEPYTHON_CODE_TYPE);
		f = (struct discover_found){0};
		cr_assert_eq(check(m, 0, p.layout->runtime.size, &f), DISCOVER_OK, "3.%u", minor);
		cr_assert_eq(f.minor, minor);
		cr_assert_eq(f.version, 0);
		f = (struct discover_found){0};
		cr_assert_eq(check(m, 0, p.layout->runtime.size - 8, &f), DISCOVER_INVALID);
		mem_free(m);
	}
}

Test(runtime, a_runtime_without_interpreter_is_not_yet)
{
	for (uint32_t minor = 8; minor <= 12; minor++) {
		struct fakepython p = {layout_table(minor), 0, 0, false, 0};
		struct discover_found f = {0};
		struct mem *m = fakepython_new(&p);

		cr_assert_eq(check(m, version_of[minor], 0, &f), DISCOVER_NOT_YET, "3.%u", minor);
		mem_free(m);
		p.interps = 1; /* but no thread state */
		m = fakepython_new(&p);
		cr_assert_eq(check(m, version_of[minor], 0, &f), DISCOVER_NOT_YET, "3.%u", minor);
		mem_free(m);
	}
}

Test(runtime, unknown_versions_are_named_and_refused)
{
	static const uint32_t versions[] = {0x030710f0, 0x03060ff0, 0x020712f0, 0x031000a0};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct fakepython p = {layout_table(8), 1, 1, true, 1};
		struct discover_found f = {0};
		struct mem *m = fakepython_new(&p);

		cr_assert_eq(check(m, versions[i], 0, &f), DISCOVER_UNSUPPORTED);
		cr_assert_eq(f.version, versions[i]);
		mem_free(m);
	}
}

/* One link after the other points elsewhere; none may pass. */
Test(runtime, broken_links_are_invalid)
{
	for (uint32_t minor = 8; minor <= 12; minor++) {
		struct fakepython p = {layout_table(minor), 1, 2, true, 1};
		const struct layout *l = p.layout;
		raddr_t gil = l->runtime.gil == LAYOUT_NONE ? FAKEPYTHON_GIL
							    : FAKEPYTHON_RUNTIME + l->runtime.gil;
		const struct {
			raddr_t at;
			uint64_t value;
		} broken[] = {
			{FAKEPYTHON_RUNTIME + l->runtime.interp_head, 0x1001},
			{FAKEPYTHON_RUNTIME + l->runtime.main_interp, 0xdead0000},
			{fakepython_interp(0) + l->interp.threads_head, 0xdead0000},
			{fakepython_interp(0) + l->interp.threads_head, 0x1003},
			{fakepython_state(0) + l->tstate.interp, fakepython_interp(1)},
			{fakepython_state(0) + l->tstate.prev, fakepython_state(1)},
			{fakepython_state(0) + l->tstate.next, 0xdead0000},
			{fakepython_state(1) + l->tstate.prev, fakepython_state(1)},
			{gil + l->gil.locked, 2},
			{gil + l->gil.last_holder, 0x1003},
			{fakepython_code(0) + l->object.type, 0x1000},
		};

		for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
			struct discover_found f = {0};
			struct mem *m = fakepython_new(&p);

			fakemem_add_u64(m, broken[i].at, broken[i].value);
			if (i + 1 == ARRAY_SIZE(broken)) /* none of the code objects is one */
				fakemem_add_u64(m, fakepython_code(1) + l->object.type, 0x1000);
			cr_assert_eq(check(m, version_of[minor], 0, &f), DISCOVER_INVALID,
				     "3.%u, link %zu", minor, i);
			mem_free(m);
		}
	}
}

Test(runtime, a_link_that_heals_is_tried_again)
{
	struct fakepython p = {layout_table(11), 1, 2, true, 1};
	raddr_t at = fakepython_state(1) + p.layout->tstate.prev, good = fakepython_state(0);
	struct discover_found f = {0};
	struct mem *m = fakepython_new(&p);

	fakemem_add_u64(m, at, 0x1230);
	fakemem_change(m, (struct fakemem_when){.call = 6}, at, &good, sizeof(good));
	cr_assert_eq(check(m, version_of[11], 0, &f), DISCOVER_OK);
	mem_free(m);
}

Test(runtime, classes_of_failed_reads)
{
	static const struct {
		int error;
		enum discover_why why;
	} cases[] = {
		{-ESRCH, DISCOVER_GONE}, {-EPERM, DISCOVER_DENIED}, {-ETIMEDOUT, DISCOVER_STUCK}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint64_t call = 0; call < 10; call++) {
			struct fakepython p = {layout_table(12), 1, 2, true, 1};
			struct discover_found f = {0};
			struct mem *m = fakepython_new(&p);

			fakemem_die(m, (struct fakemem_when){.call = call}, cases[i].error);
			cr_assert_eq(check(m, version_of[12], 0, &f), cases[i].why, "call %lu",
				     (unsigned long)call);
			mem_free(m);
		}
	}
}

/* --- the counter of code versions --- */

#define COUNTER 4096 /* somewhere in the interpreter's state */

static enum layout_proof proof_with(uint32_t counter, bool frames)
{
	struct layout l = *layout_table(12);
	struct fakepython p = {&l, 1, 2, frames, 1};
	struct discover_found f = {.layout = l,
				   .runtime = FAKEPYTHON_RUNTIME,
				   .main_interp = fakepython_interp(0),
				   .gil = FAKEPYTHON_GIL};
	struct mem *m = fakepython_new(&p);

	f.layout.proof = LAYOUT_PROOF_COUNTER;
	f.layout.interp.next_version = COUNTER;
	fakemem_add_u32(m, fakepython_interp(0) + COUNTER, counter);
	cr_assert_eq(evidence_check(m, (struct code_types){0}, &f), DISCOVER_OK);
	cr_assert_eq(f.layout.interp.next_version == COUNTER,
		     f.layout.proof == LAYOUT_PROOF_COUNTER);
	mem_free(m);
	return f.layout.proof;
}

Test(runtime, a_counter_above_and_close_is_believed)
{
	uint32_t newest = FAKEPYTHON_VERSION + 1;

	cr_assert_eq(proof_with(newest + 1, true), LAYOUT_PROOF_COUNTER);
	cr_assert_eq(proof_with(newest + EVIDENCE_COUNTER_SPAN - 1, true), LAYOUT_PROOF_COUNTER);
	cr_assert_eq(proof_with(newest + EVIDENCE_COUNTER_SPAN, true), LAYOUT_PROOF_VERSION);
	cr_assert_eq(proof_with(newest, true), LAYOUT_PROOF_VERSION);
	cr_assert_eq(proof_with(0, true), LAYOUT_PROOF_VERSION);
	cr_assert_eq(proof_with(newest + 1, false), LAYOUT_PROOF_VERSION);
}
