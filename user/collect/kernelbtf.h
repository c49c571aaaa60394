/*
 * The kernel's descriptions of the types that BPF programs name, and of no others.
 *
 * The kernel describes all of its types, 126,700 in 5.5 MB, and libbpf copies that twice, indexes
 * it, and goes through all of it once for each type that a program names: 30 ms of 80 that loading
 * took. One pass here leaves some hundred types, which libbpf then gets as a file in memory.
 */
#ifndef SCRY_COLLECT_KERNELBTF_H
#define SCRY_COLLECT_KERNELBTF_H

struct btf;
struct kernelbtf;

/* -errno when the kernel does not have it, or not as known here: libbpf may still find its own. */
int kernelbtf_new(struct kernelbtf **ret);
void kernelbtf_free(struct kernelbtf *k); /* also NULL */

/* The file to load the programs with; empty until it is filled, gone with *k. */
const char *kernelbtf_path(const struct kernelbtf *k);

/* Writes all structs, unions and enums that `programs` has a name of, with what they contain;
 * pointers lead nowhere. 0 or -errno. */
int kernelbtf_fill(struct kernelbtf *k, const struct btf *programs);

#endif
