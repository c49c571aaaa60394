/* Tests of output/pprof.c and gzip.c, by unpacking what they wrote. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "output/format.h"
#include "output/profile.pb-c.h"
#include "tests/support/fakeprofile.h"

#define UNPACKED_MAX (64u << 20)

static Pprof__Profile *written(const struct profile *p, uint32_t outcomes)
{
	struct format_options o = {.outcomes = outcomes};
	char *packed = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&packed, &n);
	uint8_t *data = malloc(UNPACKED_MAX);
	z_stream z = {0};
	Pprof__Profile *ret;

	cr_assert_eq(format_find("pprof")->write(f, p, &o), 0);
	fclose(f);
	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)packed;
	z.avail_in = (unsigned int)n;
	z.next_out = data;
	z.avail_out = UNPACKED_MAX;
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(z.avail_in, 0);
	ret = pprof__profile__unpack(NULL, z.total_out, data);
	cr_assert_not_null(ret);
	inflateEnd(&z);
	free(packed);
	free(data);
	return ret;
}

static const char *text(const Pprof__Profile *v, int64_t id)
{
	static char s[256];

	cr_assert(id >= 0 && (size_t)id < v->n_string_table, "string %ld", (long)id);
	snprintf(s, sizeof(s), "%.*s", (int)v->string_table[id].len, v->string_table[id].data);
	return s;
}

static const Pprof__Function *function_of(const Pprof__Profile *v, uint64_t location)
{
	for (size_t i = 0; i < v->n_location; i++) {
		if (v->location[i]->id != location)
			continue;
		for (size_t j = 0; j < v->n_function; j++)
			if (v->function[j]->id == v->location[i]->line[0]->function_id)
				return v->function[j];
	}
	cr_assert_fail("no location %lu, or no function", (unsigned long)location);
	return NULL;
}

static int64_t label(const Pprof__Profile *v, const Pprof__Sample *s, const char *key, bool str)
{
	for (size_t i = 0; i < s->n_label; i++)
		if (strcmp(text(v, s->label[i]->key), key) == 0)
			return str ? s->label[i]->str : s->label[i]->num;
	return 0;
}

Test(pprof, samples_have_their_stacks_and_labels)
{
	struct profile p;
	Pprof__Profile *v;
	const Pprof__Sample *s;
	int64_t samples = 0, ns = 0;

	fakeprofile_small(&p);
	v = written(&p, UINT32_MAX);
	cr_assert_eq(v->n_sample_type, 2);
	cr_assert_str_eq(text(v, v->sample_type[0]->type), "samples");
	cr_assert_str_eq(text(v, v->sample_type[0]->unit), "count");
	cr_assert_str_eq(text(v, v->sample_type[1]->type), "cpu");
	cr_assert_str_eq(text(v, v->sample_type[1]->unit), "nanoseconds");
	cr_assert_str_eq(text(v, v->default_sample_type), "cpu");
	cr_assert_str_eq(text(v, v->period_type->type), "cpu");
	cr_assert_eq(v->period, 10000000);
	cr_assert_eq(v->time_nanos, 1700000000000000000);
	cr_assert_eq(v->duration_nanos, 2000000000);
	cr_assert_eq(v->n_mapping, 1);
	cr_assert_str_eq(text(v, v->mapping[0]->filename), "/usr/bin/python3.13");
	cr_assert(v->mapping[0]->has_functions && v->mapping[0]->has_line_numbers);
	cr_assert_eq(v->string_table[0].len, 0);
	s = v->sample[0];
	cr_assert_eq(s->n_location_id, 3); /* leaf first */
	cr_assert_str_eq(text(v, function_of(v, s->location_id[0])->name), "Work.step");
	cr_assert_str_eq(text(v, function_of(v, s->location_id[2])->name), "<module>");
	cr_assert_str_eq(text(v, function_of(v, s->location_id[0])->filename), "/srv/lib/work.py");
	cr_assert_eq(function_of(v, s->location_id[0])->start_line, 3);
	cr_assert_eq(s->value[0], 60);
	cr_assert_eq(s->value[1], 600000000);
	cr_assert_eq(label(v, s, "pid", false), 4711);
	cr_assert_eq(label(v, s, "tid", false), 4711);
	cr_assert_str_eq(text(v, label(v, s, "thread", true)), "MainThread");
	cr_assert_str_eq(text(v, label(v, s, "comm", true)), "python3");
	cr_assert_eq(label(v, s, "container_id", true), 0);
	cr_assert_eq(label(v, s, "state", true), 0); /* not known */
	for (size_t i = 0; i < v->n_sample; i++) {
		cr_assert_gt(v->sample[i]->n_location_id, 0);
		for (size_t j = 0; j < v->sample[i]->n_location_id; j++)
			function_of(v, v->sample[i]->location_id[j]);
		samples += v->sample[i]->value[0];
		ns += v->sample[i]->value[1];
	}
	cr_assert_eq(samples, 116);
	cr_assert_eq(ns, 1160000000);
	pprof__profile__free_unpacked(v, NULL);
	profile_release(&p);
}

