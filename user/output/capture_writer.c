/*
 * Write scry.data.
 *
 * Samples are coded as they come; strings, frames and stacks are taken from the names table when a
 * flush finds new ones. A flush builds whole chunks, what is referred to before what refers to it,
 * and hands them to the kernel by one write(2): a process killed between two flushes loses what
 * came after the first and nothing else. The first error of a write is kept and nothing is written
 * after it.
 */
#include "output/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "output/capture_chunk.h"

#define WRITER_FLUSH_NS (NSEC_PER_SEC * 3 / 4) /* ticks come about twice a second */
#define WRITER_FLUSH_BYTES (1u << 20)	       /* of one kind of chunk */
#define WRITER_MIN_COMPRESS 128u
#define WRITER_ZSTD_LEVEL 1

/* Records of a kind, waiting for the next flush. */
struct pending {
	struct buf records;
	uint32_t first, count;
};

struct writer {
	struct sink sink;
	int fd;
	int err; /* of the first write that failed */
	uint64_t written;
	uint32_t chunks;
	const struct names *names;	  /* as last seen */
	uint32_t strings, frames, stacks; /* how many of them are written */
	struct pending processes, threads, samples;
	struct pending stats;  /* `first` is not used */
	struct buf process_of; /* uint32_t by thread */
	uint64_t base;	       /* time of the first pending sample */
	struct sample prev;    /* what the next sample is coded against */
	uint64_t flushed;      /* mono of the last flush */
	struct buf payload, packed, out;
	ZSTD_CCtx *zstd;
};

static struct writer *writer_of(struct sink *s)
{
	return container_of(s, struct writer, sink);
}

/* Makes w->packed of w->payload; false if it is better stored as it is. */
static bool compress(struct writer *w)
{
	size_t bound = ZSTD_compressBound(w->payload.len), n;
	char *dst;

	if (w->payload.len < WRITER_MIN_COMPRESS)
		return false;
	buf_reset(&w->packed);
	dst = buf_grow(&w->packed, bound);
	if (!dst)
		return false;
	n = ZSTD_compressCCtx(w->zstd, dst, bound, w->payload.data, w->payload.len,
			      WRITER_ZSTD_LEVEL);
	if (ZSTD_isError(n) || n >= w->payload.len || w->payload.len / n >= CAPTURE_MAX_RATIO)
		return false;
	w->packed.len = n;
	return true;
}

/* Appends w->payload to w->out as a chunk. */
static void put_chunk(struct writer *w, enum capture_type type)
{
	size_t start = w->out.len;
	bool packed = compress(w);
	const struct buf *b = packed ? &w->packed : &w->payload;
	uint64_t seed;

	buf_u32(&w->out, type);
	buf_u32(&w->out, w->chunks++);
	buf_u32(&w->out, (uint32_t)b->len);
	buf_u32(&w->out, packed ? (uint32_t)w->payload.len : 0);
	if (w->out.failed || w->payload.failed) {
		w->out.failed = 1;
		return;
	}
	seed = XXH64(w->out.data + start, CAPTURE_CHECKED_HEADER, 0);
	buf_u64(&w->out, XXH64(b->data, b->len, seed));
	buf_put(&w->out, b->data, b->len);
}

static int write_out(struct writer *w)
{
	if (w->err == 0 && w->out.failed)
		w->err = -ENOMEM;
	if (w->err == 0 && w->out.len)
		w->err = file_write(w->fd, w->out.data, w->out.len);
	if (w->err == 0)
		w->written += w->out.len;
	buf_reset(&w->out);
	return w->err;
}

/* --- what the names table has grown by --- */

static void put_string(struct writer *w, uint32_t id, struct buf *b)
{
	size_t len;
	const char *s = names_string_at(w->names, id, &len);

	buf_uleb(b, len);
	buf_put(b, s, len);
}

static void put_frame(struct writer *w, uint32_t id, struct buf *b)
{
	const struct frame *f = names_frame_at(w->names, id);

	buf_uleb(b, f->kind);
	buf_uleb(b, f->func);
	buf_uleb(b, f->file);
	buf_uleb(b, f->line);
	buf_uleb(b, f->firstline);
}

static void put_stack(struct writer *w, uint32_t id, struct buf *b)
{
	uint32_t callers, frame;

	names_stack_at(w->names, id, &callers, &frame);
	buf_uleb(b, id - callers);
	buf_uleb(b, frame);
}

static void put_pending(struct writer *w, enum capture_type type, struct pending *p)
{
	if (!p->count)
		return;
	buf_reset(&w->payload);
	buf_uleb(&w->payload, p->first);
	buf_uleb(&w->payload, p->count);
	buf_put(&w->payload, p->records.data, p->records.len);
	w->payload.failed |= p->records.failed;
	put_chunk(w, type);
	p->first += p->count;
	p->count = 0;
	buf_reset(&p->records);
}

