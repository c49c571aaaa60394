/* Tests of output/capture_writer.c, capture_read.c and capture_decode.c: a file there and back, and
 * what becomes of damaged ones. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "output/capture.h"
#include "output/capture_chunk.h"
#include "tests/support/fakeprofile.h"

static int memory_file(void)
{
	int fd = memfd_create("scry.data", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

/* The bytes of a recording of p. */
static struct buf written(const struct profile *p, bool end)
{
	int fd = memory_file(), keep = dup(fd);
	struct sink *s = capture_writer_new(fd);
	struct buf b = {0};
	struct stat st;
	uint64_t bytes;

	cr_assert_eq(fakeprofile_replay(p, s, end), 0);
	cr_assert_eq(capture_writer_error(s, &bytes), 0);
	capture_writer_free(s);
	cr_assert_eq(fstat(keep, &st), 0);
	cr_assert_eq((uint64_t)st.st_size, bytes);
	cr_assert_eq(pread(keep, buf_grow(&b, (size_t)st.st_size), (size_t)st.st_size, 0),
		     (ssize_t)st.st_size);
	close(keep);
	return b;
}

static int read_back(const void *data, size_t n, struct profile *ret, uint64_t *ret_skipped)
{
	int fd = memory_file(), err;

	cr_assert_eq(file_write(fd, data, n), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	err = capture_read(fd, ret, ret_skipped);
	close(fd);
	return err;
}

static void there_and_back(struct profile *p)
{
	struct buf b = written(p, true);
	struct profile q;
	uint64_t skipped = 1;
	const char *what;

	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), 0);
	cr_assert_eq(skipped, 0);
	cr_assert(q.complete);
	what = fakeprofile_differs(p, &q);
	cr_assert_null(what, "%s differs", what);
	profile_release(&q);
	buf_release(&b);
}

Test(capture, a_recording_comes_back_as_it_was)
{
	struct profile p;

	fakeprofile_small(&p);
	there_and_back(&p);
	profile_release(&p);
	fakeprofile_wall(&p);
	there_and_back(&p);
	p.recording.mode = RECORDING_GIL;
	for (size_t i = 0; i < p.n_samples; i += 3)
		p.samples[i].more = i % 2 ? (uint32_t)i : UINT32_MAX;
	there_and_back(&p);
	profile_release(&p);
	fakeprofile_init(&p); /* nothing in it */
	p.complete = true;
	there_and_back(&p);
	profile_release(&p);
}

Test(capture, a_large_recording_comes_back_as_it_was)
{
	struct profile p;

	fakeprofile_random(&p, &(struct fakeprofile_shape){.seed = 1,
							   .processes = 9,
							   .threads = 40,
							   .functions = 30000,
							   .stacks = 50000,
							   .depth = 200,
							   .samples = 400000});
	there_and_back(&p);
	profile_release(&p);
}

Test(capture, extreme_values_come_back)
{
	struct profile p;
	struct sample *s;
	uint32_t f;

	fakeprofile_small(&p);
	f = fakeprofile_frame(&p, "", "", UINT32_MAX, UINT32_MAX);
	fakeprofile_samples(&p, 2, fakeprofile_stack(&p, &f, 1), OUTCOME_EXACT, 1ULL << 61, 2);
	s = &p.samples[p.n_samples - 1];
	s->time = 0; /* before the start, and after a later one */
	p.summary.weights[s->state] -= s->weight;
	s->weight = 0;
	s->cpu = CAPTURE_MAX_CPUS - 1;
	p.processes[1].pid = p.processes[1].uid = UINT32_MAX;
	p.processes[1].start_code = p.processes[1].start_boottime = UINT64_MAX;
	p.summary.read_bytes = UINT64_MAX;
	memset(p.recording.command, 'c', sizeof(p.recording.command) - 1);
	there_and_back(&p);
	profile_release(&p);
}

/* Made when version 1 was, before there were states, modes and stats: what it says must stay
 * readable, and mean the same. */
Test(capture, a_file_of_version_1_is_read_by_every_later_scry)
{
	int fd = open("tests/golden/small.scry.data", O_RDONLY | O_CLOEXEC);
	struct profile p, q;
	uint64_t skipped = 1;
	const char *what;

	fakeprofile_small(&p);
	memset(p.summary.states, 0, sizeof(p.summary.states)); /* it has no sum of states */
	cr_assert_geq(fd, 0);
	cr_assert_eq(capture_read(fd, &q, &skipped), 0);
	cr_assert_eq(skipped, 0);
	what = fakeprofile_differs(&p, &q);
	cr_assert_null(what, "%s differs", what);
	close(fd);
	profile_release(&p);
	profile_release(&q);
}

