/* Profiles made by hand and at random. */
#include "tests/support/fakeprofile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START 1000000000000ULL

static void must(int ok)
{
	if (!ok)
		abort();
}

void fakeprofile_init(struct profile *p)
{
	struct recording *r = &p->recording;

	must(profile_init(p) == 0);
	snprintf(r->host, sizeof(r->host), "box");
	snprintf(r->kernel, sizeof(r->kernel), "Linux 6.1.0");
	snprintf(r->scry, sizeof(r->scry), "0.1.0");
	snprintf(r->event, sizeof(r->event), "cpu-clock");
	snprintf(r->command, sizeof(r->command), "scry record -F 100");
	r->clock = r->freq = true;
	r->rate = 100;
	r->cpus = 2;
	r->start_mono = START;
	r->start_real = 1700000000ULL * 1000000000ULL;
}

uint32_t fakeprofile_string(struct profile *p, const char *s)
{
	uint32_t id = names_string(p->names, s, strlen(s));

	must(id != INTERN_NONE);
	return id;
}

uint32_t fakeprofile_frame(struct profile *p, const char *func, const char *file, uint32_t line,
			   uint32_t firstline)
{
	struct frame f = {FRAME_PYTHON, fakeprofile_string(p, func), fakeprofile_string(p, file),
			  line, firstline};
	uint32_t id = names_frame(p->names, &f);

	must(id != INTERN_NONE);
	return id;
}

uint32_t fakeprofile_stack(struct profile *p, const uint32_t *frames, size_t n)
{
	uint32_t id = STACK_EMPTY;

	for (size_t i = 0; i < n; i++)
		id = names_stack(p->names, id, frames[i]);
	must(id != INTERN_NONE);
	return id;
}

uint32_t fakeprofile_process(struct profile *p, uint32_t pid, const char *comm)
{
	struct process_info v = {
		.id = (uint32_t)p->n_processes, .pid = pid, .ppid = 1, .uid = 1000};

	v.start_boottime = 5000000000ULL + pid;
	v.comm = fakeprofile_string(p, comm);
	v.cmdline = fakeprofile_string(p, "python3 app.py");
	v.python = fakeprofile_string(p, "3.13.5");
	v.exe = fakeprofile_string(p, "/usr/bin/python3.13");
	v.start_code = 0x555555554000ULL + pid;
	v.start_stack = 0x7ffffffde000ULL + pid;
	must(profile_add_process(p, &v) == 0);
	return v.id;
}

uint32_t fakeprofile_thread(struct profile *p, uint32_t process, uint32_t tid, const char *name)
{
	struct thread_info v = {
		.id = (uint32_t)p->n_threads,
		.process = process,
		.tid = tid,
		.name = fakeprofile_string(p, name),
	};

	must(profile_add_thread(p, &v) == 0);
	return v.id;
}

void fakeprofile_samples(struct profile *p, uint32_t thread, uint32_t stack, enum outcome o,
			 uint64_t weight, size_t n)
{
	while (n--) {
		struct sample v = {.time = START + (p->n_samples + 1) * 10000000ULL,
				   .weight = weight,
				   .process = p->threads[thread].process,
				   .thread = thread,
				   .cpu = (uint32_t)(p->n_samples % 2),
				   .stack = stack,
				   .outcome = o};

		must(profile_add_sample(p, &v) == 0);
	}
}

static uint32_t marker_stack(struct profile *p, const char *text)
{
	return names_stack(p->names, STACK_EMPTY, names_marker(p->names, text));
}