/* Writes ids from *written up to n, in as many chunks as it takes. */
static void put_new(struct writer *w, enum capture_type type, uint32_t *written, uint32_t n,
		    void (*put)(struct writer *w, uint32_t id, struct buf *b))
{
	struct pending p = {.first = *written};

	while (*written < n) {
		put(w, (*written)++, &p.records);
		p.count++;
		if (p.records.len >= WRITER_FLUSH_BYTES)
			put_pending(w, type, &p);
	}
	put_pending(w, type, &p);
	buf_release(&p.records);
}

static void put_samples(struct writer *w)
{
	struct pending *p = &w->samples;

	if (!p->count)
		return;
	buf_reset(&w->payload);
	buf_uleb(&w->payload, p->count);
	buf_u64(&w->payload, w->base);
	buf_put(&w->payload, p->records.data, p->records.len);
	w->payload.failed |= p->records.failed;
	put_chunk(w, CAPTURE_SMPL);
	p->count = 0;
	buf_reset(&p->records);
	w->prev = (struct sample){0};
}

static void put_stats(struct writer *w)
{
	struct pending *p = &w->stats;

	if (!p->count)
		return;
	buf_reset(&w->payload);
	buf_uleb(&w->payload, STAT_MAX);
	buf_uleb(&w->payload, OUTCOME_MAX);
	buf_uleb(&w->payload, p->count);
	buf_put(&w->payload, p->records.data, p->records.len);
	w->payload.failed |= p->records.failed;
	put_chunk(w, CAPTURE_STAT);
	p->count = 0;
	buf_reset(&p->records);
}

/* Builds the chunks of everything that waits, for write_out(). */
static void put_all(struct writer *w)
{
	const struct names *n = w->names;

	if (n) {
		put_new(w, CAPTURE_STRS, &w->strings, names_strings(n), put_string);
		put_new(w, CAPTURE_FRAM, &w->frames, names_frames(n), put_frame);
		put_new(w, CAPTURE_STAK, &w->stacks, names_stacks(n), put_stack);
	}
	put_pending(w, CAPTURE_PROC, &w->processes);
	put_pending(w, CAPTURE_THRD, &w->threads);
	put_samples(w);
	put_stats(w);
}

static int flush_full(struct writer *w, const struct pending *p)
{
	if (p->records.len < WRITER_FLUSH_BYTES)
		return w->err;
	put_all(w);
	return write_out(w);
}

/* --- the sink --- */

static int writer_begin(struct sink *s, const struct recording *r)
{
	struct writer *w = writer_of(s);
	const char *text[] = {r->host, r->kernel, r->scry, r->event, r->command};

	buf_put(&w->out, CAPTURE_MAGIC, CAPTURE_MAGIC_LEN);
	buf_u32(&w->out, CAPTURE_VERSION);
	buf_u32(&w->out, 0);
	buf_uleb(&w->payload, (r->clock ? CAPTURE_FLAG_CLOCK : 0) |
				      (r->freq ? CAPTURE_FLAG_FREQ : 0) |
				      (uint32_t)r->mode << CAPTURE_MODE_SHIFT);
	buf_uleb(&w->payload, r->rate);
	buf_uleb(&w->payload, r->cpus);
	buf_u64(&w->payload, r->start_mono);
	buf_u64(&w->payload, r->start_real);
	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		buf_uleb(&w->payload, strlen(text[i]));
		buf_puts(&w->payload, text[i]);
	}
	put_chunk(w, CAPTURE_HEAD);
	w->flushed = r->start_mono;
	return write_out(w);
}

static int writer_process(struct sink *s, const struct names *n, const struct process_info *v)
{
	struct writer *w = writer_of(s);
	const uint64_t fields[] = {v->pid,  v->ppid,	   v->uid,	  v->start_boottime,
				   v->comm, v->cmdline,	   v->container,  v->python,
				   v->exe,  v->start_code, v->start_stack};

	if (v->id != w->processes.first + w->processes.count)
		return -EINVAL;
	w->names = n;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		buf_uleb(&w->processes.records, fields[i]);
	w->processes.count++;
	return flush_full(w, &w->processes);
}

static int writer_thread(struct sink *s, const struct names *n, const struct thread_info *v)
{
	struct writer *w = writer_of(s);

	if (v->id != w->threads.first + w->threads.count ||
	    v->process >= w->processes.first + w->processes.count)
		return -EINVAL;
	w->names = n;
	buf_put(&w->process_of, &v->process, sizeof(v->process));
	buf_uleb(&w->threads.records, v->process);
	buf_uleb(&w->threads.records, v->tid);
	buf_uleb(&w->threads.records, v->name);
	w->threads.count++;
	return flush_full(w, &w->threads);
}

/* The record holds no process: it must be the thread's. */
static bool sample_fits(const struct writer *w, const struct names *n, const struct sample *v)
{
	uint32_t process;

	if (v->thread >= w->process_of.len / sizeof(process) || v->stack >= names_stacks(n) ||
	    (unsigned int)v->outcome >= OUTCOME_MAX || (unsigned int)v->state >= RUN_MAX ||
	    v->cpu >= CAPTURE_MAX_CPUS)
		return false;
	memcpy(&process, w->process_of.data + v->thread * sizeof(process), sizeof(process));
	return process == v->process;
}