Test(capture, whatever_was_flushed_survives_the_writer)
{
	struct profile p, q;
	uint64_t skipped;
	struct buf b;

	fakeprofile_small(&p); /* 1.16 s: one flush, at 1 s */
	b = written(&p, false);
	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), 0);
	cr_assert_eq(skipped, 0);
	cr_assert_not(q.complete);
	cr_assert_eq(q.n_samples, 99);
	cr_assert_eq(q.summary.samples, 99);
	cr_assert_eq(q.summary.outcomes[OUTCOME_EXACT], 90);
	cr_assert_eq(q.summary.duration_ns, 1000000000); /* the clock of the flush */
	profile_release(&q);
	profile_release(&p);
	buf_release(&b);
}

Test(capture, a_file_cut_anywhere_is_read_up_to_there)
{
	struct profile p, q;
	struct buf b;
	size_t before = 0;

	fakeprofile_small(&p);
	b = written(&p, true);
	for (size_t n = 0; n < b.len; n++) {
		uint64_t skipped = 0;
		int err = read_back(b.data, n, &q, &skipped);

		if (err < 0) { /* not even the head */
			cr_assert_eq(err, n < CAPTURE_FILE_HEADER ? -ENOMSG : -EBADMSG,
				     "cut at %zu", n);
			cr_assert_eq(before, 0);
			continue;
		}
		cr_assert_not(q.complete);
		cr_assert_geq(q.n_samples, before);
		cr_assert_leq(skipped, n);
		before = q.n_samples;
		profile_release(&q);
	}
	cr_assert_eq(before, p.n_samples);
	profile_release(&p);
	buf_release(&b);
}

Test(capture, a_flipped_bit_is_found)
{
	struct profile p, q;
	struct buf b;

	fakeprofile_small(&p);
	b = written(&p, true);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		uint64_t skipped = 0;
		int err;

		b.data[bit / 8] ^= (char)(1 << bit % 8);
		err = read_back(b.data, b.len, &q, &skipped);
		if (err == 0) {
			cr_assert_not(q.complete, "bit %zu", bit);
			cr_assert_gt(skipped, 0, "bit %zu", bit);
			profile_release(&q);
		} else if (bit < CAPTURE_MAGIC_LEN * 8) {
			cr_assert_eq(err, -ENOMSG);
		} else if (bit < CAPTURE_FILE_HEADER * 8) {
			cr_assert_eq(err, -EPROTONOSUPPORT);
		} else {
			cr_assert_eq(err, -EBADMSG);
		}
		b.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	profile_release(&p);
	buf_release(&b);
}

Test(capture, damage_costs_only_what_comes_behind_it)
{
	struct profile p, q;
	uint64_t skipped;
	struct buf b;

	fakeprofile_random(&p, &(struct fakeprofile_shape){.seed = 2,
							   .processes = 2,
							   .threads = 4,
							   .functions = 9,
							   .stacks = 9,
							   .depth = 5,
							   .samples = 9000});
	b = written(&p, true);
	b.data[b.len / 2] ^= 1;
	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), 0);
	cr_assert_not(q.complete);
	cr_assert_gt(q.n_samples, 3000);
	cr_assert_lt(q.n_samples, 6000);
	cr_assert_geq(skipped, b.len / 2);
	cr_assert_eq(q.samples[q.n_samples - 1].time, p.samples[q.n_samples - 1].time);
	profile_release(&q);
	/* bytes behind the end count as left out */
	b.data[b.len / 2] ^= 1;
	buf_puts(&b, "more");
	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), 0);
	cr_assert(q.complete);
	cr_assert_eq(skipped, 4);
	profile_release(&q);
	profile_release(&p);
	buf_release(&b);
}

Test(capture, foreign_files_are_told_apart)
{
	struct profile q;
	uint64_t skipped;
	struct buf b = {0};

	cr_assert_eq(read_back("", 0, &q, &skipped), -ENOMSG);
	cr_assert_eq(read_back("PERFILE2 and much more that is not ours", 39, &q, &skipped),
		     -ENOMSG);
	buf_put(&b, CAPTURE_MAGIC, CAPTURE_MAGIC_LEN);
	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), -ENOMSG);
	buf_u32(&b, CAPTURE_VERSION + 1);
	buf_u32(&b, 0);
	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), -EPROTONOSUPPORT);
	b.data[8]--;
	cr_assert_eq(read_back(b.data, b.len, &q, &skipped), -EBADMSG);
	cr_assert_eq(capture_read(-1, &q, &skipped), -EBADF);
	buf_release(&b);
}

Test(capture, a_pipe_can_be_read)
{
	struct profile p, q;
	uint64_t skipped;
	struct buf b;
	int fd[2];

	fakeprofile_small(&p);
	b = written(&p, true);
	buf_puts(&b, "tail");
	cr_assert_eq(pipe(fd), 0);
	cr_assert_eq(file_write(fd[1], b.data, b.len), 0); /* smaller than a pipe holds */
	close(fd[1]);
	cr_assert_eq(capture_read(fd[0], &q, &skipped), 0);
	cr_assert_eq(skipped, 4);
	cr_assert_null(fakeprofile_differs(&p, &q));
	close(fd[0]);
	profile_release(&p);
	profile_release(&q);
	buf_release(&b);
}

