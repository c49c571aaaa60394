/* Profiles made by hand and at random, and their way through a sink. */
#ifndef SCRY_TESTS_SUPPORT_FAKEPROFILE_H
#define SCRY_TESTS_SUPPORT_FAKEPROFILE_H

#include "profile/profile.h"

/* All of these end the test when something fails. */
void fakeprofile_init(struct profile *p);
uint32_t fakeprofile_string(struct profile *p, const char *s);
uint32_t fakeprofile_frame(struct profile *p, const char *func, const char *file, uint32_t line,
			   uint32_t firstline);
/* Frames root first. */
uint32_t fakeprofile_stack(struct profile *p, const uint32_t *frames, size_t n);
uint32_t fakeprofile_process(struct profile *p, uint32_t pid, const char *comm);
uint32_t fakeprofile_thread(struct profile *p, uint32_t process, uint32_t tid, const char *name);
void fakeprofile_samples(struct profile *p, uint32_t thread, uint32_t stack, enum outcome o,
			 uint64_t weight, size_t n);

/* Two processes, three threads, all outcomes, lines, recursion, markers, names of every kind. */
void fakeprofile_small(struct profile *p);

/* The same with a mode, states, weights that differ, and stats. */
void fakeprofile_wall(struct profile *p);

struct fakeprofile_shape {
	unsigned int seed;
	uint32_t processes, threads, functions, stacks, depth;
	size_t samples;
};

void fakeprofile_random(struct profile *p, const struct fakeprofile_shape *shape);

/* Replays it into a sink, a tick for each half second; 0 or what the sink returned first. */
int fakeprofile_replay(const struct profile *p, struct sink *s, bool end);
/* What is wrong with b, taken as a copy of a; NULL if nothing. */
const char *fakeprofile_differs(const struct profile *a, const struct profile *b);

#endif
