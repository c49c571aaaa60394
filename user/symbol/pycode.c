/* Names and lines of code objects that are true: what is known at once, the rest in one go. */
#include "symbol/pycode.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "symbol/pycode_line.h"
#include "symbol/pycode_proof.h"
#include "symbol/pycode_read.h"
#include "symbol/pycode_table.h"

#define DEATHS 16   /* drains for which code objects that died make others doubtful */
#define UNDOUBT 2   /* empty rings: ticks from before the reading may still come with the first */
#define RECHECK 10  /* drains, NAME */
#define CHUNK 2048u /* code objects that are read together */
#define FORK_MARGIN_NS NSEC_PER_SEC /* a process starts when its memory has been copied */
#define ROUNDS 4 /* of phases 2 and 3 for one chunk: torn once, or more than a batch holds */

struct pycode {
	struct names *names;
	struct layout layout;
	struct code_types types;
	raddr_t runtime;
	uint32_t unreadable; /* the marker frame */
	uint32_t drain;	     /* counts pycode_resolve() */
	uint32_t emptied;    /* counts pycode_emptied(), from 1 */
	uint32_t death;	     /* the drain in which a code object was last found dead; 0 at first */
	struct pycode_table table;
	struct pycode_stats stats;
};

/* One pycode_resolve() that has to read. */
struct drain {
	struct pycode *c;
	struct pycode_query *q;
	struct pycode_query **pending; /* not answered yet, by address */
	size_t n_pending;
	struct pycode_job *jobs; /* one an address */
	size_t n_jobs;
	struct pycode_fact facts[PYCODE_MAX_WATCHES]; /* latest tick, an interpreter each */
	uint32_t n_facts;
	struct pycode_read read;
	struct buf text;
};

struct pycode *pycode_new(struct names *names, const struct layout *l, struct code_types types,
			  raddr_t runtime)
{
	struct pycode *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->names = names;
	c->layout = *l;
	c->types = types;
	c->runtime = runtime;
	c->emptied = 1; /* and in drain 0 a death is taken to have been: nobody was looking */
	c->unreadable = names_marker(names, "[unreadable]");
	if (c->unreadable == INTERN_NONE || pycode_table_init(&c->table)) {
		free(c);
		return NULL;
	}
	return c;
}

struct pycode *pycode_fork(const struct pycode *parent, uint64_t forked)
{
	struct pycode *c =
		pycode_new(parent->names, &parent->layout, parent->types, parent->runtime);

	if (!c)
		return NULL;
	c->drain = parent->drain; /* what entries count by */
	c->emptied = parent->emptied;
	c->death = parent->drain; /* as in pycode_new() */
	if (forked > FORK_MARGIN_NS &&
	    pycode_table_copy(&c->table, &parent->table, forked - FORK_MARGIN_NS)) {
		pycode_free(c);
		return NULL;
	}
	return c;
}

void pycode_free(struct pycode *c)
{
	if (!c)
		return;
	pycode_table_release(&c->table);
	free(c);
}

const struct pycode_stats *pycode_get_stats(const struct pycode *c)
{
	return &c->stats;
}

static void answer(struct pycode *c, struct pycode_entry *e, struct pycode_query *q)
{
	uint32_t frame;

	if (e->shim) {
		q->ret_named = q->ret_hidden = true;
		return;
	}
	frame = pycode_line_frame(c->names, &c->layout, e, q);
	if (frame == INTERN_NONE)
		return;
	q->ret_frame = frame;
	q->ret_named = true;
}

/* Must more be read of an entry that is proven? */
static bool lacks(const struct pycode *c, const struct pycode_entry *e,
		  const struct pycode_query *q)
{
	if (e->shim)
		return false;
	if (q->id.proof == LAYOUT_PROOF_NAME && c->drain - e->full >= RECHECK)
		return true;
	return q->tlbc && q->tlbc < PYCODE_MAX_TLBC && c->layout.code.tlbc != LAYOUT_NONE &&
	       pycode_line_offset(&c->layout, e, q) < 0;
}

