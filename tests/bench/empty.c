/*
 * An empty BPF program on the same events as scry's: what a timer interrupt costs anyone, the zero
 * of `make bench`. empty EVENT HZ SECONDS
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <time.h>
#include "base/num.h"
#include "collect/perf.h"

int main(int argc, char **argv)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K}, /* r0 = 0 */
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct perf_options o = {.event = argc > 1 ? argv[1] : ""};
	struct timespec end;
	struct perf *perf;
	struct buf text;
	uint64_t seconds;

	if (argc != 4 || !perf_known(o.event) || num_u64(argv[2], 1, 1000000, &o.freq) ||
	    num_u64(argv[3], 1, 3600, &seconds)) {
		fprintf(stderr, "usage: empty EVENT HZ SECONDS\n");
		return 64;
	}
	buf_init(&text);
	o.prog_fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "empty", "GPL", nothing, 2, NULL);
	if (o.prog_fd < 0 || perf_open(&perf, &o, &text) || perf_enable(perf)) {
		fprintf(stderr, "empty: %s\n", text.data ? text.data : "the program does not load");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		;
	perf_close(perf);
	return 0;
}
