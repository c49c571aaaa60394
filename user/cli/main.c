/* scry: the table of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/command.h"
#include "cli/status.h"

/* in the order in which a newcomer meets them */
static const struct command *const commands[] = {
	&cmd_record, &cmd_report, &cmd_export, &cmd_dump, &cmd_ps, &cmd_doctor, NULL,
};

static const char intro[] =
	"scry shows where the time of every Python process on this machine goes, from\n"
	"outside: no restart, nothing added to the programs, nothing stopped or changed.\n";

static const char start[] =
	"To start, as root:\n"
	"  scry record -d 10               record the whole machine for ten seconds\n"
	"  scry report                     what took the time\n"
	"  scry export -f flamegraph       the same as a picture: flamegraph.html\n"
	"  scry record -- python3 prog.py  run and record one program\n";

static void print_overview(FILE *f)
{
	fprintf(f, "%s\nUsage: scry COMMAND [OPTION...]\n\n", intro);
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "  %-8s  %s\n", commands[i]->name, commands[i]->summary);
	fprintf(f, "  %-8s  %s\n\n%s\n", "help", "Explain a command: scry help record", start);
	fprintf(f, "scry -V prints the version. man scry has everything.\n");
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* The one command that begins with name, for the hint; NULL when none or several do. */
static const struct command *guess(const char *name)
{
	const struct command *found = NULL;

	for (size_t i = 0; commands[i]; i++) {
		if (!*name || strncmp(commands[i]->name, name, strlen(name)) != 0)
			continue;
		if (found)
			return NULL;
		found = commands[i];
	}
	return found;
}

static int unknown(const char *name)
{
	const struct command *c = guess(name);

	if (c)
		fprintf(stderr, "scry: no command '%s'; did you mean scry %s?\n", name, c->name);
	else
		fprintf(stderr, "scry: no command '%s' (scry help lists them)\n", name);
	return STATUS_USAGE;
}

static bool is_help(const char *word)
{
	return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help(int argc, char **argv)
{
	const struct command *c;
	char option[] = "--help";
	char *args[] = {NULL, option, NULL};

	if (argc < 2 || is_help(argv[1])) {
		print_overview(stdout);
		return STATUS_OK;
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	args[0] = argv[1];
	return c->run(c, 2, args);
}

/*
 * A standard descriptor that is closed would become that of the next file opened, and messages
 * would end up in it: in its place goes one that fails when it is used.
 */
static void fill_standard_descriptors(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
	int fd = 0;

	while (fd <= STDERR_FILENO &&
	       (fcntl(fd, F_GETFD) >= 0 || errno != EBADF || open("/dev/null", modes[fd]) == fd))
		fd++;
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *c;

	if (argc < 2) {
		print_overview(stderr);
		return STATUS_USAGE;
	}
	if (is_help(name))
		return help(argc - 1, argv + 1);
	if (strcmp(name, "-V") == 0 || strcmp(name, "--version") == 0) {
		printf("scry %s\n", SCRY_VERSION);
		return STATUS_OK;
	}
	c = find(name);
	return c ? c->run(c, argc - 1, argv + 1) : unknown(name);
}

int main(int argc, char **argv)
{
	int status;

	fill_standard_descriptors();
	status = run(argc, argv);
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (status == STATUS_OK && errno != EPIPE)
		fprintf(stderr, "scry: can't write standard output: %s\n",
			strerror(errno ? errno : EIO));
	return status == STATUS_OK ? STATUS_WRITE : status;
}
