/* Tests of cli/screen.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/screen.h"

Test(screen, progress)
{
	struct session_progress p = {3400 * NSEC_PER_MSEC, 680, 1, 0};
	struct buf b;

	buf_init(&b);
	screen_progress(&p, 80, &b);
	cr_expect_str_eq(b.data, "3.4 s  680 samples  1 process  200/s");
	buf_reset(&b);
	p.processes = 12;
	p.lost = 3;
	screen_progress(&p, 80, &b);
	cr_expect_str_eq(b.data, "3.4 s  680 samples  12 processes  200/s  3 lost");
	buf_reset(&b);
	screen_progress(&p, 10, &b);
	cr_expect_str_eq(b.data, "3.4 s  680");
	buf_reset(&b);
	p.elapsed_ns = 0;
	screen_progress(&p, 80, &b);
	cr_expect_str_eq(b.data, "0.0 s  680 samples  12 processes  3 lost");
	buf_release(&b);
}

Test(screen, bytes)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1572864, "1.5 MiB"},
		{UINT64_MAX, "16777216.0 TiB"},
	};
	struct buf b;

	buf_init(&b);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_reset(&b);
		screen_bytes(cases[i].n, &b);
		cr_expect_str_eq(b.data, cases[i].text);
	}
	buf_release(&b);
}

Test(screen, no_terminal)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	setenv("TERM", "xterm", 1);
	cr_expect_not(screen_colors(fds[1], SCREEN_AUTO));
	cr_expect_not(screen_colors(fds[1], SCREEN_NEVER));
	cr_expect(screen_colors(fds[1], SCREEN_ALWAYS));
	cr_expect_eq(screen_columns(fds[1]), 0);
	cr_expect_not(screen_live(fds[1]));
}
