/* The thread states and interpreters that a reader knows. */
#include <errno.h>
#include <stdlib.h>
#include "base/vec.h"
#include "python/reader_impl.h"

static void drop(struct reader *r, struct reader_state *s)
{
	HASH_DEL(r->states, s);
	predict_release(&s->predict);
	free(s);
}

void reader_list_release(struct reader *r)
{
	struct reader_state *s, *next;

	HASH_ITER (hh, r->states, s, next)
		drop(r, s);
	threads_release(&r->lists);
	free(r->by_ptr);
	free(r->by_tid);
	free(r->interps);
	free(r->gils);
}

struct reader_state *reader_list_state(struct reader *r, raddr_t addr)
{
	struct reader_state *s;

	HASH_FIND(hh, r->states, &addr, sizeof(addr), s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->addr = addr;
	HASH_ADD(hh, r->states, addr, sizeof(s->addr), s);
	return s;
}

struct reader_interp *reader_list_interp(struct reader *r, raddr_t addr)
{
	for (size_t i = 0; i < r->n_interps; i++)
		if (r->interps[i].addr == addr)
			return &r->interps[i];
	return NULL;
}

static int by_key(const void *a, const void *b)
{
	const struct reader_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

const struct reader_key *reader_list_find(const struct reader_key *v, size_t n, uint64_t key,
					  size_t *ret_n)
{
	size_t lo = 0, hi = n, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < n && v[end].key == key;)
		end++;
	*ret_n = end - lo;
	return v + lo;
}

static int index_states(struct reader *r)
{
	const struct thread_lists *l = &r->lists;
	struct reader_state *s, *next;

	if (vec_reserve(&r->by_ptr, &r->cap_ptr, l->n, sizeof(*r->by_ptr)) ||
	    vec_reserve(&r->by_tid, &r->cap_tid, l->n, sizeof(*r->by_tid)))
		return -ENOMEM;
	r->n_keys = 0;
	for (size_t i = 0; i < l->n; i++) {
		s = reader_list_state(r, l->v[i].addr);
		if (!s)
			return -ENOMEM;
		s->interp = l->v[i].interp;
		s->listing = r->listing;
		r->by_ptr[i] = (struct reader_key){l->v[i].thread_id, i, s};
		r->by_tid[i] = (struct reader_key){l->v[i].native_id, i, s};
	}
	r->n_keys = l->n;
	qsort(r->by_ptr, r->n_keys, sizeof(*r->by_ptr), by_key);
	qsort(r->by_tid, r->n_keys, sizeof(*r->by_tid), by_key);
	HASH_ITER (hh, r->states, s, next)
		if (s->listing != r->listing)
			drop(r, s);
	return 0;
}

static void name_word(struct reader_words *w, size_t i, raddr_t base, uint32_t offset, uint32_t len)
{
	if (offset == LAYOUT_NONE)
		return;
	w->word[i].addr = base + offset;
	w->word[i].len = len;
}

static void plan_interp(struct reader *r, const struct thread_interp *from,
			struct reader_interp *to)
{
	const struct layout *l = &r->found.layout;

	*to = (struct reader_interp){.addr = from->addr, .head = from->head, .gil = from->gil};
	to->holds_gil = to->gil > to->addr && to->gil - to->addr < l->interp.size;
	name_word(&to->words, READER_NEXT, to->addr, l->interp.next, 8);
	name_word(&to->words, READER_HEAD, to->addr, l->interp.threads_head, 8);
	name_word(&to->words, READER_GC, to->addr, l->interp.gc_collecting, 4);
	name_word(&to->words, READER_COUNTER, to->addr, l->interp.next_version, 4);
	name_word(&to->words, READER_GENERATION, to->addr, l->interp.generation, 8);
	if (to->gil && to->addr != r->found.main_interp) /* whose GIL is ever the same */
		name_word(&to->words, READER_GIL_PTR, to->addr, l->interp.gil_ptr, 8);
	if (to->holds_gil)
		name_word(&to->words, READER_GIL, to->gil, r->gil_at, r->gil_len);
	reader_words_plan(&to->words);
}

/* Several interpreters may share one. */
static int plan_gil(struct reader *r, struct reader_interp *of)
{
	struct reader_gil *g;

	for (of->gil_at = 0; of->gil_at < r->n_gils; of->gil_at++)
		if (r->gils[of->gil_at].addr == of->gil)
			return 0;
	if (vec_reserve(&r->gils, &r->cap_gils, r->n_gils + 1, sizeof(*g)))
		return -ENOMEM;
	g = &r->gils[r->n_gils++];
	*g = (struct reader_gil){.addr = of->gil};
	name_word(&g->alone, 0, of->gil, r->gil_at, r->gil_len);
	reader_words_plan(&g->alone);
	return 0;
}

static int plan(struct reader *r)
{
	const struct layout *l = &r->found.layout;
	const struct thread_lists *from = &r->lists;
	int err = 0;

	r->runtime = (struct reader_words){0};
	name_word(&r->runtime, READER_RUNTIME_HEAD, r->found.runtime, l->runtime.interp_head, 8);
	name_word(&r->runtime, READER_RUNTIME_GC, r->found.runtime, l->runtime.gc_collecting, 4);
	if (l->runtime.gil != LAYOUT_NONE)
		name_word(&r->runtime, READER_RUNTIME_GIL, r->found.gil, r->gil_at, r->gil_len);
	reader_words_plan(&r->runtime);
	r->n_gils = r->n_interps = 0;
	if (vec_reserve(&r->interps, &r->cap_interps, from->n_interps, sizeof(*r->interps)))
		return -ENOMEM;
	for (size_t i = 0; i < from->n_interps && !err; i++) {
		plan_interp(r, &from->interps[i], &r->interps[i]);
		if (r->interps[i].gil)
			err = plan_gil(r, &r->interps[i]);
		r->n_interps++;
	}
	return err;
}

int reader_list_update(struct reader *r)
{
	int err = threads_read(r->mem, &r->found, &r->lists, r->limit);

	if (err)
		return err;
	r->listing++;
	err = index_states(r);
	return err ? err : plan(r);
}
