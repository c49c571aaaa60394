/* scry record: from the command line to a recording, and what is said about it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/plain.h"
#include "cli/command.h"
#include "cli/counters.h"
#include "cli/launch.h"
#include "cli/outfile.h"
#include "cli/record_options.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "output/capture.h"
#include "output/summary.h"

#define STATS_ROWS 30			  /* processes whose counters are shown */
#define PROGRESS_NS (400 * NSEC_PER_MSEC) /* between two progress lines, at least */

struct record {
	struct record_options o;
	struct outfile data, summary;
	struct signals signals;
	struct launch launch; /* pid 0: no command, or it has ended */
	struct sink *sink;
	struct session *session;
	struct buf text;      /* what went wrong, one line */
	struct buf line;      /* the progress line, and scry's command line */
	size_t shown;	      /* characters of a progress line that are on the screen */
	uint64_t progress_at; /* when it was last written */
};

/* --- while it runs --- */

static void clear_progress(struct record *r)
{
	if (r->shown)
		fprintf(stderr, "\r%*s\r", (int)r->shown, "");
	r->shown = 0;
}

static void on_progress(const struct session_progress *p, void *arg)
{
	struct record *r = arg;
	unsigned int columns = screen_columns(STDERR_FILENO);
	uint64_t now = clock_mono();

	if (columns < 2 || !screen_live(STDERR_FILENO) || now - r->progress_at < PROGRESS_NS)
		return;
	r->progress_at = now;
	buf_reset(&r->line);
	screen_progress(p, columns - 1, &r->line);
	if (r->line.failed)
		return;
	/* blanks over what is left of a longer line */
	fprintf(stderr, "\r%s%*s", r->line.data,
		(int)(r->shown > r->line.len ? r->shown - r->line.len : 0), "");
	r->shown = r->line.len;
}

static bool command_ended(void *arg)
{
	struct record *r = arg;

	return r->launch.pid != 0 && launch_ended(&r->launch);
}

/* --- the start --- */

static enum status open_outputs(struct record *r)
{
	enum status s;

	if (strcmp(r->o.output, "-") == 0 && isatty(STDOUT_FILENO)) {
		buf_puts(&r->text, "a recording is not for a terminal: -o FILE, or a pipe");
		return STATUS_USAGE;
	}
	s = outfile_create(&r->data, r->o.output, &r->text);
	if (s == STATUS_OK && r->o.summary)
		s = outfile_create(&r->summary, r->o.summary, &r->text);
	return s;
}

static enum status start_command(struct record *r)
{
	const struct launch_options o = {
		.argv = r->o.command,
		.as_root = r->o.as_root,
		.stdout_taken = strcmp(r->o.output, "-") == 0,
		.mask = &r->signals.old,
		.pipe_action = &r->signals.old_pipe,
		.size_action = &r->signals.old_size,
	};
	enum status s = launch_start(&r->launch, &o, &r->text);

	if (s != STATUS_OK)
		return s;
	r->o.pids[0] = r->launch.pid;
	r->o.session.n_pids = 1;
	r->o.session.launched = r->launch.pid;
	return STATUS_OK;
}

static void command_line(struct record *r, int argc, char **argv)
{
	buf_puts(&r->line, "scry");
	for (int i = 0; i < argc; i++)
		buf_printf(&r->line, " %s", argv[i]);
	r->o.session.command = r->line.failed ? "" : r->line.data;
}

/* In our words, if writing failed: the session knows no file names. A closed pipe needs none. */
static int say_write_error(struct record *r)
{
	uint64_t bytes = 0;
	int err = capture_writer_error(r->sink, &bytes);

	if (!err)
		return 0;
	buf_reset(&r->text);
	if (err == -EPIPE)
		return err;
	buf_printf(&r->text, "can't write %s: %s", outfile_name(r->o.output), strerror(-err));
	if (r->data.created && r->session && bytes)
		buf_printf(&r->text, "; the %llu bytes before that can be reported",
			   (unsigned long long)bytes);
	return err;
}

static enum status start(struct record *r, int argc, char **argv)
{
	enum status s = open_outputs(r);
	int err;

	if (s != STATUS_OK)
		return s;
	signals_block(&r->signals, r->o.command != NULL);
	if (r->o.command)
		s = start_command(r);
	if (s != STATUS_OK)
		return s;
	err = signals_start(&r->signals, r->launch.pid);
	if (err == 0 && !(r->sink = capture_writer_new(r->data.fd)))
		err = -ENOMEM;
	if (err) {
		buf_printf(&r->text, "can't start: %s", strerror(-err));
		return STATUS_INTERNAL;
	}
	r->data.fd = -1; /* the sink's now */
	command_line(r, argc, argv);
	r->o.session.stop = &r->signals.stop;
	s = status_of_session(session_new(&r->o.session, r->sink, &r->session, &r->text));
	if (s == STATUS_NOT_PYTHON && !r->o.session.wait_ns)
		buf_puts(&r->text, " (--wait SECONDS waits until it is)");
	if (s == STATUS_WRITE)
		say_write_error(r);
	if (s == STATUS_OK && r->launch.pid)
		s = launch_go(&r->launch, r->o.command[0], &r->text);
	return s;
}

/* --- the end --- */

