/* Events are opened on every CPU that is there, and refusals are explained. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/bpf.h"
#include "collect/perf.h"

static struct bpf *loaded(void)
{
	struct bpf_options o = {0};
	struct bpf *b = NULL;
	struct buf err;

	if (geteuid())
		cr_skip_test("needs root");
	buf_init(&err);
	cr_assert_eq(bpf_load(&b, &o, &err), 0, "%s", err.data);
	buf_release(&err);
	return b;
}

static void refuses(const struct perf_options *o, const char *text)
{
	struct perf *perf = NULL;
	struct buf err;

	buf_init(&err);
	cr_assert_lt(perf_open(&perf, o, &err), 0);
	cr_assert_not_null(strstr(err.data, text), "%s", err.data);
	cr_assert_null(strchr(err.data, '\n'));
	cr_assert_null(perf);
	buf_release(&err);
}

Test(perf, refusals_are_explained)
{
	refuses(&(struct perf_options){.event = "cpu-clokc", .freq = 99},
		"unknown event 'cpu-clokc'; known are cpu-clock, ");
	refuses(&(struct perf_options){.event = "cpu-clock", .freq = 1ull << 40},
		"perf_event_max_sample_rate");
}

Test(perf, every_event_opens_or_is_explained)
{
	static const struct {
		const char *name;
		bool clock, hardware;
	} known[] = {
		{"cpu-clock", true, false},
		{"task-clock", true, false},
		{"cycles", false, true},
		{"instructions", false, true},
		{"cache-misses", false, true},
		{"page-faults", false, false},
		{"context-switches", false, false},
	};
	struct bpf *b = loaded();
	struct buf err;

	buf_init(&err);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct perf_options p = {
			.event = known[i].name, .period = 1000000, .prog_fd = bpf_tick_fd(b)};
		struct perf *perf = NULL;

		cr_assert(perf_known(known[i].name));
		cr_assert_eq(perf_is_clock(known[i].name), known[i].clock);
		buf_reset(&err);
		if (perf_open(&perf, &p, &err)) {
			cr_assert_not_null(strstr(err.data, "no hardware counters"), "%s",
					   err.data);
			cr_assert(known[i].hardware, "%s is software", known[i].name);
			continue;
		}
		cr_assert_gt(perf_cpus(perf), 0);
		cr_assert_eq(perf_enable(perf), 0);
		cr_assert_eq(perf_rescan(perf), 0, "no CPU came or went");
		perf_close(perf);
	}
	buf_release(&err);
	bpf_unload(b);
}

static void write_list(const char *path, const char *list)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	cr_assert_geq(fputs(list, f), 0);
	cr_assert_eq(fclose(f), 0);
}

/* CPU 0 never goes; the second one, where there is one, goes and comes. */
Test(perf, follows_the_list_of_cpus)
{
	char path[] = "/tmp/scry-online-XXXXXX";
	int fd = mkstemp(path);
	bool two = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	struct bpf *b = loaded();
	struct perf_options o = {
		.event = "cpu-clock", .freq = 100, .prog_fd = bpf_tick_fd(b), .online = path};
	struct perf *perf = NULL;
	uint64_t asked;
	struct buf err;

	cr_assert_geq(fd, 0);
	buf_init(&err);
	write_list(path, two ? "0-1\n" : "0\n");
	cr_assert_eq(perf_open(&perf, &o, &err), 0, "%s", err.data);
	cr_assert_eq(perf_cpus(perf), 1 + two);
	cr_assert_eq(perf_enable(perf), 0);
	do
		asked = perf_asked(perf);
	while (asked < 10);
	write_list(path, "0\n");
	cr_assert_eq(perf_rescan(perf), two);
	cr_assert_eq(perf_cpus(perf), 1);
	cr_assert_geq(perf_asked(perf), asked, "what a CPU did is not forgotten");
	write_list(path, two ? "0,1\n" : "0\n");
	cr_assert_eq(perf_rescan(perf), two);
	cr_assert_eq(perf_cpus(perf), 1 + two);
	write_list(path, "0-\n");
	cr_assert_lt(perf_rescan(perf), 0);
	write_list(path, "0-99999999\n");
	cr_assert_eq(perf_rescan(perf), -EINVAL);
	cr_assert_eq(perf_disable(perf), 0);
	perf_close(perf);
	buf_release(&err);
	bpf_unload(b);
	close(fd);
	unlink(path);
}
