/* What depends on the terminal: colours, its width, the progress line. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/screen.h"

#define COLUMNS_UNKNOWN 80 /* a terminal that does not say */

bool screen_colors(int fd, enum screen_color when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when != SCREEN_AUTO)
		return when == SCREEN_ALWAYS;
	if ((no && *no) || !term || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fd);
}

unsigned int screen_columns(int fd)
{
	struct winsize w;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
		return COLUMNS_UNKNOWN;
	return w.ws_col;
}

bool screen_live(int fd)
{
	return isatty(fd) && tcgetpgrp(fd) == getpgrp();
}

void screen_progress(const struct session_progress *p, unsigned int columns, struct buf *ret)
{
	double seconds = (double)p->elapsed_ns / NSEC_PER_SEC;
	size_t start = ret->len;

	buf_printf(ret, "%.1f s  %llu samples  %llu process%s", seconds,
		   (unsigned long long)p->samples, (unsigned long long)p->processes,
		   p->processes == 1 ? "" : "es");
	if (p->elapsed_ns)
		buf_printf(ret, "  %.0f/s", (double)p->samples / seconds);
	if (p->lost)
		buf_printf(ret, "  %llu lost", (unsigned long long)p->lost);
	if (!ret->failed && ret->len - start > columns) {
		ret->len = start + columns;
		ret->data[ret->len] = '\0';
	}
}

void screen_bytes(uint64_t n, struct buf *ret)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double v = (double)n;
	size_t i = 0;

	for (; v >= 1024 && i + 1 < ARRAY_SIZE(units); i++)
		v /= 1024;
	buf_printf(ret, i ? "%.1f %s" : "%.0f %s", v, units[i]);
}
