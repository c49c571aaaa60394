/* The constants of scry.data that its writer and its reader share; docs/scry.data.md says what they
 * mean. */
#ifndef SCRY_OUTPUT_CAPTURE_CHUNK_H
#define SCRY_OUTPUT_CAPTURE_CHUNK_H

#include "profile/stats.h"

#define CAPTURE_MAGIC "\x89scry\r\n\x1a"
#define CAPTURE_MAGIC_LEN 8u
#define CAPTURE_VERSION 1u
#define CAPTURE_FILE_HEADER 16u
#define CAPTURE_CHUNK_HEADER 24u
#define CAPTURE_CHECKED_HEADER 16u /* of it, what the checksum covers */

#define CAPTURE_TYPE(a, b, c, d)                                                                   \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum capture_type {
	CAPTURE_HEAD = CAPTURE_TYPE('H', 'E', 'A', 'D'),
	CAPTURE_STRS = CAPTURE_TYPE('S', 'T', 'R', 'S'),
	CAPTURE_FRAM = CAPTURE_TYPE('F', 'R', 'A', 'M'),
	CAPTURE_STAK = CAPTURE_TYPE('S', 'T', 'A', 'K'),
	CAPTURE_PROC = CAPTURE_TYPE('P', 'R', 'O', 'C'),
	CAPTURE_THRD = CAPTURE_TYPE('T', 'H', 'R', 'D'),
	CAPTURE_SMPL = CAPTURE_TYPE('S', 'M', 'P', 'L'),
	CAPTURE_STAT = CAPTURE_TYPE('S', 'T', 'A', 'T'),
	CAPTURE_TIME = CAPTURE_TYPE('T', 'I', 'M', 'E'),
	CAPTURE_DONE = CAPTURE_TYPE('D', 'O', 'N', 'E'),
};

/* Limits: a reader refuses what is past them, so a writer must stay below. */
#define CAPTURE_MAX_CHUNK (16u << 20) /* bytes, stored and expanded */
#define CAPTURE_MAX_RATIO 128u	      /* expanded by stored bytes */
#define CAPTURE_MAX_STRINGS (1u << 26)
#define CAPTURE_MAX_FRAMES (1u << 26)
#define CAPTURE_MAX_STACKS (1u << 28)
#define CAPTURE_MAX_DEPTH (1u << 17) /* frames in a stack */
#define CAPTURE_MAX_PROCESSES (1u << 24)
#define CAPTURE_MAX_THREADS (1u << 26)
#define CAPTURE_MAX_SAMPLES (1u << 28)
#define CAPTURE_MAX_CPUS (1u << 16)
#define CAPTURE_MAX_TIME ((uint64_t)INT64_MAX) /* ns, and the sum of all weights */

#define CAPTURE_FLAG_CLOCK 1u
#define CAPTURE_FLAG_FREQ 2u
#define CAPTURE_FLAG_MODE 12u /* enum recording_mode << CAPTURE_MODE_SHIFT */
#define CAPTURE_MODE_SHIFT 2u

#define CAPTURE_SAMPLE_OUTCOME 0x07u
#define CAPTURE_SAMPLE_MORE 0x08u
#define CAPTURE_SAMPLE_THREAD 0x10u
#define CAPTURE_SAMPLE_CPU 0x20u
#define CAPTURE_SAMPLE_WEIGHT 0x40u
#define CAPTURE_SAMPLE_STATE 0x80u

_Static_assert(OUTCOME_MAX - 1 <= CAPTURE_SAMPLE_OUTCOME, "an outcome takes three bits");
_Static_assert(RECORDING_MODES - 1 <= CAPTURE_FLAG_MODE >> CAPTURE_MODE_SHIFT,
	       "a mode takes two bits");

/* The order of the numbers in DONE, before those by outcome and by state. */
#define CAPTURE_SUMMARY(X)                                                                         \
	X(samples)                                                                                 \
	X(lost)                                                                                    \
	X(other)                                                                                   \
	X(unnamed)                                                                                 \
	X(processes)                                                                               \
	X(threads)                                                                                 \
	X(refused)                                                                                 \
	X(reads)                                                                                   \
	X(read_bytes)                                                                              \
	X(ticks)                                                                                   \
	X(idle)                                                                                    \
	X(cpu_ns)                                                                                  \
	X(bpf_ns)                                                                                  \
	X(peak_rss_bytes)                                                                          \
	X(map_bytes)                                                                               \
	X(duration_ns)                                                                             \
	X(load_ns)                                                                                 \
	X(startup_ns)                                                                              \
	X(rate_asked_mhz)                                                                          \
	X(rate_reached_mhz)

#endif
