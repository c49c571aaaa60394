/* scry report: a recording as a table. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/command.h"
#include "cli/counters.h"
#include "cli/input.h"
#include "cli/report_options.h"
#include "cli/table.h"

static int print_rows(const struct report_options *o, const struct profile *p)
{
	const struct table_options t = {
		.by = o->by,
		.by_total = o->by_total,
		.color = screen_colors(STDOUT_FILENO, o->color),
		.rows = o->rows,
		.columns = screen_columns(STDOUT_FILENO),
	};
	struct aggregate a = {0};
	int err = aggregate_rows(p, o->by, o->by_total, &a);

	if (err)
		return err;
	table_header(stdout, p);
	table_rows(stdout, p, &a, &t);
	aggregate_release(&a);
	return 0;
}

static int print_stats(const struct report_options *o, const struct profile *p)
{
	struct stats_table t;
	int err = profile_stats(p, &t);

	if (err)
		return err;
	table_header(stdout, p);
	if (p->has_stats)
		counters_print(stdout, &t, o->rows);
	else
		printf("# nothing was counted: it was recorded without --stats\n");
	stats_release(&t);
	return 0;
}

static enum status print(const struct report_options *o, const struct profile *p,
			 struct buf *ret_text)
{
	if (o->stats ? print_stats(o, p) : print_rows(o, p)) {
		buf_puts(ret_text, "not enough memory");
		return STATUS_INTERNAL;
	}
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return STATUS_OK;
	/* whoever closes a pipe knows that it did */
	if (errno != EPIPE)
		buf_printf(ret_text, "can't write standard output: %s",
			   strerror(errno ? errno : EIO));
	return STATUS_WRITE;
}

static void say(const struct buf *text)
{
	if (text->len)
		fprintf(stderr, "scry report: %s\n", text->data);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct report_options o;
	struct profile p;
	struct buf text;
	int status;

	report_options_init(&o);
	if (!command_begin(self, argc, argv, &o, &status))
		return status;
	buf_init(&text);
	status = input_read(o.input, &p, &text);
	if (status == STATUS_OK) {
		say(&text);
		buf_reset(&text);
		status = print(&o, &p, &text);
	}
	say(&text);
	profile_release(&p);
	buf_release(&text);
	return status;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "Print what took the time of a recording",
	.argp = &report_options_argp,
	.run = run,
};
