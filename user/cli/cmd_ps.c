/* scry ps: every CPython process, how it was found, or why it can't be profiled. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/plain.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/status.h"
#include "collect/census.h"
#include "output/jsonw.h"
#include "target/task.h"

#define COMMAND_MAX 4096 /* bytes of a command line that are read */
#define COMMAND_SHOWN 200
#define CONTAINER_SHOWN 12

enum column { PID, USER, VERSION, BUILD, THREADS, CONTAINER, HOW, COLUMNS };

static const char *const titles[COLUMNS] = {"PID",     "USER",	    "VERSION", "BUILD",
					    "THREADS", "CONTAINER", "HOW"};

struct row {
	char cell[COLUMNS][80];
	char container[80]; /* the whole id */
	pid_t pid;
	uid_t uid;
	uint32_t threads;
	bool debug_build, free_threaded;
	const char *reason; /* static text, or NULL */
	char path[256];
	struct buf command;
};

struct ps {
	struct row *row;
	size_t n, cap;
};

struct ps_options {
	bool json;
};

static void user_name(uid_t uid, char *buf, size_t size)
{
	struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "%u", uid);
}

static const char *build_name(const struct census_process *p)
{
	if (p->free_threaded)
		return p->debug_build ? "free-threaded,debug" : "free-threaded";
	return p->debug_build ? "debug" : "release";
}

static void fill_cells(struct row *row, const struct census_process *p)
{
	size_t size = sizeof(row->cell[0]);

	snprintf(row->cell[PID], size, "%d", p->pid);
	user_name(row->uid, row->cell[USER], size);
	snprintf(row->cell[VERSION], size, "%s", *p->version ? p->version : "-");
	snprintf(row->cell[BUILD], size, "%s", p->reason ? "-" : build_name(p));
	snprintf(row->cell[THREADS], size, "%u", row->threads);
	snprintf(row->cell[CONTAINER], size, "%.*s", CONTAINER_SHOWN,
		 *row->container ? row->container : "-");
	snprintf(row->cell[HOW], size, "%s", *p->how ? p->how : "-");
}

static int add(const struct census_process *p, void *arg)
{
	struct ps *ps = arg;
	struct task_stat stat;
	struct row *row;
	int r = task_stat(p->pid, 0, &stat);

	if (r)
		return 0; /* it has ended meanwhile */
	r = vec_reserve(&ps->row, &ps->cap, ps->n + 1, sizeof(*ps->row));
	if (r)
		return r;
	row = &ps->row[ps->n++];
	*row = (struct row){
		.pid = p->pid,
		.threads = stat.threads,
		.debug_build = p->debug_build,
		.free_threaded = p->free_threaded,
		.reason = p->reason,
	};
	if (task_uid(p->pid, &row->uid))
		row->uid = 0;
	if (task_container_of(p->pid, row->container, sizeof(row->container)))
		row->container[0] = 0;
	snprintf(row->path, sizeof(row->path), "%s", p->path);
	buf_init(&row->command);
	task_cmdline(p->pid, COMMAND_MAX, &row->command);
	if (!row->command.len)
		buf_printf(&row->command, "[%s]", stat.comm);
	fill_cells(row, p);
	return 0;
}

/* The start of a text; not in the middle of a character. */
static void print_start(const struct buf *text)
{
	size_t n = MIN(text->len, COMMAND_SHOWN);
	struct buf safe;

	while (n < text->len && n && (text->data[n] & 0xc0) == 0x80)
		n--;
	buf_init(&safe);
	plain_put(&safe, text->data, n);
	printf("%s%s", safe.data ? safe.data : "", n < text->len ? "..." : "");
	buf_release(&safe);
}