static void say_wrote(const struct record *r, const struct summary *sum, uint64_t bytes)
{
	struct buf size;

	buf_init(&size);
	screen_bytes(bytes, &size);
	fprintf(stderr, "[ scry record: wrote %s, %llu sample%s, %s ]\n", outfile_name(r->o.output),
		(unsigned long long)sum->samples, sum->samples == 1 ? "" : "s",
		size.data ? size.data : "");
	buf_release(&size);
	if (!sum->processes)
		fprintf(stderr, "No Python process was seen.\n");
	else if (!sum->samples)
		fprintf(stderr, r->o.session.mode == SESSION_MODE_CPU
					? "No Python ran on a CPU meanwhile.\n"
					: "No thread that was asked for was there.\n");
	else if (strcmp(r->o.output, "scry.data") == 0)
		fprintf(stderr, "Next: scry report\n");
	else if (r->data.created)
		fprintf(stderr, "Next: scry report -i %s\n", r->o.output);
}

static enum status write_summary(struct record *r, const struct summary *sum,
				 const struct stats_table *stats)
{
	FILE *f;
	int err;

	if (!r->o.summary)
		return STATUS_OK;
	f = fdopen(r->summary.fd, "w");
	err = f ? summary_json(f, sum, r->o.session.stats ? stats : NULL) : -errno;
	if (f) {
		r->summary.fd = -1;
		if (fclose(f) && !err)
			err = -errno;
	}
	if (!err)
		return STATUS_OK;
	if (!r->text.len) /* else there is worse to say */
		buf_printf(&r->text, "can't write %s: %s", outfile_name(r->o.summary),
			   strerror(-err));
	return STATUS_WRITE;
}

/* Of a session that has run: what came of it, and how it is told. */
static enum status finish(struct record *r, enum session_error e)
{
	enum status s = status_of_session(e), written;
	struct summary sum = {0};
	struct stats_table stats = {0};
	uint64_t bytes = 0;

	clear_progress(r);
	session_summary(r->session, &sum);
	if (r->o.session.stats && session_stats(r->session, &stats) && s == STATUS_OK) {
		buf_puts(&r->text, "not enough memory");
		s = STATUS_INTERNAL;
	}
	capture_writer_error(r->sink, &bytes);
	if (say_write_error(r))
		s = STATUS_WRITE;
	if (!r->o.quiet && s == STATUS_OK) {
		summary_text(stderr, &sum);
		if (r->o.session.stats)
			counters_print(stderr, &stats, STATS_ROWS);
		say_wrote(r, &sum, bytes);
	}
	written = write_summary(r, &sum, &stats);
	stats_release(&stats);
	return s == STATUS_OK ? written : s;
}

static void print_error(struct record *r)
{
	if (r->text.len) {
		plain_string(r->text.data); /* it may name what a target is called */
		fprintf(stderr, "scry record: %s\n", r->text.data);
	}
}

/* The exit status, once the command (if there is one) has ended too. */
static int end_command(struct record *r, enum status s)
{
	int status;

	if (!r->o.command || s == STATUS_USAGE)
		return s;
	if (!r->launch.pid) /* never ran */
		return s == STATUS_NOT_FOUND || s == STATUS_NOT_RUNNABLE ? s : STATUS_LAUNCH;
	status = launch_wait(&r->launch);
	return s == STATUS_OK ? status : STATUS_LAUNCH;
}

static void say_start(const struct record *r)
{
	double seconds = (double)r->o.session.duration_ns / NSEC_PER_SEC;

	if (r->o.session.no_bpf && !r->o.quiet)
		fputs("Without BPF: stacks of threads that run are unproven, some percent of them "
		      "wrong; processes of less than a second and the rest of the machine are not "
		      "seen.\n",
		      stderr);
	if (r->o.quiet || r->o.command || !screen_live(STDERR_FILENO))
		return;
	fprintf(stderr, "Recording%s", r->o.session.n_pids ? "" : " every Python process");
	if (seconds > 0)
		fprintf(stderr, " for %.10g s", seconds);
	fprintf(stderr, ". Ctrl-C ends it.\n");
}

static int record(struct record *r, int argc, char **argv)
{
	enum status s = start(r, argc, argv);
	bool runs = s == STATUS_OK;

	if (runs) {
		say_start(r);
		s = finish(r, session_run(r->session, &r->signals.stop, command_ended,
					  r->o.quiet || r->o.command ? NULL : on_progress, r,
					  &r->text));
	} else {
		launch_cancel(&r->launch);
	}
	session_free(r->session);
	r->session = NULL;
	if (r->sink)
		capture_writer_free(r->sink);
	if (!runs) {
		outfile_discard(&r->data);
		outfile_discard(&r->summary);
	}
	print_error(r);
	return end_command(r, s);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct record r;
	int status;

	memset(&r, 0, sizeof(r));
	r.data.fd = r.summary.fd = -1;
	r.signals.fd = r.signals.quit = r.signals.pidfd = -1;
	buf_init(&r.text);
	buf_init(&r.line);
	record_options_init(&r.o);
	if (command_begin(self, argc, argv, &r.o, &status)) {
		if (r.o.quiet)
			log_set_level(LOG_QUIET);
		else if (r.o.verbose)
			log_set_level(r.o.verbose > 1 ? LOG_DEBUG : LOG_INFO);
		status = record(&r, argc, argv);
		signals_end(&r.signals);
	}
	outfile_close(&r.data);
	outfile_close(&r.summary);
	buf_release(&r.text);
	buf_release(&r.line);
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "Record every Python process, or some, or a command",
	.argp = &record_options_argp,
	.run = run,
};
