/*
 * Write a recording of a made-up profile: what tests of the exports read, and what measures the
 *format.
 *
 *	fake-recording small|wall FILE
 *	fake-recording random FILE SEED PROCESSES THREADS FUNCTIONS STACKS DEPTH SAMPLES
 *
 * Prints what it took as one JSON object.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "output/capture.h"
#include "tests/support/fakeprofile.h"

#define N_SHAPE 7

static void fail(const char *what)
{
	fprintf(stderr, "fake-recording: %s\n", what);
	exit(1);
}

static void parse_shape(char **argv, struct fakeprofile_shape *ret)
{
	uint64_t v[N_SHAPE];

	for (size_t i = 0; i < N_SHAPE; i++) {
		if (num_u64(argv[i], 1, 100000000, &v[i]) < 0)
			fail(argv[i]);
	}
	*ret = (struct fakeprofile_shape){
		.seed = (unsigned int)v[0],
		.processes = (uint32_t)v[1],
		.threads = (uint32_t)v[2],
		.functions = (uint32_t)v[3],
		.stacks = (uint32_t)v[4],
		.depth = (uint32_t)v[5],
		.samples = (size_t)v[6],
	};
}

int main(int argc, char **argv)
{
	struct fakeprofile_shape shape;
	struct profile p, q;
	struct sink *s;
	uint64_t start, wrote, loaded, bytes, skipped;
	int fd;

	if (argc == 3 && strcmp(argv[1], "small") == 0) {
		fakeprofile_small(&p);
	} else if (argc == 3 && strcmp(argv[1], "wall") == 0) {
		fakeprofile_wall(&p);
	} else if (argc == 3 + N_SHAPE && strcmp(argv[1], "random") == 0) {
		parse_shape(argv + 3, &shape);
		fakeprofile_random(&p, &shape);
	} else {
		fail("small FILE, wall FILE, or random FILE SEED PROCESSES THREADS FUNCTIONS "
		     "STACKS DEPTH SAMPLES");
	}
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		fail("can't write there");
	s = capture_writer_new(fd);
	start = clock_cpu_self();
	if (!s || fakeprofile_replay(&p, s, true) < 0)
		fail("can't write");
	wrote = clock_cpu_self() - start;
	capture_writer_error(s, &bytes);
	capture_writer_free(s);
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	start = clock_cpu_self();
	if (fd < 0 || capture_read(fd, &q, &skipped) < 0 || skipped)
		fail("can't read it back");
	loaded = clock_cpu_self() - start;
	close(fd);
	if (fakeprofile_differs(&p, &q))
		fail(fakeprofile_differs(&p, &q));
	printf("{\"samples\": %zu, \"bytes\": %llu, \"write_cpu_ns\": %llu, \"read_cpu_ns\": "
	       "%llu}\n",
	       p.n_samples, (unsigned long long)bytes, (unsigned long long)wrote,
	       (unsigned long long)loaded);
	profile_release(&p);
	profile_release(&q);
	return 0;
}
