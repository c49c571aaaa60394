/* The hand-kept kernel types agree with the running kernel's own. */
#include <criterion/criterion.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/compiler.h"
#include "sample.skel.h"
#include "tasks.skel.h"

/* A struct's member by name, also inside of anonymous members; NULL: none. */
static const struct btf_member *find_member(const struct btf *btf, const struct btf_type *t,
					    const char *name)
{
	const struct btf_member *m = btf_members(t), *found;

	for (int i = 0; i < btf_vlen(t); i++, m++) {
		const char *its = btf__name_by_offset(btf, m->name_off);
		const struct btf_type *inner;

		if (!strcmp(its, name))
			return m;
		inner = btf__type_by_id(btf, btf__resolve_type(btf, m->type));
		if (*its || !btf_is_composite(inner))
			continue;
		found = find_member(btf, inner, name);
		if (found)
			return found;
	}
	return NULL;
}

static const char *type_name(const struct btf *btf, const struct btf_type *t)
{
	return btf__name_by_offset(btf, t->name_off);
}

/* Same kind, and size if it is a number. */
static bool same_type(const struct btf *a, __u32 id_a, const struct btf *b, __u32 id_b)
{
	const struct btf_type *ta = btf__type_by_id(a, btf__resolve_type(a, id_a));
	const struct btf_type *tb = btf__type_by_id(b, btf__resolve_type(b, id_b));

	if (btf_kind(ta) != btf_kind(tb))
		return false;
	if (btf_is_int(ta))
		return ta->size == tb->size;
	if (btf_is_composite(ta))
		return !strcmp(type_name(a, ta), type_name(b, tb));
	return true;
}

/* Compares one of our types; how many members were looked at. */
static int compare(const struct btf *ours, const struct btf_type *t, const struct btf *kernel)
{
	const char *name = type_name(ours, t);
	const struct btf_member *m = btf_members(t), *theirs;
	const struct btf_type *k;
	__s32 id = btf__find_by_name_kind(kernel, name, btf_kind(t));

	cr_assert_gt(id, 0, "the kernel has no struct %s", name);
	k = btf__type_by_id(kernel, id);
	for (int i = 0; i < btf_vlen(t); i++, m++) {
		const char *member = btf__name_by_offset(ours, m->name_off);

		theirs = find_member(kernel, k, member);
		cr_assert_not_null(theirs, "the kernel's struct %s has no %s", name, member);
		cr_assert(same_type(ours, m->type, kernel, theirs->type),
			  "the kernel's %s.%s is of another type", name, member);
	}
	return btf_vlen(t);
}

/* The kernel's types that the programs read, as they are in vmlinux/. */
static bool is_kernel_type(const char *name)
{
	static const char *const names[] = {
		"task_struct",
		"mm_struct",
		"file",
		"inode",
		"pid",
		"upid",
		"pid_namespace",
		"ns_common",
		"super_block",
		"signal_struct",
		"thread_struct",
		"bpf_perf_event_data",
		"seq_file",
		"sched_entity",
		"sched_info",
		"bpf_iter_meta",
		"bpf_iter__task",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Compares all types of one object; how many there were, and their members. */
static void compare_all(const struct btf *kernel, const void *bytes, size_t size, int *ret_types,
			int *ret_members)
{
	struct bpf_object *object = bpf_object__open_mem(bytes, size, NULL);
	const struct btf *ours;

	*ret_types = *ret_members = 0;
	cr_assert_not_null(object);
	ours = bpf_object__btf(object);
	for (__u32 i = 1; i < btf__type_cnt(ours); i++) {
		const struct btf_type *t = btf__type_by_id(ours, i);

		if (!btf_is_struct(t) || !is_kernel_type(type_name(ours, t)))
			continue;
		*ret_members += compare(ours, t, kernel);
		++*ret_types;
	}
	bpf_object__close(object);
}

Test(vmlinux, types_are_the_kernels)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	int types, members;
	const void *bytes;
	size_t size;

	if (!kernel)
		cr_skip_test("this kernel has no BTF");
	bytes = sample_bpf__elf_bytes(&size);
	compare_all(kernel, bytes, size, &types, &members);
	cr_assert_geq(types, 11);
	cr_assert_geq(members, 28);
	bytes = tasks_bpf__elf_bytes(&size);
	compare_all(kernel, bytes, size, &types, &members);
	cr_assert_geq(types, 12, "%d", types);
	cr_assert_geq(members, 30, "%d", members);
	btf__free(kernel);
}
