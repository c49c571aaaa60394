/*
 * What the engine counted, for people: all of it, then process by process, without what is 0.
 *
 *	python3[4711]
 *	  ticks                  990  walks                  990  calls                   12
 */
#include "cli/counters.h"

#include <string.h>
#include "base/buf.h"
#include "base/plain.h"

#define COLUMNS 3

struct printer {
	FILE *f;
	unsigned int column;
};

static void print_number(struct printer *p, const char *name, uint64_t v)
{
	if (!v)
		return;
	fprintf(p->f, "  %-18s %12llu", name, (unsigned long long)v);
	if (++p->column == COLUMNS) {
		fputc('\n', p->f);
		p->column = 0;
	}
}

static void print_stats(FILE *f, const struct stats *v)
{
	struct printer p = {.f = f};

	for (unsigned int i = 0; i < STAT_MAX; i++)
		print_number(&p, stats_name((enum stats_counter)i), v->v[i]);
	for (unsigned int i = 0; i < OUTCOME_MAX; i++)
		print_number(&p, outcome_name((enum outcome)i), v->outcomes[i]);
	if (p.column)
		fputc('\n', f);
}

static void print_who(FILE *f, const struct stats_row *r)
{
	struct buf b;

	if (r->process == STATS_OTHERS) {
		fprintf(f, "others\n");
		return;
	}
	buf_init(&b);
	plain_put(&b, r->comm, strlen(r->comm));
	fprintf(f, "%s[%u]\n", b.data ? b.data : "", r->pid);
	buf_release(&b);
}

void counters_print(FILE *f, const struct stats_table *t, uint64_t rows)
{
	size_t n = rows && rows < t->n ? (size_t)rows : t->n;

	fprintf(f, "all\n");
	print_stats(f, &t->total);
	for (size_t i = 0; i < n; i++) {
		print_who(f, &t->rows[i]);
		print_stats(f, &t->rows[i].v);
	}
	if (n < t->n)
		fprintf(f, "# %zu more\n", t->n - n);
}
