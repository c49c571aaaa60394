/*
 * Write pprof's profile.proto, gzipped.
 *
 * Serialised messages that are put one behind the other are one message with all of their fields.
 * So each sample, location, function and string is packed as a small Profile of its own and goes
 * straight into the compressor; the whole profile is never in memory.
 *
 * Numbers of things: location = frame id + 1, function = its place in `functions` + 1, string = its
 * place in `strings` (which begins with the empty one, as the format wants).
 */
#include "output/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/clock.h"
#include "output/gzip.h"
#include "output/profile.pb-c.h"
#include "output/text.h"

#define PPROF_MAPPING 1u
#define PPROF_MAX_LABELS 6

struct pprof {
	const struct profile *profile;
	const struct format_options *options;
	struct intern *strings;
	struct intern *functions; /* struct function_key */
	bool *used;		  /* by stack: samples of it or of what it calls are here */
	struct buf packed, text, ids;
	struct gzip gz;
	int err;
};

struct function_key {
	uint32_t name, file, firstline;
};

/* --- strings and parts --- */

static int64_t string(struct pprof *w, const char *s, size_t len)
{
	uint32_t id;

	buf_reset(&w->text);
	text_utf8(&w->text, s, len);
	id = w->text.failed ? INTERN_NONE : intern_put(w->strings, w->text.data, w->text.len);
	if (id == INTERN_NONE) {
		w->err = -ENOMEM;
		return 0;
	}
	return id;
}

static int64_t text(struct pprof *w, const char *s)
{
	return string(w, s, strlen(s));
}

static int64_t name(struct pprof *w, uint32_t id)
{
	size_t len;
	const char *s = names_string_at(w->profile->names, id, &len);

	return string(w, s, len);
}

static void put_part(struct pprof *w, const Pprof__Profile *part)
{
	size_t n = pprof__profile__get_packed_size(part);
	uint8_t *dst;

	buf_reset(&w->packed);
	dst = buf_grow(&w->packed, n);
	if (!dst)
		w->err = -ENOMEM;
	if (w->err < 0)
		return;
	pprof__profile__pack(part, dst);
	w->err = gzip_write(&w->gz, dst, n);
}

/* --- samples --- */

static void add_label(Pprof__Label *v, size_t *n, int64_t key, int64_t str, int64_t num)
{
	if (!str && !num)
		return; /* an empty label is none */
	pprof__label__init(&v[*n]);
	v[*n].key = key;
	v[*n].str = str;
	v[*n].num = num;
	++*n;
}

static size_t make_labels(struct pprof *w, const struct aggregate_stack *s, Pprof__Label *v)
{
	const struct process_info *p = &w->profile->processes[s->process];
	const struct thread_info *t = &w->profile->threads[s->thread];
	size_t n = 0;

	add_label(v, &n, text(w, "pid"), 0, p->pid);
	add_label(v, &n, text(w, "tid"), 0, t->tid);
	add_label(v, &n, text(w, "thread"), name(w, t->name), 0);
	add_label(v, &n, text(w, "comm"), name(w, p->comm), 0);
	if (s->state != RUN_UNKNOWN)
		add_label(v, &n, text(w, "state"), text(w, run_state_name(s->state)), 0);
	add_label(v, &n, text(w, "container_id"), name(w, p->container), 0);
	return n;
}

