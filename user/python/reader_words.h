/* A few words that are read together, in as few pieces as pay. */
#ifndef SCRY_PYTHON_READER_WORDS_H
#define SCRY_PYTHON_READER_WORDS_H

#include "remote/batch.h"

#define READER_WORDS 8

struct reader_words {
	struct {
		raddr_t addr; /* 0: not wanted */
		uint32_t len;
		uint8_t range;
	} word[READER_WORDS];
	struct {
		raddr_t addr;
		uint32_t len;
		size_t index; /* in the batch */
	} range[READER_WORDS];
	size_t n;
};

void reader_words_plan(struct reader_words *w); /* after the words were named */
int reader_words_want(struct reader_words *w, struct batch *b);
/* NULL: not wanted, or not readable. */
const void *reader_words_at(const struct reader_words *w, const struct batch *b, size_t word);

#endif
