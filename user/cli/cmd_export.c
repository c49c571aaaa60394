/* scry export: a recording in a format of other tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/command.h"
#include "cli/export_options.h"
#include "cli/input.h"
#include "cli/replace.h"

/* Formats that are not text, or are of no use as text, don't go to a terminal. */
struct target {
	const char *format, *output;
	bool terminal;
};

static const struct target targets[] = {
	{"folded", "-", true},
	{"flamegraph", "flamegraph.html", false},
	{"pprof", "profile.pb.gz", false},
};

static const struct target *target_of(const char *format)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (strcmp(targets[i].format, format) == 0)
			return &targets[i];
	return NULL;
}

static enum status find_format(const struct export_options *o, const struct format **ret,
			       struct buf *ret_text)
{
	const struct format *all;
	size_t n;

	*ret = format_find(o->format);
	if (*ret)
		return STATUS_OK;
	buf_printf(ret_text, "-f '%.64s' is not a format:", o->format);
	all = format_all(&n);
	for (size_t i = 0; i < n; i++)
		buf_printf(ret_text, " %s", all[i].name);
	return STATUS_USAGE;
}

static enum status write_profile(struct export_options *o, const struct format *format,
				 const char *output, struct buf *ret_text)
{
	struct profile p;
	struct replace r;
	enum status s = input_read(o->input, &p, ret_text);
	int err;

	if (s != STATUS_OK)
		goto out;
	if (ret_text->len)
		fprintf(stderr, "scry export: %s\n", ret_text->data);
	buf_reset(ret_text);
	s = replace_begin(&r, output, ret_text);
	if (s != STATUS_OK)
		goto out;
	profile_keep_states(&p, o->states);
	o->how.title = p.recording.command;
	err = format->write(r.f, &p, &o->how);
	s = replace_end(&r, err, ret_text);
out:
	profile_release(&p);
	return s;
}

static enum status convert(struct export_options *o, struct buf *ret_text)
{
	const struct format *format;
	const struct target *target;
	const char *output;
	enum status s = find_format(o, &format, ret_text);

	if (s != STATUS_OK)
		return s;
	target = target_of(format->name);
	output = o->output ? o->output : target ? target->output : "-";
	if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO) && (!target || !target->terminal)) {
		buf_printf(ret_text, "%s is not for a terminal: -o FILE, or a pipe", format->name);
		return STATUS_USAGE;
	}
	s = write_profile(o, format, output, ret_text);
	if (s == STATUS_OK && strcmp(output, "-") != 0)
		fprintf(stderr, "[ scry export: wrote %s ]\n", output);
	return s;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct export_options o;
	struct buf text;
	int status;

	export_options_init(&o);
	if (!command_begin(self, argc, argv, &o, &status))
		return status;
	buf_init(&text);
	status = convert(&o, &text);
	if (status != STATUS_OK && text.len)
		fprintf(stderr, "scry export: %s\n", text.data);
	buf_release(&text);
	return status;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "Write a recording as folded stacks, a flame graph or pprof",
	.argp = &export_options_argp,
	.run = run,
};