Test(capture, the_first_write_error_is_kept)
{
	struct profile p;
	struct sink *s;
	uint64_t bytes = 1;
	int fd[2];

	fakeprofile_small(&p);
	s = capture_writer_new(open("/dev/full", O_WRONLY));
	cr_assert_eq(fakeprofile_replay(&p, s, true), -ENOSPC);
	cr_assert_eq(capture_writer_error(s, &bytes), -ENOSPC);
	cr_assert_eq(bytes, 0);
	cr_assert_eq(s->ops->end(s, &p.summary), -ENOSPC);
	capture_writer_free(s);

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(fd), 0);
	close(fd[0]);
	s = capture_writer_new(fd[1]);
	cr_assert_eq(fakeprofile_replay(&p, s, true), -EPIPE);
	capture_writer_free(s);
	capture_writer_free(NULL);
	profile_release(&p);
}

Test(capture, a_disk_that_fills_up_leaves_a_readable_file)
{
	struct profile p, q;
	uint64_t skipped, bytes;
	struct sink *s;
	int fd = memory_file(), keep = dup(fd);
	off_t full;

	fakeprofile_random(&p, &(struct fakeprofile_shape){.seed = 3,
							   .processes = 2,
							   .threads = 4,
							   .functions = 50,
							   .stacks = 100,
							   .depth = 30,
							   .samples = 1000});
	s = capture_writer_new(fd);
	cr_assert_eq(s->ops->begin(s, &p.recording), 0);
	for (size_t i = 0; i < p.n_processes; i++)
		cr_assert_eq(s->ops->process(s, p.names, &p.processes[i]), 0);
	for (size_t i = 0; i < p.n_threads; i++)
		cr_assert_eq(s->ops->thread(s, p.names, &p.threads[i]), 0);
	for (size_t i = 0; i < 500; i++)
		cr_assert_eq(s->ops->sample(s, p.names, &p.samples[i]), 0);
	cr_assert_eq(s->ops->tick(s, p.samples[499].time, 1), 0);
	/* no byte more than this from now on; the signal of that limit is ignored */
	full = lseek(keep, 0, SEEK_CUR) + 10;
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)full, (rlim_t)full}), 0);
	cr_assert_eq(s->ops->sample(s, p.names, &p.samples[500]), 0);
	cr_assert_eq(s->ops->tick(s, p.samples[999].time, 2), -EFBIG);
	cr_assert_eq(s->ops->sample(s, p.names, &p.samples[501]), -EFBIG);
	cr_assert_eq(s->ops->end(s, NULL), -EFBIG);
	cr_assert_eq(capture_writer_error(s, &bytes), -EFBIG);
	cr_assert_eq(bytes, (uint64_t)full - 10);
	capture_writer_free(s);
	cr_assert_eq(lseek(keep, 0, SEEK_SET), 0);
	cr_assert_eq(capture_read(keep, &q, &skipped), 0);
	cr_assert_eq(q.n_samples, 500);
	cr_assert_eq(skipped, 10);
	close(keep);
	profile_release(&q);
	profile_release(&p);
}

Test(capture, a_writer_refuses_what_it_could_not_read_back)
{
	struct profile p;
	struct sample v;
	struct sink *s = capture_writer_new(memory_file());

	fakeprofile_small(&p);
	cr_assert_eq(s->ops->begin(s, &p.recording), 0);
	cr_assert_eq(s->ops->process(s, p.names, &p.processes[1]), -EINVAL);
	cr_assert_eq(s->ops->process(s, p.names, &p.processes[0]), 0);
	cr_assert_eq(s->ops->thread(s, p.names, &p.threads[1]), -EINVAL);
	cr_assert_eq(s->ops->thread(s, p.names, &p.threads[0]), 0);
	v = p.samples[0];
	v.thread = 1;
	cr_assert_eq(s->ops->sample(s, p.names, &v), -EINVAL);
	v = p.samples[0];
	v.process = 1;
	cr_assert_eq(s->ops->sample(s, p.names, &v), -EINVAL);
	v = p.samples[0];
	v.state = RUN_MAX;
	cr_assert_eq(s->ops->sample(s, p.names, &v), -EINVAL);
	cr_assert_eq(s->ops->stats(s, 1, &(struct stats){0}), -EINVAL);
	v = p.samples[0];
	v.stack = names_stacks(p.names);
	cr_assert_eq(s->ops->sample(s, p.names, &v), -EINVAL);
	cr_assert_eq(s->ops->sample(s, p.names, &p.samples[0]), 0);
	capture_writer_free(s);
	profile_release(&p);
}
