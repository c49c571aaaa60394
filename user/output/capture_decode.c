/*
 * Decode the content of the chunks of scry.data.
 *
 * A checksum proves only that nobody damaged the bytes by accident. Every number is checked against
 * what is there and against its limit before it is used, and every id must be the next one, so that
 * the ids of the file are those of the profile's own tables.
 */
#include "output/capture_decode.h"

#include <errno.h>
#include <string.h>
#include "output/capture_chunk.h"

static uint32_t take_u32(struct bytes *b)
{
	uint64_t v = bytes_uleb(b);

	if (v > UINT32_MAX)
		b->bad = true;
	return b->bad ? 0 : (uint32_t)v;
}

static uint64_t take_time(struct bytes *b)
{
	uint64_t v = bytes_u64(b);

	if (v > CAPTURE_MAX_TIME)
		b->bad = true;
	return v;
}

/* A string into an array of the size given. */
static void take_text(struct bytes *b, char *dst, size_t size)
{
	uint64_t len = bytes_uleb(b);
	const char *p = len < size ? bytes_take(b, (size_t)len) : NULL;

	if (b->bad || (!p && len)) {
		b->bad = true;
		return;
	}
	if (len)
		memcpy(dst, p, (size_t)len);
	dst[len] = '\0';
}

static int decode_head(struct capture_decoder *d, struct bytes *b)
{
	struct recording *r = &d->profile->recording;
	uint64_t flags = bytes_uleb(b), cpus;

	uint64_t mode = (flags & CAPTURE_FLAG_MODE) >> CAPTURE_MODE_SHIFT;

	if (flags & ~(uint64_t)(CAPTURE_FLAG_CLOCK | CAPTURE_FLAG_FREQ | CAPTURE_FLAG_MODE) ||
	    mode >= RECORDING_MODES)
		return -EBADMSG;
	r->mode = (enum recording_mode)mode;
	r->clock = flags & CAPTURE_FLAG_CLOCK;
	r->freq = flags & CAPTURE_FLAG_FREQ;
	r->rate = bytes_uleb(b);
	cpus = bytes_uleb(b);
	if (cpus > CAPTURE_MAX_CPUS || r->rate > CAPTURE_MAX_TIME)
		return -EBADMSG;
	r->cpus = (uint32_t)cpus;
	r->start_mono = take_time(b);
	r->start_real = take_time(b);
	take_text(b, r->host, sizeof(r->host));
	take_text(b, r->kernel, sizeof(r->kernel));
	take_text(b, r->scry, sizeof(r->scry));
	take_text(b, r->event, sizeof(r->event));
	take_text(b, r->command, sizeof(r->command));
	return 0;
}

/* --- chunks of numbered records --- */

static int decode_string(struct capture_decoder *d, struct bytes *b, uint32_t id)
{
	uint64_t len = bytes_uleb(b);
	const void *p;
	uint32_t got;

	if (len > NAMES_MAX_STRING)
		return -EBADMSG;
	p = bytes_take(b, (size_t)len);
	if (b->bad)
		return -EBADMSG;
	got = names_string(d->profile->names, p, (size_t)len);
	return got == id ? 0 : got == INTERN_NONE ? -ENOMEM : -EBADMSG;
}

static int decode_frame(struct capture_decoder *d, struct bytes *b, uint32_t id)
{
	struct names *n = d->profile->names;
	struct frame f = {0};
	uint32_t got;

	f.kind = take_u32(b);
	f.func = take_u32(b);
	f.file = take_u32(b);
	f.line = take_u32(b);
	f.firstline = take_u32(b);
	if (b->bad || f.kind < FRAME_PYTHON || f.kind > FRAME_MARKER ||
	    f.func >= names_strings(n) || f.file >= names_strings(n))
		return -EBADMSG;
	got = names_frame(n, &f);
	return got == id ? 0 : got == INTERN_NONE ? -ENOMEM : -EBADMSG;
}

static int decode_stack(struct capture_decoder *d, struct bytes *b, uint32_t id)
{
	struct names *n = d->profile->names;
	uint32_t back = take_u32(b), frame = take_u32(b), got;

	if (b->bad || back < 1 || back > id || frame >= names_frames(n) ||
	    names_stack_depth(n, id - back) >= CAPTURE_MAX_DEPTH)
		return -EBADMSG;
	got = names_stack(n, id - back, frame);
	return got == id ? 0 : got == INTERN_NONE ? -ENOMEM : -EBADMSG;
}