void fakeprofile_small(struct profile *p)
{
	uint32_t app, tool, main_thread, worker, odd, f[8];
	const uint64_t w = 10000000;

	fakeprofile_init(p);
	app = fakeprofile_process(p, 4711, "python3");
	tool = fakeprofile_process(p, 4712, "od;d\n</script>");
	main_thread = fakeprofile_thread(p, app, 4711, "MainThread");
	worker = fakeprofile_thread(p, app, 4713, "Worker \xc3\xa9\\1");
	odd = fakeprofile_thread(p, tool, 4712, "\x1b[31mred\xff");

	f[0] = fakeprofile_frame(p, "<module>", "/srv/app.py", 40, 1);
	f[1] = fakeprofile_frame(p, "main", "/srv/app.py", 12, 10);
	f[2] = fakeprofile_frame(p, "Work.step", "/srv/lib/work.py", 5, 3);
	f[3] = fakeprofile_frame(p, "Work.step", "/srv/lib/work.py", 6, 3);
	fakeprofile_samples(p, main_thread, fakeprofile_stack(p, f, 3), OUTCOME_EXACT, w, 60);
	f[2] = f[3];
	fakeprofile_samples(p, main_thread, fakeprofile_stack(p, f, 3), OUTCOME_EXACT, w, 25);
	fakeprofile_samples(p, main_thread, fakeprofile_stack(p, f, 2), OUTCOME_EXACT, w, 5);
	f[0] = fakeprofile_frame(p, "fib", "/srv/lib/fib.py", 0, 2);
	f[1] = f[2] = f[0];
	fakeprofile_samples(p, worker, fakeprofile_stack(p, f, 3), OUTCOME_JOINED, w, 7);
	fakeprofile_samples(p, worker, fakeprofile_stack(p, f, 2), OUTCOME_READ, w, 3);
	f[0] = names_marker(p->names, "[truncated]");
	fakeprofile_samples(p, worker, fakeprofile_stack(p, f, 2), OUTCOME_CUT, w, 2);
	f[0] = fakeprofile_frame(p, "evil;\n\x1b]0;x\x07</script>\xe2\x80\xa8\xc2\x9b\\",
				 "<string \"&'>", 3, 0);
	f[1] = names_marker(p->names, "[unreadable]");
	fakeprofile_samples(p, odd, fakeprofile_stack(p, f, 1), OUTCOME_UNPROVEN, w, 4);
	fakeprofile_samples(p, odd, fakeprofile_stack(p, f, 2), OUTCOME_EXACT, w, 6);
	fakeprofile_samples(p, odd, marker_stack(p, "[gone]"), OUTCOME_GONE, w, 1);
	fakeprofile_samples(p, odd, marker_stack(p, "[native]"), OUTCOME_NATIVE, w, 2);
	fakeprofile_samples(p, worker, marker_stack(p, "[missed]"), OUTCOME_MISSED, w, 1);
	p->complete = true;
	p->summary.lost = 3;
	p->summary.other = 284;
	p->summary.ticks = 403;
	p->summary.cpu_ns = 12000000;
	p->summary.bpf_ns = 400000;
	p->summary.peak_rss_bytes = 9 << 20;
	p->summary.map_bytes = 2 << 20;
	p->summary.duration_ns = 2000000000;
	p->summary.rate_asked_mhz = 100000;
	p->summary.rate_reached_mhz = 99500;
}

void fakeprofile_wall(struct profile *p)
{
	static const enum run_state states[] = {RUN_ON_CPU, RUN_SLEEPING, RUN_SLEEPING,
						RUN_GIL,    RUN_GC,	  RUN_RUNNABLE};
	struct stats v = {0};

	fakeprofile_small(p);
	p->recording.mode = RECORDING_WALL;
	memset(p->summary.states, 0, sizeof(p->summary.states));
	memset(p->summary.weights, 0, sizeof(p->summary.weights));
	for (size_t i = 0; i < p->n_samples; i++) {
		p->samples[i].state = states[i % ARRAY_SIZE(states)];
		p->samples[i].weight += p->samples[i].state == RUN_SLEEPING ? 2500000 : 0;
		p->summary.states[p->samples[i].state]++;
		p->summary.weights[p->samples[i].state] += p->samples[i].weight;
	}
	for (uint32_t i = 0; i < p->n_processes; i++) {
		for (uint32_t k = 0; k < STAT_MAX; k++)
			v.v[k] += 1000 * i + 1 + k;
		v.outcomes[OUTCOME_EXACT] += 7;
		must(profile_add_stats(p, i, &v) == 0);
	}
	v = (struct stats){.v[STAT_CALLS] = 3, .v[STAT_BYTES] = 1234567};
	must(profile_add_stats(p, STATS_OTHERS, &v) == 0);
}

