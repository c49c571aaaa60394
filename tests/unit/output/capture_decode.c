/* Tests of output/capture_decode.c: content that breaks a rule under a checksum that is right. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/buf.h"
#include "output/capture_chunk.h"
#include "output/capture_decode.h"
#include "tests/support/fakeprofile.h"

/* A profile with 2 strings, 1 frame, 2 stacks, 1 process, 1 thread. */
static void setup(struct profile *p)
{
	uint32_t f;

	fakeprofile_init(p);
	f = fakeprofile_frame(p, "f", "", 1, 1);
	fakeprofile_stack(p, &f, 1);
	cr_assert_eq(profile_add_process(p, &(struct process_info){.pid = 1}), 0);
	cr_assert_eq(profile_add_thread(p, &(struct thread_info){.tid = 1}), 0);
}

static int decode(uint32_t type, const char *content, size_t n)
{
	struct profile p;
	struct capture_decoder d = {.profile = &p};
	int err;

	setup(&p);
	err = capture_decode(&d, type, 1, bytes_of(content, n));
	if (err < 0) {
		cr_assert_eq(p.n_processes, 1);
		cr_assert_eq(p.n_threads, 1);
		cr_assert_eq(p.n_samples, 0);
		cr_assert_eq(p.summary.samples, 0);
		cr_assert_eq(p.end_mono, 0);
		cr_assert_not(p.complete);
		cr_assert_eq(d.weight, 0);
	}
	profile_release(&p);
	return err;
}

#define GOOD(type, s) cr_assert_eq(decode(type, s, sizeof(s) - 1), 0)
#define BAD(type, s) cr_assert_eq(decode(type, s, sizeof(s) - 1), -EBADMSG)

Test(capture_decode, strings)
{
	GOOD(CAPTURE_STRS, "\2\2\1x\2\0y");
	GOOD(CAPTURE_STRS, "\2\0");
	BAD(CAPTURE_STRS, "\2\1\1f");	 /* there already */
	BAD(CAPTURE_STRS, "\2\2\1x\1x"); /* twice */
	BAD(CAPTURE_STRS, "\2\1\0");	 /* the empty one is always there */
	BAD(CAPTURE_STRS, "\1\1\1x");	 /* not the next number */
	BAD(CAPTURE_STRS, "\3\1\1x");
	BAD(CAPTURE_STRS, "\2\1\2x");  /* ends within */
	BAD(CAPTURE_STRS, "\2\1\1xy"); /* something left */
	BAD(CAPTURE_STRS, "\2\2\1x");
	BAD(CAPTURE_STRS, "\2\377\377\377\377\377\377\377\377\377\1x");
	BAD(CAPTURE_STRS, "\2\1\377\377\377\377\377\377\377\377\377\1x");
	BAD(CAPTURE_STRS, "\2\377\377\377\377\377\377\377\377\377\377x");
	BAD(CAPTURE_STRS, "");
}

Test(capture_decode, frames)
{
	GOOD(CAPTURE_FRAM, "\1\1\1\1\0\2\0");
	GOOD(CAPTURE_FRAM, "\1\1\4\1\0\0\0");
	BAD(CAPTURE_FRAM, "\1\1\1\1\0\1\1"); /* there already */
	BAD(CAPTURE_FRAM, "\1\1\0\1\0\2\0"); /* no such kind */
	BAD(CAPTURE_FRAM, "\1\1\5\1\0\2\0");
	BAD(CAPTURE_FRAM, "\1\1\1\2\0\2\0"); /* no such string */
	BAD(CAPTURE_FRAM, "\1\1\1\1\2\2\0");
	BAD(CAPTURE_FRAM, "\1\1\1\1\0\200\200\200\200\20\0"); /* a line of 2^32 */
	BAD(CAPTURE_FRAM, "\1\1\1\1\0\2");
}

Test(capture_decode, stacks)
{
	GOOD(CAPTURE_STAK, "\2\2\1\0\1\0");
	BAD(CAPTURE_STAK, "\2\1\2\0"); /* there already */
	BAD(CAPTURE_STAK, "\2\1\0\0"); /* its own caller */
	BAD(CAPTURE_STAK, "\2\1\3\0");
	BAD(CAPTURE_STAK, "\2\1\1\1"); /* no such frame */
	BAD(CAPTURE_STAK, "\2\2\1\0\1");
}

Test(capture_decode, processes_and_threads)
{
	GOOD(CAPTURE_PROC, "\1\1\7\1\0\0\0\1\0\0\0\0\0");
	BAD(CAPTURE_PROC, "\0\1\7\1\0\0\0\1\0\0\0\0\0");
	BAD(CAPTURE_PROC, "\1\1\7\1\0\0\2\1\0\0\0\0\0"); /* no such string */
	BAD(CAPTURE_PROC, "\1\1\7\1\0\0\0\1\0\0\0\0");
	GOOD(CAPTURE_THRD, "\1\1\0\7\1");
	BAD(CAPTURE_THRD, "\1\1\1\7\1"); /* no such process */
	BAD(CAPTURE_THRD, "\1\1\0\7\2"); /* no such string */
	BAD(CAPTURE_THRD, "\1\2\0\7\1");
}

#define TIME0 "\0\0\0\0\0\0\0\0"