/* From what is known; false: something has to be read. */
static bool answer_at_once(struct pycode *c, struct pycode_query *q)
{
	struct pycode_entry *e;

	q->ret_frame = c->unreadable;
	q->ret_named = q->ret_hidden = false;
	if (!q->code || !pycode_proof_possible(&q->id))
		return true;
	e = pycode_table_find(&c->table, q->code);
	if (!e || !pycode_proof_holds(e, &q->id))
		return false;
	e->used = c->drain;
	if (lacks(c, e, q))
		return false;
	answer(c, e, q);
	c->stats.hits++;
	return true;
}

static struct pycode_fact *fact_of(struct drain *d, raddr_t interp)
{
	for (uint32_t i = 0; i < d->n_facts; i++)
		if (d->facts[i].interp == interp)
			return &d->facts[i];
	if (d->n_facts == ARRAY_SIZE(d->facts))
		return NULL;
	d->facts[d->n_facts] = (struct pycode_fact){.interp = interp};
	return &d->facts[d->n_facts++];
}

/* The latest tick of each interpreter; N and G only rise. */
static void gather_facts(struct drain *d, size_t n)
{
	const struct identity *id;
	struct pycode_fact *f;

	for (size_t i = 0; i < n; i++) {
		id = &d->q[i].id;
		if (id->proof != LAYOUT_PROOF_COUNTER || !pycode_proof_possible(id))
			continue;
		f = fact_of(d, id->interp);
		if (!f || id->version < f->counter)
			continue;
		if (id->version > f->counter)
			f->has_generation = false;
		f->counter = id->version;
		if (id->has_generation && (!f->has_generation || id->generation > f->generation)) {
			f->has_generation = true;
			f->generation = id->generation;
		}
	}
	for (uint32_t i = 0; i < d->n_facts; i++)
		if (d->facts[i].interp && d->facts[i].has_generation)
			d->read.watches[d->read.n_watches++] = (struct pycode_watch){
				.addr = d->facts[i].interp + d->c->layout.interp.generation};
}

static int by_code(const void *a, const void *b)
{
	const struct pycode_query *p = *(struct pycode_query *const *)a;
	const struct pycode_query *q = *(struct pycode_query *const *)b;

	return p->code < q->code ? -1 : p->code > q->code;
}

/* One job for all queries of an address. */
static int make_jobs(struct drain *d)
{
	struct pycode_job *j = NULL;

	qsort(d->pending, d->n_pending, sizeof(struct pycode_query *), by_code);
	d->jobs = calloc(d->n_pending, sizeof(*d->jobs));
	if (!d->jobs)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_pending; i++) {
		const struct pycode_query *q = d->pending[i];
		const struct pycode_entry *e = pycode_table_find(&d->c->table, q->code);

		if (!j || j->addr != q->code) {
			j = &d->jobs[d->n_jobs++];
			*j = (struct pycode_job){.addr = q->code, .first = i};
		}
		j->end = i + 1;
		j->full |=
			e && pycode_proof_holds(
				     e, &q->id); /* not answered all the same: it lacks something */
		if (q->function)
			j->function = q->function;
		if (q->tlbc < PYCODE_MAX_TLBC)
			j->tlbc_max = MAX(j->tlbc_max, q->tlbc);
		if (e && e->n_tlbc)
			j->tlbc_max = MAX(j->tlbc_max, e->n_tlbc - 1);
	}
	return 0;
}

/* The first query that this object may be what it asks for; NULL: none. *ret_died: another one
 * asks for an object that it can't be, which has died then. */
static const struct identity *asker_of(const struct drain *d, const struct pycode_job *j,
				       bool *ret_died)
{
	const struct identity *asker = NULL;
	const struct identity *id;

	*ret_died = false;
	for (size_t i = j->first; i < j->end; i++) {
		id = &d->pending[i]->id;
		if (!pycode_proof_may_be(&d->c->layout, &j->head, id))
			*ret_died = true;
		else if (!asker)
			asker = id;
	}
	return asker;
}

static void retire(struct drain *d, raddr_t addr)
{
	pycode_table_remove(&d->c->table, addr);
	d->c->stats.retired++;
}

static int keep_shim(struct drain *d, const struct pycode_job *j)
{
	struct pycode_entry *e = pycode_table_entry(j->addr, NULL, 0, NULL, 0);

	if (!e)
		return -ENOMEM;
	e->head = j->head;
	e->shim = true;
	e->used = d->c->drain;
	e->seen = clock_mono();
	return pycode_table_put(&d->c->table, e);
}

