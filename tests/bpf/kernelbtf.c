/* What is selected of the kernel's types is what the kernel says of them. */
#include <criterion/criterion.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "collect/kernelbtf.h"
#include "sample.skel.h"

#define FEW 2000 /* types of more than 100,000 */

static struct btf *selected(const struct btf *programs)
{
	struct kernelbtf *k = NULL;
	struct btf *btf;

	cr_assert_eq(kernelbtf_new(&k), 0);
	cr_assert_eq(kernelbtf_fill(k, programs), 0);
	btf = btf__parse(kernelbtf_path(k), NULL);
	cr_assert(btf, "libbpf reads it");
	kernelbtf_free(k);
	return btf;
}

static void same_members(const struct btf *a, const struct btf_type *ta, const struct btf *b,
			 const struct btf_type *tb)
{
	const struct btf_member *ma = btf_members(ta), *mb = btf_members(tb);

	cr_assert_eq(ta->size, tb->size);
	cr_assert_eq(ta->info, tb->info);
	for (int i = 0; i < btf_vlen(ta); i++) {
		__s32 ia = btf__resolve_type(a, ma[i].type), ib = btf__resolve_type(b, mb[i].type);
		const struct btf_type *fa = btf__type_by_id(a, ia), *fb = btf__type_by_id(b, ib);

		cr_assert_str_eq(btf__name_by_offset(a, ma[i].name_off),
				 btf__name_by_offset(b, mb[i].name_off));
		cr_assert_eq(ma[i].offset, mb[i].offset);
		cr_assert_eq(btf_kind(fa), btf_kind(fb));
		if (btf_is_composite(fa))
			same_members(a, fa, b, fb);
		else if (btf_is_ptr(fa))
			cr_assert_eq(fa->type, 0, "pointers lead nowhere");
		else if (!btf_is_array(fa))
			cr_assert_eq(fa->size, fb->size);
	}
}

Test(kernelbtf, is_what_the_kernel_says)
{
	struct sample_bpf *skel = sample_bpf__open();
	struct btf *kernel = btf__load_vmlinux_btf(), *few;
	static const char *const names[] = {"task_struct", "mm_struct", "pid", "upid", "inode"};

	cr_assert(skel && kernel);
	few = selected(bpf_object__btf(skel->obj));
	cr_assert_lt(btf__type_cnt(few), FEW);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		__s32 a = btf__find_by_name_kind(few, names[i], BTF_KIND_STRUCT);
		__s32 b = btf__find_by_name_kind(kernel, names[i], BTF_KIND_STRUCT);

		cr_assert(a > 0 && b > 0, "%s", names[i]);
		same_members(few, btf__type_by_id(few, a), kernel, btf__type_by_id(kernel, b));
	}
	btf__free(few);
	btf__free(kernel);
	sample_bpf__destroy(skel);
}

/* The helpers that a kernel has are asked for by the names of an enum's values. */
Test(kernelbtf, values_of_enums)
{
	struct sample_bpf *skel = sample_bpf__open();
	struct btf *kernel = btf__load_vmlinux_btf(), *few;
	const struct btf_type *a, *b;
	int n;

	cr_assert(skel && kernel);
	few = selected(bpf_object__btf(skel->obj));
	a = btf__type_by_id(few, btf__find_by_name_kind(few, "bpf_func_id", BTF_KIND_ENUM));
	b = btf__type_by_id(kernel, btf__find_by_name_kind(kernel, "bpf_func_id", BTF_KIND_ENUM));
	cr_assert(a && b);
	n = btf_vlen(b);
	cr_assert_eq(btf_vlen(a), n);
	for (int i = 0; i < n; i++) {
		cr_assert_eq(btf_enum(a)[i].val, btf_enum(b)[i].val);
		cr_assert_str_eq(btf__name_by_offset(few, btf_enum(a)[i].name_off),
				 btf__name_by_offset(kernel, btf_enum(b)[i].name_off));
	}
	btf__free(few);
	btf__free(kernel);
	sample_bpf__destroy(skel);
}