static int writer_sample(struct sink *s, const struct names *n, const struct sample *v)
{
	struct writer *w = writer_of(s);
	struct buf *b = &w->samples.records;
	struct sample *prev = &w->prev;
	uint8_t head = (uint8_t)v->outcome;

	if (!sample_fits(w, n, v))
		return -EINVAL;
	w->names = n;
	if (!w->samples.count++)
		w->base = prev->time = v->time;
	head |= v->thread != prev->thread ? CAPTURE_SAMPLE_THREAD : 0;
	head |= v->cpu != prev->cpu ? CAPTURE_SAMPLE_CPU : 0;
	head |= v->weight != prev->weight ? CAPTURE_SAMPLE_WEIGHT : 0;
	head |= v->state != prev->state ? CAPTURE_SAMPLE_STATE : 0;
	head |= v->more ? CAPTURE_SAMPLE_MORE : 0;
	buf_u8(b, head);
	if (v->more)
		buf_uleb(b, v->more);
	if (head & CAPTURE_SAMPLE_THREAD)
		buf_uleb(b, v->thread);
	if (head & CAPTURE_SAMPLE_CPU)
		buf_uleb(b, v->cpu);
	if (head & CAPTURE_SAMPLE_WEIGHT)
		buf_uleb(b, v->weight);
	if (head & CAPTURE_SAMPLE_STATE)
		buf_uleb(b, v->state);
	buf_sleb(b, (int64_t)(v->time - prev->time));
	buf_uleb(b, v->stack);
	*prev = *v;
	return flush_full(w, &w->samples);
}

static int writer_stats(struct sink *s, uint32_t process, const struct stats *v)
{
	struct writer *w = writer_of(s);
	struct buf *b = &w->stats.records;

	if (process != STATS_OTHERS && process >= w->processes.first + w->processes.count)
		return -EINVAL;
	buf_uleb(b, process == STATS_OTHERS ? 0 : (uint64_t)process + 1);
	for (size_t i = 0; i < STAT_MAX; i++)
		buf_uleb(b, v->v[i]);
	for (size_t i = 0; i < OUTCOME_MAX; i++)
		buf_uleb(b, v->outcomes[i]);
	w->stats.count++;
	return flush_full(w, &w->stats);
}

static int writer_tick(struct sink *s, uint64_t mono, uint64_t real)
{
	struct writer *w = writer_of(s);

	if (mono - w->flushed < WRITER_FLUSH_NS)
		return w->err;
	w->flushed = mono;
	put_all(w);
	buf_reset(&w->payload);
	buf_u64(&w->payload, mono);
	buf_u64(&w->payload, real);
	put_chunk(w, CAPTURE_TIME);
	return write_out(w);
}

static int writer_end(struct sink *s, const struct summary *sum)
{
	struct writer *w = writer_of(s);

	put_all(w);
	if (sum) {
#define CAPTURE_VALUE(name) sum->name,
		const uint64_t v[] = {CAPTURE_SUMMARY(CAPTURE_VALUE)};
#undef CAPTURE_VALUE

		buf_reset(&w->payload);
		buf_uleb(&w->payload, ARRAY_SIZE(v) + OUTCOME_MAX + RUN_MAX);
		for (size_t i = 0; i < ARRAY_SIZE(v); i++)
			buf_uleb(&w->payload, v[i]);
		for (size_t i = 0; i < OUTCOME_MAX; i++)
			buf_uleb(&w->payload, sum->outcomes[i]);
		for (size_t i = 0; i < RUN_MAX; i++)
			buf_uleb(&w->payload, sum->states[i]);
		put_chunk(w, CAPTURE_DONE);
	}
	write_out(w);
	if (w->fd >= 0 && close(w->fd) < 0 && w->err == 0)
		w->err = -errno; /* some file systems keep a failed write for now */
	w->fd = -1;
	return w->err;
}

static const struct sink_ops writer_ops = {
	.begin = writer_begin,
	.process = writer_process,
	.thread = writer_thread,
	.sample = writer_sample,
	.stats = writer_stats,
	.tick = writer_tick,
	.end = writer_end,
};

struct sink *capture_writer_new(int fd)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->sink.ops = &writer_ops;
	w->fd = fd;
	w->strings = 1; /* the empty string and the empty stack are never written */
	w->stacks = 1;
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		free(w);
		return NULL;
	}
	return &w->sink;
}

int capture_writer_error(const struct sink *s, uint64_t *ret_bytes)
{
	const struct writer *w = container_of(s, const struct writer, sink);

	if (ret_bytes)
		*ret_bytes = w->written;
	return w->err;
}

void capture_writer_free(struct sink *s)
{
	struct writer *w = s ? writer_of(s) : NULL;

	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	ZSTD_freeCCtx(w->zstd);
	buf_release(&w->processes.records);
	buf_release(&w->threads.records);
	buf_release(&w->samples.records);
	buf_release(&w->stats.records);
	buf_release(&w->process_of);
	buf_release(&w->payload);
	buf_release(&w->packed);
	buf_release(&w->out);
	free(w);
}
