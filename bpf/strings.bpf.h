/*
 * What tells a code object's strings apart, for versions that number no code objects (3.8 - 3.11):
 * the hash stored in the str, or where that is none (-1: never computed, as it is with names of
 * methods on 3.11, with most file names, and with whatever code.replace() is given; 0: the empty
 * one's) a mark of its length and first characters. User space makes the same of what it reads
 * later (unicode_mark() in user/python/unicode.c).
 *
 * str in these versions: length, hash, state (kind in bits 2 - 4, compact 5, ascii 6), a word, and
 * the characters if ascii; else they come 24 bytes later.
 */
#ifndef SCRY_BPF_STRINGS_BPF_H
#define SCRY_BPF_STRINGS_BPF_H

#include "bpf/maps.bpf.h"

#define STR_NO_HASH (~0ull)
#define STR_COMPACT (1u << 5)
#define STR_ASCII (1u << 6)
#define STR_MORE 24	     /* bytes of the head of a str that is not ascii */
#define STR_MAX_CHARS 16384u /* UNICODE_MAX_CHARS */
#define MARK_FACTOR 0x9e3779b97f4a7c15ull

/* Reads the characters that a mark is made of to t->str_text, unless they came with the head. */
static __always_inline int string_text(struct tick *t, __u32 n, int have)
{
	__u64 data = t->str + t->layout.str_hash - 8 + STR_HEAD;

	if (t->str_head[2] & STR_ASCII) {
		if (have)
			return 0;
	} else {
		data += STR_MORE;
	}
	if (n > MARK_BYTES)
		return 1;
	return bpf_probe_read_user(t->str_text, n, (void *)data) != 0;
}

static __always_inline __u64 string_fold(struct tick *t, int have)
{
	__u64 kind = t->str_head[2] >> 2 & 7, chars = t->str_head[0], mark;
	__u32 n;

	if (!(t->str_head[2] & STR_COMPACT))
		return 0;
	if (chars > STR_MAX_CHARS)
		chars = STR_MAX_CHARS;
	n = chars * kind;
	if (n > MARK_BYTES)
		n = MARK_BYTES;
	barrier_var(n);
	if (string_text(t, n, have))
		return 0;
	*(__u64 *)((__u8 *)t->str_text + n) = 0; /* what the last word has too much */
	mark = chars << 8 | kind;
	ROLLED
	for (__u32 i = 0; i < MARK_BYTES / 8; i++) {
		if (i * 8 >= n)
			break;
		mark = (mark ^ t->str_text[i]) * MARK_FACTOR;
		mark ^= mark >> 32;
	}
	return mark | 1;
}

/* Hash or mark of t->str into t->mark; 0: neither is to be had. */
__attribute__((noinline)) int string_mark(void)
{
	struct tick *t = tick_get();
	__u64 at;
	int have;

	if (!t)
		return 0;
	t->mark = 0;
	at = t->str + t->layout.str_hash - 8;
	/* head and characters in one go; at the end of what is mapped the head alone */
	have = !bpf_probe_read_user(t->str_head, STR_HEAD + MARK_BYTES, (void *)at);
	if (!have && bpf_probe_read_user(t->str_head, STR_HEAD, (void *)at))
		return 0;
	t->mark = t->str_head[1];
	if (!t->mark || t->mark == STR_NO_HASH)
		t->mark = string_fold(t, have);
	return 0;
}

#endif