static int decode_process(struct capture_decoder *d, struct bytes *b, uint32_t id)
{
	struct process_info v = {.id = id};
	int err;

	v.pid = take_u32(b);
	v.ppid = take_u32(b);
	v.uid = take_u32(b);
	v.start_boottime = bytes_uleb(b);
	v.comm = take_u32(b);
	v.cmdline = take_u32(b);
	v.container = take_u32(b);
	v.python = take_u32(b);
	v.exe = take_u32(b);
	v.start_code = bytes_uleb(b);
	v.start_stack = bytes_uleb(b);
	if (b->bad)
		return -EBADMSG;
	err = profile_add_process(d->profile, &v);
	return err == -EINVAL ? -EBADMSG : err;
}

static int decode_thread(struct capture_decoder *d, struct bytes *b, uint32_t id)
{
	struct thread_info v = {.id = id};
	int err;

	v.process = take_u32(b);
	v.tid = take_u32(b);
	v.name = take_u32(b);
	if (b->bad)
		return -EBADMSG;
	err = profile_add_thread(d->profile, &v);
	return err == -EINVAL ? -EBADMSG : err;
}

/* `have`: how many there are, which is the id that must come next. */
static int decode_numbered(struct capture_decoder *d, struct bytes *b, uint64_t have, uint64_t max,
			   int (*decode)(struct capture_decoder *d, struct bytes *b, uint32_t id))
{
	uint64_t first = bytes_uleb(b), count = bytes_uleb(b);
	int err = 0;

	/* a record is not smaller than a byte */
	if (b->bad || first != have || count > b->len || count > max - have)
		return -EBADMSG;
	for (uint64_t i = 0; i < count && err == 0; i++)
		err = decode(d, b, (uint32_t)(first + i));
	return err;
}

/* --- samples --- */

/* A later scry may know more of them. */
static enum run_state take_state(struct bytes *b)
{
	uint32_t v = take_u32(b);

	return v < RUN_MAX ? (enum run_state)v : RUN_UNKNOWN;
}

static int decode_sample(struct capture_decoder *d, struct bytes *b, struct sample *v)
{
	struct profile *p = d->profile;
	uint8_t head = bytes_u8(b);
	int err;

	v->outcome = (enum outcome)(head & CAPTURE_SAMPLE_OUTCOME);
	v->more = head & CAPTURE_SAMPLE_MORE ? take_u32(b) : 0;
	if (head & CAPTURE_SAMPLE_THREAD)
		v->thread = take_u32(b);
	if (head & CAPTURE_SAMPLE_CPU)
		v->cpu = take_u32(b);
	if (head & CAPTURE_SAMPLE_WEIGHT)
		v->weight = bytes_uleb(b);
	if (head & CAPTURE_SAMPLE_STATE)
		v->state = take_state(b);
	v->time += (uint64_t)bytes_sleb(b);
	v->stack = take_u32(b);
	if (b->bad || v->thread >= p->n_threads || v->cpu >= CAPTURE_MAX_CPUS ||
	    v->time > CAPTURE_MAX_TIME || v->weight > CAPTURE_MAX_TIME - d->weight)
		return -EBADMSG;
	v->process = p->threads[v->thread].process;
	err = profile_add_sample(p, v);
	if (err < 0)
		return err == -EINVAL ? -EBADMSG : err;
	d->weight += v->weight;
	return 0;
}

static int decode_samples(struct capture_decoder *d, struct bytes *b)
{
	uint64_t count = bytes_uleb(b);
	struct sample v = {.time = take_time(b)};
	int err = 0;

	if (b->bad || count > b->len || count > CAPTURE_MAX_SAMPLES - d->profile->n_samples)
		return -EBADMSG;
	for (uint64_t i = 0; i < count && err == 0; i++)
		err = decode_sample(d, b, &v);
	return err;
}

/* --- what the engine counted --- */

/* A record has n numbers and then m by outcome: those that are known are kept. */
static bool take_stats(struct bytes *b, uint64_t n, uint64_t m, struct stats *ret)
{
	for (uint64_t i = 0; i < n + m; i++) {
		uint64_t v = bytes_uleb(b);

		if (i < n && i < STAT_MAX)
			ret->v[i] = v;
		else if (i >= n && i - n < OUTCOME_MAX)
			ret->outcomes[i - n] = v;
	}
	return !b->bad;
}

