/* Tests of cli/record_options.c. */
#include <criterion/criterion.h>
#include <string.h>
#include "base/clock.h"
#include "cli/record_options.h"

#define MAX_WORDS 30

static char words[4096], text[256];
static char *argv[MAX_WORDS + 1];

static enum options_action run(const char *line, struct record_options *o)
{
	char *save = NULL;
	enum options_action action;
	struct buf b;
	int argc = 0;

	snprintf(words, sizeof(words), "record %s", line);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		cr_assert_lt(argc, MAX_WORDS);
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	buf_init(&b);
	record_options_init(o);
	action = options_parse(&record_options_argp, argc, argv, o, &b);
	snprintf(text, sizeof(text), "%s", b.data ? b.data : "");
	buf_release(&b);
	return action;
}

Test(record_options, defaults)
{
	struct record_options o;

	cr_expect_eq(run("", &o), OPTIONS_RUN);
	cr_expect_str_eq(o.output, "scry.data");
	cr_expect_null(o.summary);
	cr_expect_null(o.command);
	cr_expect_eq(o.session.n_pids, 0);
	cr_expect(o.session.inherit);
	cr_expect(o.session.freq);
	cr_expect_eq(o.session.rate, 99);
	cr_expect_str_eq(o.session.event, "cpu-clock");
	cr_expect_eq(o.session.max_frames, 256);
	cr_expect_eq(o.session.seed, SESSION_SEED_STACK);
	cr_expect_eq(o.session.duration_ns, 0);
	cr_expect_eq(o.session.wait_ns, 0);
}

Test(record_options, no_bpf)
{
	struct record_options o;

	cr_expect_eq(run("--no-bpf", &o), OPTIONS_RUN);
	cr_expect(o.session.no_bpf);
	cr_expect_eq(o.session.mode, SESSION_MODE_CPU);
	cr_expect_eq(run("--no-bpf --mode gil -F 10", &o), OPTIONS_RUN);
	cr_expect_eq(run("--no-bpf -c 1000000", &o), OPTIONS_ERROR);
	cr_expect_eq(run("--no-bpf -e page-faults", &o), OPTIONS_ERROR);
	cr_expect_eq(run("--no-bpf --seed leaf", &o), OPTIONS_ERROR);
	cr_expect_eq(run("", &o), OPTIONS_RUN);
	cr_expect_not(o.session.no_bpf);
}

Test(record_options, everything)
{
	struct record_options o;

	cr_expect_eq(run("-p 12,13 -p 12 -p 14 -F 999 -d 2.5 -o x.data -e cycles --seed stack "
			 "--max-frames 512 --no-inherit --wait 3 --summary s.json --stats -v",
			 &o),
		     OPTIONS_RUN, "%s", text);
	cr_assert_eq(o.session.n_pids, 3);
	cr_expect_eq(o.session.pids[0], 12);
	cr_expect_eq(o.session.pids[1], 13);
	cr_expect_eq(o.session.pids[2], 14);
	cr_expect_eq(o.session.rate, 999);
	cr_expect_eq(o.session.duration_ns, 2500 * NSEC_PER_MSEC);
	cr_expect_eq(o.session.wait_ns, 3 * NSEC_PER_SEC);
	cr_expect_str_eq(o.output, "x.data");
	cr_expect_str_eq(o.summary, "s.json");
	cr_expect_str_eq(o.session.event, "cycles");
	cr_expect_eq(o.session.seed, SESSION_SEED_STACK);
	cr_expect_eq(o.session.max_frames, 512);
	cr_expect_not(o.session.inherit);
	cr_expect_eq(o.verbose, 1);
	cr_expect(o.session.stats);
}

Test(record_options, wall)
{
	struct record_options o;

	cr_expect_eq(run("", &o), OPTIONS_RUN);
	cr_expect_eq(o.session.mode, SESSION_MODE_CPU);
	cr_expect_not(o.session.exclude_idle);
	cr_expect_null(o.session.threads);
	cr_expect_eq(run("--mode wall --exclude-idle --threads ^io-[0-9]+$ -e task-clock", &o),
		     OPTIONS_RUN, "%s", text);
	cr_expect_eq(o.session.mode, SESSION_MODE_WALL);
	cr_expect(o.session.exclude_idle);
	cr_expect_str_eq(o.session.threads, "^io-[0-9]+$");
	cr_expect_eq(run("--mode=gil -F 10", &o), OPTIONS_RUN, "%s", text);
	cr_expect_eq(o.session.mode, SESSION_MODE_GIL);
	cr_expect_eq(run("--mode cpu --threads x -e cycles -c 5", &o), OPTIONS_RUN, "%s", text);
}

Test(record_options, seed)
{
	struct record_options o;

	cr_expect_eq(run("--seed leaf", &o), OPTIONS_RUN);
	cr_expect_eq(o.session.seed, SESSION_SEED_LEAF);
	cr_expect_eq(run("--seed tstate -e cycles", &o), OPTIONS_RUN);
	cr_expect_eq(o.session.seed, SESSION_SEED_TSTATE);
}

Test(record_options, count)
{
	struct record_options o;

	cr_expect_eq(run("-c 3 -e page-faults", &o), OPTIONS_RUN);
	cr_expect_not(o.session.freq);
	cr_expect_eq(o.session.rate, 3);
}