static void put_sample(struct pprof *w, const struct aggregate_stack *s)
{
	const struct names *names = w->profile->names;
	int64_t values[] = {(int64_t)s->samples, (int64_t)s->weight};
	Pprof__Label labels[PPROF_MAX_LABELS], *label_of[PPROF_MAX_LABELS];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Sample v = PPROF__SAMPLE__INIT, *samples[] = {&v};

	buf_reset(&w->ids);
	for (uint32_t stack = s->stack, frame; stack != STACK_EMPTY;) {
		uint64_t id;

		names_stack_at(names, stack, &stack, &frame);
		id = (uint64_t)frame + 1;
		buf_put(&w->ids, &id, sizeof(id));
	}
	if (w->ids.failed) {
		w->err = -ENOMEM;
		return;
	}
	v.n_location_id = w->ids.len / sizeof(uint64_t);
	v.location_id = (uint64_t *)(void *)w->ids.data;
	v.n_value = ARRAY_SIZE(values);
	v.value = values;
	v.n_label = make_labels(w, s, labels);
	for (size_t i = 0; i < v.n_label; i++)
		label_of[i] = &labels[i];
	v.label = label_of;
	part.n_sample = 1;
	part.sample = samples;
	put_part(w, &part);
	w->used[s->stack] = true;
}

static void put_samples(struct pprof *w)
{
	struct aggregate_stack *v = NULL;
	size_t n = 0;
	int err = aggregate_stacks(w->profile, AGGREGATE_PER_STATE, w->options->outcomes, &v, &n);

	if (err < 0)
		w->err = err;
	for (size_t i = 0; i < n && w->err == 0; i++)
		put_sample(w, &v[i]);
	free(v);
}

/* --- locations and functions --- */

static uint64_t function_of(struct pprof *w, const struct frame *f)
{
	struct function_key key = {(uint32_t)name(w, f->func), (uint32_t)name(w, f->file),
				   f->firstline};
	uint32_t before = intern_count(w->functions);
	uint32_t id = intern_put(w->functions, &key, sizeof(key));
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function v = PPROF__FUNCTION__INIT, *functions[] = {&v};

	if (id == INTERN_NONE)
		w->err = -ENOMEM;
	if (id < before || w->err < 0)
		return (uint64_t)id + 1;
	v.id = (uint64_t)id + 1;
	/* No system name: where both are equal pprof takes <module> and <lambda> for C++ templates
	 * and shows nothing of them. */
	v.name = key.name;
	v.filename = key.file;
	v.start_line = key.firstline;
	part.n_function = 1;
	part.function = functions;
	put_part(w, &part);
	return v.id;
}

static void put_location(struct pprof *w, uint32_t frame)
{
	const struct frame *f = names_frame_at(w->profile->names, frame);
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location v = PPROF__LOCATION__INIT, *locations[] = {&v};
	Pprof__Line line = PPROF__LINE__INIT, *lines[] = {&line};

	line.function_id = function_of(w, f);
	line.line = f->line;
	v.id = (uint64_t)frame + 1;
	v.mapping_id = PPROF_MAPPING;
	v.n_line = 1;
	v.line = lines;
	part.n_location = 1;
	part.location = locations;
	put_part(w, &part);
}

/* Of the frames of all stacks that have samples, or callees that do. */
static void put_locations(struct pprof *w)
{
	const struct names *n = w->profile->names;
	bool *frames = calloc((size_t)names_frames(n) + 1, sizeof(*frames));
	uint32_t callers, frame;

	if (!frames) {
		w->err = -ENOMEM;
		return;
	}
	for (uint32_t id = names_stacks(n) - 1; id > STACK_EMPTY; id--) {
		if (!w->used[id])
			continue;
		names_stack_at(n, id, &callers, &frame);
		w->used[callers] = true;
		frames[frame] = true;
	}
	for (uint32_t i = 0; i < names_frames(n) && w->err == 0; i++) {
		if (frames[i])
			put_location(w, i);
	}
	free(frames);
}

/* --- the rest --- */

/* The file that holds the runtime of the process with the most samples. */
static uint32_t main_binary(const struct profile *p)
{
	uint64_t *samples = calloc(p->n_processes + 1, sizeof(*samples));
	size_t best = 0;

	if (!samples || !p->n_processes) {
		free(samples);
		return 0;
	}
	for (size_t i = 0; i < p->n_samples; i++)
		samples[p->samples[i].process] += 1 + (uint64_t)p->samples[i].more;
	for (size_t i = 1; i < p->n_processes; i++) {
		if (samples[i] > samples[best])
			best = i;
	}
	free(samples);
	return p->processes[best].exe;
}