/* After its head was read: is it known, gone, or to be read? */
static void judge(struct drain *d, struct pycode_job *j)
{
	const struct pycode_entry *e = pycode_table_find(&d->c->table, j->addr);
	bool by_name = d->c->layout.proof == LAYOUT_PROOF_NAME; /* a head alone tells nothing */
	bool known =
		e && !by_name && j->state == PYCODE_HEAD && pycode_read_same(&e->head, &j->head);
	bool asked = false, died = true;

	if (j->state == PYCODE_HEAD)
		asked = asker_of(d, j, &died);
	j->wanted = asked && (!known || j->full);
	if (died || (e && !known))
		d->c->death = d->c->drain;
	if (e && !known && !by_name)
		retire(d, j->addr);
}

/* How many code objects of this interpreter had died when the last of the reads was made. */
static bool deaths_now(const struct drain *d, raddr_t interp, uint64_t *ret)
{
	return pycode_read_watched(&d->read, interp + d->c->layout.interp.generation, ret);
}

/* Has no code object died since the interpreter's latest tick? */
static bool none_died(const struct drain *d, const struct pycode_fact *f)
{
	uint64_t now;

	return f->has_generation && deaths_now(d, f->interp, &now) && now == f->generation;
}

/* Since a tick that asks for this object: has one died, or where that isn't counted, lately? The
 * latest tick won't do: it may be younger than the death of the object that another one asks for.
 */
static bool any_died(const struct drain *d, const struct pycode_job *j)
{
	uint64_t now;

	for (size_t i = j->first; i < j->end; i++) {
		const struct identity *id = &d->pending[i]->id;

		if (!id->has_generation || !deaths_now(d, id->interp, &now))
			return d->c->drain - d->c->death < DEATHS;
		if (now != id->generation)
			return true;
	}
	return false;
}

/* Ticks that prove that this live object was there: the interpreter's latest, or nothing. */
static struct pycode_fact prove(struct drain *d, const struct pycode_job *j)
{
	bool died;
	const struct identity *asker = asker_of(d, j, &died);
	const struct identity *id = asker ? asker : &d->pending[j->first]->id;
	const struct pycode_fact *f = NULL;

	if (id->proof == LAYOUT_PROOF_COUNTER)
		f = fact_of(d, id->interp);
	if (f && ((j->head.version && j->head.version < f->counter) || none_died(d, f)))
		return *f;
	return (struct pycode_fact){.interp = id->interp};
}

/* Could it be an object in the making that looks like another one? */
static bool is_doubtful(const struct drain *d, const struct pycode_job *j)
{
	return d->c->layout.proof != LAYOUT_PROOF_NAME && j->head.single && !j->in_function &&
	       any_died(d, j);
}

static uint32_t intern(struct drain *d, const struct pycode_job *j, enum pycode_which which)
{
	buf_reset(&d->text);
	if (pycode_read_utf8(&d->read, j, which, &d->text) || d->text.failed)
		return INTERN_NONE;
	return names_string(d->c->names, d->text.data ? d->text.data : "", d->text.len);
}

static int keep(struct drain *d, const struct pycode_job *j)
{
	struct pycode *c = d->c;
	uint32_t func, file, len, n_tlbc = 0;
	const void *lines = pycode_read_lines(&d->read, j, &len);
	const raddr_t *tlbc = pycode_read_tlbc(&d->read, j, &n_tlbc);
	struct pycode_entry *e, *old = pycode_table_find(&c->table, j->addr);
	bool same;

	/* the same object has the same names; what was read of them may be a successor's */
	same = old && !old->doubted && c->layout.proof != LAYOUT_PROOF_NAME &&
	       pycode_read_same(&old->head, &j->head);
	func = same ? old->func : intern(d, j, PYCODE_FUNC);
	file = same ? old->file : intern(d, j, PYCODE_FILE);
	if (func == INTERN_NONE || file == INTERN_NONE)
		return d->text.failed ? -ENOMEM : 0; /* characters that no str has: unreadable */
	e = pycode_table_entry(j->addr, lines, len, tlbc, n_tlbc);
	if (!e)
		return -ENOMEM;
	if (old && (old->func != func || old->file != file))
		c->stats.retired++;
	e->head = j->head;
	e->func = func;
	e->file = file;
	e->fact = prove(d, j);
	if (!same && is_doubtful(d, j))
		e->doubted = c->emptied;
	e->used = e->full = c->drain;
	e->seen = clock_mono();
	if (c->layout.proof == LAYOUT_PROOF_NAME) {
		pycode_read_hash(&d->read, j, PYCODE_FUNC, &e->hash[0], &e->mark[0]);
		pycode_read_hash(&d->read, j, PYCODE_FILE, &e->hash[1], &e->mark[1]);
	}
	return pycode_table_put(&c->table, e);
}