Test(record_options, command)
{
	struct record_options o;

	cr_expect_eq(run("-F 10 --as-root -- prog -p 1 --help -- x", &o), OPTIONS_RUN, "%s", text);
	cr_assert_not_null(o.command);
	cr_expect_str_eq(o.command[0], "prog");
	cr_expect_str_eq(o.command[3], "--help");
	cr_expect_str_eq(o.command[5], "x");
	cr_expect_null(o.command[6]);
	cr_expect(o.as_root);
	cr_expect_eq(o.session.n_pids, 0);
}

Test(record_options, errors)
{
	static const struct {
		const char *line, *text; /* text: what the error begins with */
	} cases[] = {
		{"prog", "what is 'prog'? A command to run comes after --"},
		{"-F 10 prog -- x", "what is 'prog'?"},
		{"--", "-- needs a command"},
		{"-a -p 1", "-a, -p and -- COMMAND exclude"},
		{"-a -- x", "-a, -p and -- COMMAND exclude"},
		{"-p 1 -- x", "-a, -p and -- COMMAND exclude"},
		{"-F 10 -c 10000", "-F and -c exclude"},
		{"-q -v", "-q and -v exclude"},
		{"-F 0", "-F '0' is not a number from 1 to 100000"},
		{"-F 100001", "-F '100001' is not"},
		{"-F -1", "-F '-1' is not"},
		{"-F max", "-F 'max' is not"},
		{"-F 99.5", "-F '99.5' is not"},
		{"-c 0", "-c '0' is not a number from 1 to"},
		{"-c 9999", "-c 9999 is too short for cpu-clock: 10000 to"},
		{"-d 0", "-d '0' is not a number of seconds from 0.001 to 31536000"},
		{"-d -1", "-d '-1' is not"},
		{"-d 1h", "-d '1h' is not"},
		{"-d nan", "-d 'nan' is not"},
		{"-d 31536001", "-d '31536001' is not"},
		{"-d 0.0001", "-d '0.0001' is not"},
		{"-p 0", "-p '0' is not a number from 1 to 4194304"},
		{"-p -1", "-p '-1' is not"},
		{"-p 4194305", "-p '4194305' is not"},
		{"-p python", "-p 'python' is not"},
		{"-p 1,,2", "-p '' is not"},
		{"-p 1,", "-p '' is not"},
		{"-p 1,111111111111111111111111111111111111111111111111", "-p '11111"},
		{"--max-frames 0", "--max-frames '0' is not a number from 1 to 512"},
		{"--max-frames 513", "--max-frames '513' is not"},
		{"--seed tree", "--seed 'tree' is not stack, leaf or tstate"},
		{"--mode fast", "--mode 'fast' is not cpu, wall or gil"},
		{"--mode wall -e cycles", "--mode wall counts time, -e cycles does not"},
		{"--mode gil -e page-faults", "--mode gil counts time, -e page-faults does not"},
		{"--mode wall -c 100000", "--mode wall takes a rate (-F), not -c"},
		{"--mode gil --seed stack", "--seed belongs to --mode cpu"},
		{"--exclude-idle", "--exclude-idle needs --mode wall"},
		{"--exclude-idle --mode gil", "--exclude-idle needs --mode wall"},
		{"--exclude-idle --no-bpf", "--exclude-idle needs --mode wall"},
		{"--no-bpf --seed leaf", "--seed does not go with --no-bpf"},
		{"--no-bpf --max-frames 9", "--max-frames does not go with --no-bpf"},
		{"--no-bpf -c 100000", "--no-bpf takes a rate (-F), not -c"},
		{"--no-bpf -e page-faults", "--no-bpf counts time, -e page-faults does not"},
		{"--seed leaf --max-frames 9", "--max-frames needs --seed stack"},
		{"--threads (", "--threads '(' is not a regular expression: "},
		{"--no-inherit", "--no-inherit needs -p"},
		{"--wait 3", "--wait needs -p"},
		{"--wait x -p 1", "--wait 'x' is not a number of seconds"},
		{"--as-root", "--as-root needs -- COMMAND"},
		{"-o x --summary x", "-o and --summary can't both be 'x'"},
		{"-o - --summary -", "-o and --summary can't both be '-'"},
		{"-o", "option -o needs a value"},
		{"--output=", "-o needs a name"},
		{"--event=", "-e needs a name"},
		{"-e xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		 "-e 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is "
		 "longer than 63"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_options o;

		cr_expect_eq(run(cases[i].line, &o), OPTIONS_ERROR, "%s", cases[i].line);
		cr_expect_eq(strncmp(text, cases[i].text, strlen(cases[i].text)), 0, "%s: %s",
			     cases[i].line, text);
		cr_expect_null(strchr(text, '\n'));
	}
}

Test(record_options, too_many_pids)
{
	static char list[16384];
	char name[] = "record", p[] = "-p";
	char *args[] = {name, p, list, NULL};
	struct record_options o;
	struct buf b;
	size_t len = 0;

	for (int i = 0; i <= SESSION_MAX_PIDS; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d", i ? "," : "",
					i + 100);
	buf_init(&b);
	record_options_init(&o);
	cr_expect_eq(options_parse(&record_options_argp, 3, args, &o, &b), OPTIONS_ERROR);
	cr_expect_str_eq(b.data, "-p takes at most 1024 processes");
	buf_release(&b);
}