/* What one sample stands for: nanoseconds, or events. */
static int64_t period_of(const struct profile *p)
{
	const struct recording *r = &p->recording;
	uint64_t weight = 0;

	if (!r->freq)
		return (int64_t)r->rate;
	if (r->clock)
		return r->rate ? (int64_t)(NSEC_PER_SEC / r->rate) : 0;
	for (size_t i = 0; i < p->n_samples; i++)
		weight += p->samples[i].weight;
	return p->n_samples ? (int64_t)(weight / profile_count(p)) : 0;
}

static int64_t comment_of(struct pprof *w)
{
	const struct recording *r = &w->profile->recording;
	struct buf b = {0};
	int64_t id;

	buf_printf(&b, "scry %s on %s, %s: %s", r->scry, r->host, r->kernel, r->command);
	id = b.failed ? 0 : string(w, b.data, b.len);
	buf_release(&b);
	return id;
}

/* What the weights add up to. */
static const char *value_of(const struct recording *r)
{
	if (!r->clock)
		return r->event;
	return r->mode == RECORDING_CPU ? "cpu" : "wall";
}

static void put_facts(struct pprof *w)
{
	const struct profile *p = w->profile;
	const char *event = value_of(&p->recording);
	int64_t comment = comment_of(w);
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__ValueType count = PPROF__VALUE_TYPE__INIT, weight = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[] = {&count, &weight};
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *mappings[] = {&mapping};

	count.type = text(w, "samples");
	count.unit = text(w, "count");
	weight.type = text(w, event);
	weight.unit = text(w, p->recording.clock ? "nanoseconds" : "count");
	part.n_sample_type = ARRAY_SIZE(types);
	part.sample_type = types;
	mapping.id = PPROF_MAPPING;
	mapping.filename = name(w, main_binary(p));
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = 1;
	part.n_mapping = 1;
	part.mapping = mappings;
	part.time_nanos = (int64_t)p->recording.start_real;
	part.duration_nanos = (int64_t)MIN(p->summary.duration_ns, (uint64_t)INT64_MAX);
	part.period_type = &weight;
	part.period = period_of(p);
	part.n_comment = comment ? 1 : 0;
	part.comment = &comment;
	part.default_sample_type = weight.type;
	put_part(w, &part);
}

/* Last, when all strings are known. */
static void put_strings(struct pprof *w)
{
	for (uint32_t i = 0; i < intern_count(w->strings) && w->err == 0; i++) {
		Pprof__Profile part = PPROF__PROFILE__INIT;
		ProtobufCBinaryData v;
		size_t len;

		v.data = (uint8_t *)(uintptr_t)intern_get(w->strings, i, &len);
		v.len = len;
		part.n_string_table = 1;
		part.string_table = &v;
		put_part(w, &part);
	}
}

int pprof_write(FILE *f, const struct profile *p, const struct format_options *o)
{
	struct pprof w = {.profile = p, .options = o};

	if (gzip_init(&w.gz, f) < 0)
		return -ENOMEM;
	w.strings = intern_new();
	w.functions = intern_new();
	w.used = calloc(names_stacks(p->names), sizeof(*w.used));
	if (!w.strings || !w.functions || !w.used || intern_put(w.strings, "", 0) != 0)
		w.err = -ENOMEM;
	if (w.err == 0)
		put_facts(&w);
	if (w.err == 0)
		put_samples(&w);
	if (w.err == 0)
		put_locations(&w);
	if (w.err == 0)
		put_strings(&w);
	if (w.err == 0)
		w.err = gzip_finish(&w.gz);
	gzip_release(&w.gz);
	intern_free(w.strings);
	intern_free(w.functions);
	free(w.used);
	buf_release(&w.packed);
	buf_release(&w.text);
	buf_release(&w.ids);
	return w.err;
}