Test(capture_decode, samples)
{
	GOOD(CAPTURE_SMPL, "\0" TIME0);
	GOOD(CAPTURE_SMPL, "\2" TIME0 "\0\2\1\x73\0\1\5\2\1");
	BAD(CAPTURE_SMPL, "\2" TIME0 "\0\2\1\x7\2\2"); /* the second one's stack is unknown */
	BAD(CAPTURE_SMPL, "\1" TIME0 "\x8\2\1");       /* no such outcome */
	GOOD(CAPTURE_SMPL, "\2" TIME0 "\x80\5\2\1\0\2\1");
	GOOD(CAPTURE_SMPL, "\1" TIME0 "\x80\177\2\1"); /* a state of a later scry */
	BAD(CAPTURE_SMPL, "\1" TIME0 "\x80\200\200\200\200\20\2\1");
	BAD(CAPTURE_SMPL, "\1" TIME0 "\x10\1\2\1");	    /* no such thread */
	BAD(CAPTURE_SMPL, "\1" TIME0 "\x20\200\200\4\2\1"); /* CPU 65536 */
	BAD(CAPTURE_SMPL, "\1" TIME0 "\0\1\1");		    /* before time began */
	BAD(CAPTURE_SMPL, "\1\0\0\0\0\0\0\0\x80\0\0\1");
	BAD(CAPTURE_SMPL, "\1" TIME0 "\0\2");
	BAD(CAPTURE_SMPL, "\1" TIME0 "\0\2\1\0\2\1"); /* more than it says */
	/* weights that add up past 2^63 */
	BAD(CAPTURE_SMPL, "\2" TIME0 "\x40\377\377\377\377\377\377\377\377\177\0\1\0\0\1");
}

Test(capture_decode, stats)
{
	GOOD(CAPTURE_STAT, "\0\0\0");
	GOOD(CAPTURE_STAT, "\2\1\2\0\1\1\1\1\1\1\1");
	GOOD(CAPTURE_STAT, "\1\1\2\1\1\1\1\1\1"); /* twice the same: they add up */
	GOOD(CAPTURE_STAT, "\40\0\1\1"		  /* more numbers than there are */
			   "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
			   "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1");
	BAD(CAPTURE_STAT, "\1\1\1\2\1\1"); /* no such process */
	BAD(CAPTURE_STAT, "\1\1\2\1\1\1\1\1");
	BAD(CAPTURE_STAT, "\1\1\1\1\1\1\1"); /* more than it says */
	BAD(CAPTURE_STAT, "\377\377\377\377\377\377\377\377\377\1\1\1\1");
	BAD(CAPTURE_STAT, "\0\0\377\377\377\377\377\377\377\377\377\1\0");
	BAD(CAPTURE_STAT, "");
}

/* What a chunk adds before it turns out to be bad is not there afterwards. */
Test(capture_decode, bad_stats_leave_nothing)
{
	static const char good[] = "\1\0\1\1\7", bad[] = "\1\0\2\1\7\2\7";
	struct profile p;
	struct capture_decoder d = {.profile = &p};

	setup(&p);
	cr_assert_eq(capture_decode(&d, CAPTURE_STAT, 1, bytes_of(bad, sizeof(bad) - 1)), -EBADMSG);
	cr_assert_not(p.has_stats);
	cr_assert_eq(capture_decode(&d, CAPTURE_STAT, 1, bytes_of(good, sizeof(good) - 1)), 0);
	cr_assert_eq(capture_decode(&d, CAPTURE_STAT, 2, bytes_of(bad, sizeof(bad) - 1)), -EBADMSG);
	cr_assert_eq(p.stats[0].v[STAT_TICKS], 7);
	profile_release(&p);
}

Test(capture_decode, clocks_and_the_end)
{
	GOOD(CAPTURE_TIME, TIME0 TIME0);
	BAD(CAPTURE_TIME, TIME0);
	BAD(CAPTURE_TIME, "\0\0\0\0\0\0\0\x80" TIME0);
	GOOD(CAPTURE_DONE, "\0");
	GOOD(CAPTURE_DONE, "\3\1\2\3");
	GOOD(CAPTURE_DONE, "\36\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1");
	BAD(CAPTURE_DONE, "\3\1\2");
	BAD(CAPTURE_DONE, "\1\1\1");
}

Test(capture_decode, chunks_of_the_future_are_skipped_and_a_second_head_is_not)
{
	GOOD(CAPTURE_TYPE('X', 'X', 'X', 'X'), "whatever");
	BAD(CAPTURE_HEAD, "\0\1\1" TIME0 TIME0 "\0\0\0\0\0");
}

Test(capture_decode, the_head)
{
	static const char good[] = "\3\144\2" TIME0 TIME0 "\1h\1k\1s\1e\1c";
	struct profile p;
	struct capture_decoder d = {.profile = &p};
	struct buf b = {0};

	cr_assert_eq(profile_init(&p), 0);
	cr_assert_eq(capture_decode(&d, CAPTURE_STRS, 0, bytes_of("\1\0", 2)), -EBADMSG);
	cr_assert_eq(capture_decode(&d, CAPTURE_HEAD, 0, bytes_of(good, sizeof(good) - 1)), 0);
	cr_assert_str_eq(p.recording.command, "c");
	cr_assert(p.recording.clock && p.recording.freq);
	cr_assert_eq(p.recording.rate, 100);
	cr_assert_eq(p.recording.mode, RECORDING_CPU);
	for (size_t n = 0; n < sizeof(good) - 1; n++)
		cr_assert_eq(capture_decode(&d, CAPTURE_HEAD, 0, bytes_of(good, n)), -EBADMSG);
	cr_assert_str_eq(p.recording.command, "c"); /* as it was */
	/* a host name one byte too long for where it goes */
	buf_put(&b, good, 19);
	buf_uleb(&b, sizeof(p.recording.host));
	for (size_t i = 0; i < sizeof(p.recording.host); i++)
		buf_putc(&b, 'h');
	buf_put(&b, "\0\0\0\0", 4);
	cr_assert_eq(capture_decode(&d, CAPTURE_HEAD, 0, bytes_of(b.data, b.len)), -EBADMSG);
	buf_release(&b);
	profile_release(&p);
}
