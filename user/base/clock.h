/* Clocks, in nanoseconds. */
#ifndef SCRY_BASE_CLOCK_H
#define SCRY_BASE_CLOCK_H

#include "base/compiler.h"

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL

uint64_t clock_mono(void); /* CLOCK_MONOTONIC, what BPF's ktime_get_ns gives */
uint64_t clock_real(void); /* CLOCK_REALTIME */
uint64_t clock_boot(void); /* CLOCK_BOOTTIME, the base of process start times */
/* That moment of CLOCK_BOOTTIME on CLOCK_MONOTONIC. */
uint64_t clock_mono_of_boot(uint64_t boot);
uint64_t clock_idle(void); /* idle time of all CPUs together, to 10 ms; 0: not known */
/* From the ticks in which /proc counts: a process's start, idle time. */
uint64_t clock_of_ticks(uint64_t ticks);
uint64_t clock_cpu_self(void); /* CPU time of this process, all threads */

#endif
