/*
 * The GIL's words as a witness, on live interpreters: of stacks that it proves none is impossible,
 * while two threads alternate between hot_a → leaf_a and hot_b → leaf_b
 * (tests/tools/flip-truth.py).
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "python/reader.h"
#include "remote/procmem.h"
#include "tests/support/interpreters.h"

#define PROVEN 2000 /* stacks inside of a chain that are to be proven */
#define LIMIT_NS (15 * NSEC_PER_SEC)
#define SITES 8

enum role { LEAF_A, LEAF_B, HOT_A, HOT_B, FLIP, ROLES };

static const char *const roles[ROLES] = {"leaf_a", "leaf_b", "hot_a", "hot_b", "flip"};

struct target {
	const char *name;
	pid_t pid;
	struct mem *mem;
	struct discover_found found;
	struct reader *reader;
	raddr_t code[ROLES];
	uint64_t sites[2][SITES]; /* where flip() stands while it calls hot_a, hot_b */
	size_t n_sites[2];
	unsigned long proven, inside, doubtful, doubtful_impossible;
};

static enum role role_of(const struct target *t, const struct walk_frame *f)
{
	for (unsigned int r = 0; r < ROLES; r++)
		if (f->code == t->code[r])
			return (enum role)r;
	return ROLES;
}

static bool known_site(const struct target *t, size_t which, uint64_t instr)
{
	for (size_t i = 0; i < t->n_sites[which]; i++)
		if (t->sites[which][i] == instr)
			return true;
	return false;
}

/* Frames from the leaf to flip(); whether such a stack can be. */
static bool is_possible(struct target *t, const struct walk_frame *f, size_t flip, bool learn)
{
	size_t b = flip && role_of(t, &f[flip - 1]) == HOT_B;

	if (!flip)
		return true;
	if (flip > 2 || role_of(t, &f[flip - 1]) != (b ? HOT_B : HOT_A))
		return false;
	if (flip == 2 && role_of(t, &f[0]) != (b ? LEAF_B : LEAF_A))
		return false;
	/* the caller stands at one call or the other */
	if (known_site(t, !b, f[flip].instr))
		return false;
	if (learn && !known_site(t, b, f[flip].instr) && t->n_sites[b] < SITES)
		t->sites[b][t->n_sites[b]++] = f[flip].instr;
	return true;
}

static void check_stack(struct target *t, const struct reader_thread *a)
{
	const struct walk_frame *f = reader_frames(t->reader) + a->first;
	size_t flip = 0;

	while (flip < a->n && role_of(t, &f[flip]) != FLIP)
		flip++;
	if (flip == a->n)
		return; /* the thread that started them */
	if (!a->still) {
		t->doubtful++;
		t->doubtful_impossible += !is_possible(t, f, flip, false);
		return;
	}
	cr_assert(is_possible(t, f, flip, true), "%s: of %lu that were proven", t->name, t->proven);
	t->proven++;
	t->inside += flip != 0;
}

static void read_stacks(struct target *t)
{
	uint64_t end = clock_mono() + LIMIT_NS;
	const struct thread_state *v;
	struct reader_thread a[8];
	size_t n;

	cr_assert_eq(reader_list(t->reader, &v, &n), 0);
	cr_assert_eq(n, 3, "%s: %zu threads", t->name, n);
	for (size_t i = 0; i < n; i++)
		a[i] = (struct reader_thread){.thread_ptr = v[i].thread_id};
	while (t->inside < PROVEN && clock_mono() < end) {
		cr_assert_eq(reader_read(t->reader, a, n), 0);
		for (size_t i = 0; i < n; i++)
			if (a[i].status == READER_STACK)
				check_stack(t, &a[i]);
	}
}

static void listen(struct target *t, FILE *output)
{
	char line[128], *value;

	while (fgets(line, sizeof(line), output) && strcmp(line, "end\n") != 0) {
		value = strchr(line, ' ');
		cr_assert_not_null(value);
		*value++ = '\0';
		if (strcmp(line, "pid") == 0)
			t->pid = (pid_t)strtol(value, NULL, 10);
		for (size_t r = 0; r < ROLES; r++)
			if (strcmp(line, roles[r]) == 0)
				t->code[r] = strtoull(value, NULL, 10);
	}
}

static void check_interpreter(const char *name, unsigned int minor, FILE *output)
{
	struct target t = {.name = name};
	struct discover *d = discover_new();

	listen(&t, output);
	cr_assert_gt(t.pid, 0, "%s", name);
	cr_assert_eq(procmem_new(t.pid, &t.mem), 0);
	cr_assert_eq(discover_process(d, t.pid, t.mem, &t.found), DISCOVER_OK);
	cr_assert_eq(t.found.minor, minor);
	t.reader = reader_new(&t.found, t.mem);
	read_stacks(&t);
	kill(t.pid, SIGKILL);
	cr_assert_geq(t.inside, PROVEN, "%s: %lu proven, %lu inside of a chain", name, t.proven,
		      t.inside);
	cr_log_info("%s: %lu proven, 0 impossible; %lu of %lu others", name, t.proven,
		    t.doubtful_impossible, t.doubtful);
	reader_free(t.reader);
	mem_free(t.mem);
	discover_free(d);
}

Test(reader_live, no_stack_that_the_gil_proves_is_impossible, .timeout = 300)
{
	interpreters_run("tests/tools/flip-truth.py", "", check_interpreter);
}