static uint32_t roll(unsigned int *seed, uint32_t n)
{
	return (uint32_t)rand_r(seed) % n;
}

void fakeprofile_random(struct profile *p, const struct fakeprofile_shape *shape)
{
	unsigned int seed = shape->seed;
	uint32_t *frames = calloc(shape->functions, sizeof(*frames));
	uint32_t *stacks = calloc(shape->stacks, sizeof(*stacks));
	char func[64], file[64];

	must(frames && stacks);
	fakeprofile_init(p);
	for (uint32_t i = 0; i < shape->processes; i++)
		fakeprofile_process(p, 1000 + i, i % 2 ? "python3" : "gunicorn");
	for (uint32_t i = 0; i < shape->threads; i++) {
		snprintf(func, sizeof(func), "Thread-%u", i);
		fakeprofile_thread(p, i % shape->processes, 2000 + i, func);
	}
	for (uint32_t i = 0; i < shape->functions; i++) {
		snprintf(func, sizeof(func), "Class%u.method_%u", i / 7, i);
		snprintf(file, sizeof(file), "/usr/lib/python3/pkg%u/module_%u.py", i / 97, i / 11);
		frames[i] = fakeprofile_frame(p, func, file, i + 5, i);
	}
	for (uint32_t i = 0; i < shape->stacks; i++) {
		/* most stacks are another's with another tail */
		uint32_t id = i ? stacks[roll(&seed, i)] : STACK_EMPTY, frame;

		for (uint32_t up = roll(&seed, 4); up && id != STACK_EMPTY; up--)
			names_stack_at(p->names, id, &id, &frame);
		for (uint32_t down = 1 + roll(&seed, 8); down; down--) {
			if (names_stack_depth(p->names, id) < shape->depth)
				id = names_stack(p->names, id,
						 frames[roll(&seed, shape->functions)]);
		}
		must(id != INTERN_NONE);
		stacks[i] = id;
	}
	for (size_t i = 0; i < shape->samples; i++)
		fakeprofile_samples(p, roll(&seed, shape->threads),
				    stacks[roll(&seed, shape->stacks)], OUTCOME_EXACT, 10000000, 1);
	p->complete = true;
	p->summary.duration_ns = p->end_mono - p->recording.start_mono;
	free(frames);
	free(stacks);
}

int fakeprofile_replay(const struct profile *p, struct sink *s, bool end)
{
	uint64_t start = p->recording.start_mono, tick = start + 500000000;
	int err = s->ops->begin(s, &p->recording);

	for (size_t i = 0; i < p->n_processes && err == 0; i++)
		err = s->ops->process(s, p->names, &p->processes[i]);
	for (size_t i = 0; i < p->n_threads && err == 0; i++)
		err = s->ops->thread(s, p->names, &p->threads[i]);
	for (size_t i = 0; i < p->n_samples && err == 0; i++) {
		for (; err == 0 && p->samples[i].time >= tick; tick += 500000000)
			err = s->ops->tick(s, tick, p->recording.start_real + (tick - start));
		if (err == 0)
			err = s->ops->sample(s, p->names, &p->samples[i]);
	}
	for (uint32_t i = 0; i < p->n_stats && err == 0; i++)
		err = s->ops->stats(s, i, &p->stats[i]);
	if (p->has_stats && err == 0)
		err = s->ops->stats(s, STATS_OTHERS, &p->others);
	if (err < 0) {
		s->ops->end(s, NULL);
		return err;
	}
	return end ? s->ops->end(s, &p->summary) : 0;
}

