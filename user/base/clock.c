/* Clocks, in nanoseconds. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define USER_HZ 100 /* of /proc, everywhere */

static uint64_t now(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts); /* cannot fail for these clocks */
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t clock_mono(void)
{
	return now(CLOCK_MONOTONIC);
}

uint64_t clock_real(void)
{
	return now(CLOCK_REALTIME);
}

uint64_t clock_boot(void)
{
	return now(CLOCK_BOOTTIME);
}

uint64_t clock_mono_of_boot(uint64_t boot)
{
	return boot - (clock_boot() - clock_mono());
}

uint64_t clock_cpu_self(void)
{
	return now(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_of_ticks(uint64_t ticks)
{
	return ticks * (NSEC_PER_SEC / USER_HZ);
}

uint64_t clock_idle(void)
{
	unsigned long long idle = 0, iowait = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "cpu %*u %*u %*u %llu %llu", &idle, &iowait) != 2)
		idle = iowait = 0;
	fclose(f);
	return clock_of_ticks(idle + iowait);
}