/* An entry whose head was read again and is the same. */
static void confirm(struct drain *d, const struct pycode_job *j)
{
	struct pycode_entry *e = pycode_table_find(&d->c->table, j->addr);
	struct pycode_fact f = prove(d, j);

	if (!e || !pycode_read_same(&e->head, &j->head))
		return;
	if (e->doubted && (!j->head.single || d->c->emptied - e->doubted >= UNDOUBT))
		e->doubted = 0;
	if (!f.counter && !f.has_generation)
		return;
	e->fact = f;
	e->seen = clock_mono();
	d->c->stats.revalidated++;
}

/* Strings and tables of those that are wanted. */
static int read_rest(struct drain *d, struct pycode_job *v, size_t n)
{
	int err = 0;

	for (int round = 0; round < ROUNDS; round++) {
		bool again = false, died;

		err = pycode_read_rest(&d->read, v, n);
		if (err)
			return err;
		for (size_t i = 0; i < n && !err; i++) {
			if (v[i].wanted && v[i].state == PYCODE_READ)
				err = keep(d, &v[i]);
			v[i].wanted = v[i].state == PYCODE_MORE ||
				      (v[i].wanted && v[i].state == PYCODE_TORN && round == 0 &&
				       asker_of(d, &v[i], &died));
			again |= v[i].wanted;
		}
		pycode_read_reset(&d->read);
		if (err || !again)
			break;
	}
	return err;
}

static int read_chunk(struct drain *d, struct pycode_job *v, size_t n)
{
	bool any = false;
	int err = pycode_read_heads(&d->read, v, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (v[i].state == PYCODE_HEAD &&
		    pycode_proof_shim(&d->c->layout, d->c->runtime, &v[i].head)) {
			err = keep_shim(d, &v[i]);
			if (err)
				return err;
			continue;
		}
		judge(d, &v[i]);
		if (v[i].state == PYCODE_HEAD && !v[i].wanted)
			confirm(d, &v[i]);
		any |= v[i].wanted;
	}
	return any ? read_rest(d, v, n) : 0;
}

static int read_pending(struct drain *d, struct mem *m, size_t n)
{
	int err = pycode_read_init(&d->read, m, &d->c->layout, d->c->types);

	if (!err)
		err = make_jobs(d);
	if (err)
		return err;
	gather_facts(d, n);
	for (size_t i = 0; i < d->n_jobs && !err; i += CHUNK) {
		err = read_chunk(d, d->jobs + i, MIN(CHUNK, d->n_jobs - i));
		pycode_read_reset(&d->read);
	}
	return err;
}

void pycode_emptied(struct pycode *c)
{
	c->emptied++;
}

int pycode_resolve(struct pycode *c, struct mem *m, struct pycode_query *q, size_t n)
{
	c->drain++;
	return pycode_resolve_early(c, m, q, n);
}

int pycode_resolve_early(struct pycode *c, struct mem *m, struct pycode_query *q, size_t n)
{
	struct drain d = {.c = c, .q = q};
	struct pycode_entry *e;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		if (answer_at_once(c, &q[i]))
			continue;
		if (!d.pending)
			d.pending = malloc(n * sizeof(struct pycode_query *));
		if (d.pending)
			d.pending[d.n_pending++] = &q[i];
		else
			err = -ENOMEM;
	}
	if (d.n_pending)
		err = read_pending(&d, m, n);
	for (size_t i = 0; i < d.n_pending; i++) {
		e = pycode_table_find(&c->table, d.pending[i]->code);
		if (e && pycode_proof_holds(e, &d.pending[i]->id))
			answer(c, e, d.pending[i]);
	}
	for (size_t i = 0; i < n; i++)
		c->stats.unreadable += !q[i].ret_named;
	c->stats.misses += d.n_jobs;
	pycode_read_release(&d.read);
	buf_release(&d.text);
	free(d.jobs);
	free(d.pending);
	return err;
}