static const char *names_differ(const struct names *a, const struct names *b)
{
	uint32_t ca, fa, cb, fb;
	size_t na, nb;

	if (names_strings(a) != names_strings(b) || names_frames(a) != names_frames(b) ||
	    names_stacks(a) != names_stacks(b))
		return "how many names";
	for (uint32_t i = 0; i < names_strings(a); i++) {
		const char *sa = names_string_at(a, i, &na), *sb = names_string_at(b, i, &nb);

		if (na != nb || memcmp(sa, sb, na) != 0)
			return "a string";
	}
	for (uint32_t i = 0; i < names_frames(a); i++) {
		if (memcmp(names_frame_at(a, i), names_frame_at(b, i), sizeof(struct frame)) != 0)
			return "a frame";
	}
	for (uint32_t i = 1; i < names_stacks(a); i++) {
		names_stack_at(a, i, &ca, &fa);
		names_stack_at(b, i, &cb, &fb);
		if (ca != cb || fa != fb)
			return "a stack";
	}
	return NULL;
}

static const char *samples_differ(const struct sample *a, const struct sample *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i].time != b[i].time || a[i].weight != b[i].weight || a[i].cpu != b[i].cpu ||
		    a[i].process != b[i].process || a[i].thread != b[i].thread ||
		    a[i].stack != b[i].stack || a[i].outcome != b[i].outcome ||
		    a[i].state != b[i].state || a[i].more != b[i].more)
			return "a sample";
	}
	return NULL;
}

static bool stats_differ(const struct profile *a, const struct profile *b)
{
	return a->has_stats != b->has_stats || a->n_stats != b->n_stats ||
	       memcmp(&a->others, &b->others, sizeof(a->others)) != 0 ||
	       (a->n_stats && memcmp(a->stats, b->stats, a->n_stats * sizeof(*a->stats)) != 0);
}

const char *fakeprofile_differs(const struct profile *a, const struct profile *b)
{
	const struct recording *ra = &a->recording, *rb = &b->recording;
	const char *what = names_differ(a->names, b->names);

	if (what)
		return what;
	if (strcmp(ra->host, rb->host) || strcmp(ra->kernel, rb->kernel) ||
	    strcmp(ra->scry, rb->scry) || strcmp(ra->event, rb->event) ||
	    strcmp(ra->command, rb->command) || ra->mode != rb->mode || ra->clock != rb->clock ||
	    ra->freq != rb->freq || ra->rate != rb->rate || ra->cpus != rb->cpus ||
	    ra->start_mono != rb->start_mono || ra->start_real != rb->start_real)
		return "the recording";
	if (a->n_processes != b->n_processes || a->n_threads != b->n_threads ||
	    a->n_samples != b->n_samples)
		return "how many";
	for (size_t i = 0; i < a->n_processes; i++) {
		const struct process_info *x = &a->processes[i], *y = &b->processes[i];

		if (x->id != y->id || x->pid != y->pid || x->ppid != y->ppid || x->uid != y->uid ||
		    x->start_boottime != y->start_boottime || x->comm != y->comm ||
		    x->cmdline != y->cmdline || x->container != y->container ||
		    x->python != y->python || x->exe != y->exe || x->start_code != y->start_code ||
		    x->start_stack != y->start_stack)
			return "a process";
	}
	if (a->n_threads && memcmp(a->threads, b->threads, a->n_threads * sizeof(*a->threads)) != 0)
		return "a thread";
	if (stats_differ(a, b))
		return "the stats";
	what = samples_differ(a->samples, b->samples, a->n_samples);
	if (what)
		return what;
	if (a->complete != b->complete)
		return "complete";
	return a->complete && memcmp(&a->summary, &b->summary, sizeof(a->summary)) ? "the summary"
										   : NULL;
}