Test(pprof, wall_time_by_state)
{
	struct profile p;
	Pprof__Profile *v;
	int64_t samples[RUN_MAX] = {0}, ns = 0, want = 0;
	enum run_state state;

	fakeprofile_wall(&p);
	for (size_t i = 0; i < p.n_samples; i++)
		want += (int64_t)p.samples[i].weight;
	v = written(&p, UINT32_MAX);
	cr_assert_str_eq(text(v, v->sample_type[1]->type), "wall");
	cr_assert_str_eq(text(v, v->sample_type[1]->unit), "nanoseconds");
	cr_assert_str_eq(text(v, v->default_sample_type), "wall");
	for (size_t i = 0; i < v->n_sample; i++) {
		const char *name = text(v, label(v, v->sample[i], "state", true));

		cr_assert_eq(run_state_parse(name, &state), 0);
		samples[state] += v->sample[i]->value[0];
		ns += v->sample[i]->value[1];
	}
	for (size_t i = 0; i < RUN_MAX; i++)
		cr_assert_eq(samples[i], (int64_t)p.summary.states[i]);
	cr_assert_eq(ns, want);
	pprof__profile__free_unpacked(v, NULL);
	p.recording.mode = RECORDING_CPU;
	p.recording.clock = false;
	v = written(&p, UINT32_MAX);
	cr_assert_str_eq(text(v, v->sample_type[1]->type), "cpu-clock");
	pprof__profile__free_unpacked(v, NULL);
	profile_release(&p);
}

Test(pprof, one_function_for_its_lines_one_location_for_each)
{
	struct profile p;
	Pprof__Profile *v;
	size_t functions = 0, locations = 0;

	fakeprofile_small(&p);
	v = written(&p, UINT32_MAX);
	for (size_t i = 0; i < v->n_function; i++)
		functions += strcmp(text(v, v->function[i]->name), "Work.step") == 0;
	for (size_t i = 0; i < v->n_location; i++)
		locations +=
			strcmp(text(v, function_of(v, v->location[i]->id)->name), "Work.step") == 0;
	cr_assert_eq(functions, 1);
	cr_assert_eq(locations, 2);
	pprof__profile__free_unpacked(v, NULL);
	/* of what is filtered out nothing is left */
	v = written(&p, 1u << OUTCOME_GONE);
	cr_assert_eq(v->n_sample, 1);
	cr_assert_eq(v->n_location, 1);
	cr_assert_eq(v->n_function, 1);
	pprof__profile__free_unpacked(v, NULL);
	v = written(&p, 0);
	cr_assert_eq(v->n_sample, 0);
	pprof__profile__free_unpacked(v, NULL);
	profile_release(&p);
}

Test(pprof, an_event_that_is_no_clock_is_named)
{
	struct profile p;
	Pprof__Profile *v;

	fakeprofile_small(&p);
	p.recording.clock = p.recording.freq = false;
	p.recording.rate = 5000;
	snprintf(p.recording.event, sizeof(p.recording.event), "cache-misses");
	p.processes[0].container = names_string(p.names, "c0ffee\0!", 8);
	v = written(&p, UINT32_MAX);
	cr_assert_str_eq(text(v, v->sample_type[1]->type), "cache-misses");
	cr_assert_str_eq(text(v, v->sample_type[1]->unit), "count");
	cr_assert_str_eq(text(v, v->default_sample_type), "cache-misses");
	cr_assert_eq(v->period, 5000);
	cr_assert_eq(v->string_table[label(v, v->sample[0], "container_id", true)].len, 8);
	pprof__profile__free_unpacked(v, NULL);
	profile_release(&p);
}

Test(pprof, a_full_disk_is_told)
{
	struct profile p;
	struct format_options o = {.outcomes = UINT32_MAX};
	FILE *f = fopen("/dev/full", "w");

	setvbuf(f, NULL, _IONBF, 0);
	fakeprofile_small(&p);
	cr_assert_lt(format_find("pprof")->write(f, &p, &o), 0);
	fclose(f);
	profile_release(&p);
}