/* Into the profile p; NULL: only looks whether all is well. */
static int each_stats(const struct profile *of, struct profile *p, struct bytes *b)
{
	uint64_t n = bytes_uleb(b), m = bytes_uleb(b), count = bytes_uleb(b);
	int err = 0;

	/* a number is not smaller than a byte */
	if (b->bad || n > b->len || m > b->len || count > b->len)
		return -EBADMSG;
	for (uint64_t i = 0; i < count && err == 0; i++) {
		struct stats v = {0};
		uint64_t process = bytes_uleb(b);

		if (!take_stats(b, n, m, &v) || process > of->n_processes)
			return -EBADMSG;
		if (p)
			err = profile_add_stats(p, process ? (uint32_t)process - 1 : STATS_OTHERS,
						&v);
	}
	return err;
}

/* What is added can't be taken back, so it is only once all of it was looked at. */
static int decode_stats(struct capture_decoder *d, struct bytes *b)
{
	struct bytes look = *b;
	int err = each_stats(d->profile, NULL, &look);

	if (err < 0 || look.len)
		return -EBADMSG;
	return each_stats(d->profile, d->profile, b);
}

/* --- clocks, and the end --- */

static int decode_time(struct capture_decoder *d, struct bytes *b)
{
	uint64_t mono = take_time(b), real = take_time(b);

	(void)real;
	if (!b->bad)
		d->profile->end_mono = MAX(d->profile->end_mono, mono);
	return 0;
}

static int decode_done(struct capture_decoder *d, struct bytes *b)
{
	struct summary s = {0}, *seen = &d->profile->summary;
#define CAPTURE_PLACE(name) &s.name,
	uint64_t *const place[] = {CAPTURE_SUMMARY(CAPTURE_PLACE)};
#undef CAPTURE_PLACE
	uint64_t count = bytes_uleb(b);

	if (count > b->len)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t v = bytes_uleb(b);

		if (i < ARRAY_SIZE(place))
			*place[i] = v;
		else if (i < ARRAY_SIZE(place) + OUTCOME_MAX)
			s.outcomes[i - ARRAY_SIZE(place)] = v;
		else if (i < ARRAY_SIZE(place) + OUTCOME_MAX + RUN_MAX)
			s.states[i - ARRAY_SIZE(place) - OUTCOME_MAX] = v;
	}
	if (b->bad)
		return -EBADMSG;
	memcpy(s.weights, seen->weights, sizeof(s.weights));
	*seen = s;
	d->profile->complete = true;
	return 0;
}

static int decode_content(struct capture_decoder *d, uint32_t type, struct bytes *b)
{
	struct profile *p = d->profile;

	switch (type) {
	case CAPTURE_STRS:
		return decode_numbered(d, b, names_strings(p->names), CAPTURE_MAX_STRINGS,
				       decode_string);
	case CAPTURE_FRAM:
		return decode_numbered(d, b, names_frames(p->names), CAPTURE_MAX_FRAMES,
				       decode_frame);
	case CAPTURE_STAK:
		return decode_numbered(d, b, names_stacks(p->names), CAPTURE_MAX_STACKS,
				       decode_stack);
	case CAPTURE_PROC:
		return decode_numbered(d, b, p->n_processes, CAPTURE_MAX_PROCESSES, decode_process);
	case CAPTURE_THRD:
		return decode_numbered(d, b, p->n_threads, CAPTURE_MAX_THREADS, decode_thread);
	case CAPTURE_SMPL:
		return decode_samples(d, b);
	case CAPTURE_STAT:
		return decode_stats(d, b);
	case CAPTURE_TIME:
		return decode_time(d, b);
	case CAPTURE_DONE:
		return decode_done(d, b);
	case CAPTURE_HEAD:
		return -EBADMSG; /* only as the first */
	default:
		bytes_take(b, b->len); /* of a later scry */
		return 0;
	}
}

int capture_decode(struct capture_decoder *d, uint32_t type, uint32_t number, struct bytes b)
{
	const struct capture_decoder before = *d;
	const struct profile old = *d->profile;
	struct profile *p = d->profile;
	int err;

	if (number == 0)
		err = type == CAPTURE_HEAD ? decode_head(d, &b) : -EBADMSG;
	else
		err = decode_content(d, type, &b);
	if (err == 0 && (b.bad || b.len))
		err = -EBADMSG;
	if (err < 0) {
		*d = before;
		p->recording = old.recording;
		p->summary = old.summary;
		p->complete = old.complete;
		p->end_mono = old.end_mono;
		p->n_processes = old.n_processes;
		p->n_threads = old.n_threads;
		p->n_samples = old.n_samples;
	}
	return err;
}
