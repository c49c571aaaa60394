/* A few words that are read together, in as few pieces as pay. */
#include "python/reader_words.h"

#include <stdbool.h>

/* Copying this many bytes costs less than another piece (some 100 ns) and its page. */
#define MERGE_GAP 1024

void reader_words_plan(struct reader_words *w)
{
	bool done[READER_WORDS] = {false};

	w->n = 0;
	for (;;) {
		size_t best = READER_WORDS;

		for (size_t i = 0; i < READER_WORDS; i++)
			if (w->word[i].addr && !done[i] &&
			    (best == READER_WORDS || w->word[i].addr < w->word[best].addr))
				best = i;
		if (best == READER_WORDS)
			return;
		done[best] = true;
		raddr_t addr = w->word[best].addr, end = addr + w->word[best].len;

		if (!w->n ||
		    addr - w->range[w->n - 1].addr > (raddr_t)w->range[w->n - 1].len + MERGE_GAP) {
			w->range[w->n].addr = addr;
			w->range[w->n++].len = 0;
		}
		w->word[best].range = (uint8_t)(w->n - 1);
		w->range[w->n - 1].len =
			MAX(w->range[w->n - 1].len, (uint32_t)(end - w->range[w->n - 1].addr));
	}
}

int reader_words_want(struct reader_words *w, struct batch *b)
{
	int err = 0;

	for (size_t i = 0; i < w->n && !err; i++)
		err = batch_want(b, w->range[i].addr, w->range[i].len, &w->range[i].index);
	return err;
}

const void *reader_words_at(const struct reader_words *w, const struct batch *b, size_t word)
{
	const uint8_t *p;

	if (!w->word[word].addr)
		return NULL;
	p = batch_at(b, w->range[w->word[word].range].index);
	return p ? p + (w->word[word].addr - w->range[w->word[word].range].addr) : NULL;
}