static void print_table(const struct ps *ps, bool profilable)
{
	int width[COLUMNS];
	const char *last = profilable ? "COMMAND" : "WHY NOT, COMMAND";

	for (int c = 0; c < COLUMNS; c++) {
		width[c] = (int)strlen(titles[c]);
		for (size_t i = 0; i < ps->n; i++)
			width[c] = MAX(width[c], (int)strlen(ps->row[i].cell[c]));
	}
	for (int c = 0; c < COLUMNS; c++)
		printf(c == PID || c == THREADS ? "%*s " : "%-*s ", width[c], titles[c]);
	printf("%s\n", last);
	for (size_t i = 0; i < ps->n; i++) {
		const struct row *row = &ps->row[i];

		if (!row->reason != profilable)
			continue;
		for (int c = 0; c < COLUMNS; c++) {
			printf(c == PID || c == THREADS ? "%*s " : "%-*s ", width[c], row->cell[c]);
		}
		if (row->reason)
			printf("%s: ", row->reason);
		print_start(&row->command);
		putchar('\n');
	}
}

static void print_tables(const struct ps *ps)
{
	size_t refused = 0;

	for (size_t i = 0; i < ps->n; i++)
		refused += ps->row[i].reason != NULL;
	if (refused < ps->n || !ps->n)
		print_table(ps, true);
	if (refused) {
		printf("%sThese can't be profiled:\n", refused < ps->n ? "\n" : "");
		print_table(ps, false);
	}
}

static void print_text(struct jsonw *j, const char *key, const char *s)
{
	jsonw_str(j, key, s, strlen(s));
}

static void print_json(const struct ps *ps, const struct census_others *others)
{
	struct jsonw j;

	jsonw_init(&j, stdout);
	jsonw_object(&j, NULL);
	jsonw_array(&j, "processes");
	for (size_t i = 0; i < ps->n; i++) {
		const struct row *row = &ps->row[i];

		jsonw_object(&j, NULL);
		jsonw_u64(&j, "pid", (uint64_t)row->pid);
		jsonw_u64(&j, "uid", row->uid);
		print_text(&j, "user", row->cell[USER]);
		print_text(&j, "version",
			   strcmp(row->cell[VERSION], "-") ? row->cell[VERSION] : "");
		jsonw_bool(&j, "debug", row->debug_build);
		jsonw_bool(&j, "free_threaded", row->free_threaded);
		jsonw_u64(&j, "threads", row->threads);
		print_text(&j, "container", row->container);
		print_text(&j, "how", row->cell[HOW]);
		print_text(&j, "path", row->path);
		jsonw_str(&j, "command", row->command.data, row->command.len);
		jsonw_bool(&j, "profilable", !row->reason);
		print_text(&j, "reason", row->reason ? row->reason : "");
		jsonw_end(&j, '}');
	}
	jsonw_end(&j, ']');
	jsonw_u64(&j, "not_python", others->not_python);
	jsonw_u64(&j, "denied", others->denied);
	jsonw_end(&j, '}');
	putchar('\n');
}

static int run(const struct command *self, int argc, char **argv)
{
	struct ps_options options = {0};
	struct census_others others = {0};
	struct ps ps = {0};
	int status, r;

	if (!command_begin(self, argc, argv, &options, &status))
		return status;
	r = census_take(add, &ps, &others);
	if (r) {
		fprintf(stderr, "scry ps: %s\n", strerror(-r));
		status = STATUS_INTERNAL;
		goto out;
	}
	if (options.json)
		print_json(&ps, &others);
	else
		print_tables(&ps);
	if (others.denied)
		fprintf(stderr, "scry ps: %zu process%s could not be looked at%s\n", others.denied,
			others.denied == 1 ? "" : "es", geteuid() ? ": run as root" : "");
	status = STATUS_OK; /* main() says what can't be written */
out:
	for (size_t i = 0; i < ps.n; i++)
		buf_release(&ps.row[i].command);
	free(ps.row);
	return status;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ps_options *o = state->input;

	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return options_error(state, "unexpected argument '%.64s'", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options_of[] = {
	{"json", 'j', NULL, 0, "Print one JSON object instead of a table", 0},
	{0},
};

static const struct argp argp = {
	.options = options_of,
	.parser = parse,
	.doc = "Lists every CPython process of this machine: its version and build, how the "
	       "interpreter was found in it (by symbol, section or memory), or why it can't be "
	       "profiled. Processes that are not CPython are left out.",
};

const struct command cmd_ps = {
	.name = "ps",
	.summary = "List the Python processes of this machine",
	.argp = &argp,
	.run = run,
};
