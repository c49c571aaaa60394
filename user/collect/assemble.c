/* Put the records of a sample together again, and check them. */
#include "collect/assemble.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define CPUS_MAX 8192
#define PIECES_MAX 2048

/* What a CPU has sent of a sample of several parts. */
struct pending {
	struct buf bytes; /* the records so far, each a multiple of 8 long */
	uint64_t seq;
	uint16_t next, parts; /* next 0: nothing pending */
};

struct assemble {
	struct assemble_ops ops;
	void *arg;
	struct assemble_stats stats;
	struct pending *cpus;
	uint32_t ncpus;
	struct assembled_piece pieces[PIECES_MAX];
	size_t count;
};

struct assemble *assemble_new(const struct assemble_ops *ops, void *arg)
{
	struct assemble *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->ops = *ops;
	a->arg = arg;
	return a;
}

void assemble_free(struct assemble *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < a->ncpus; i++)
		buf_release(&a->cpus[i].bytes);
	free(a->cpus);
	free(a);
}

void assemble_stats(const struct assemble *a, struct assemble_stats *ret)
{
	*ret = a->stats;
}

static struct pending *pending_of(struct assemble *a, uint32_t cpu)
{
	struct pending *p;

	if (cpu >= CPUS_MAX)
		return NULL;
	if (cpu >= a->ncpus) {
		p = realloc(a->cpus, (cpu + 1) * sizeof(*p));
		if (!p)
			return NULL;
		a->cpus = p;
		for (; a->ncpus <= cpu; a->ncpus++) {
			memset(&p[a->ncpus], 0, sizeof(*p));
			buf_init(&p[a->ncpus].bytes);
		}
	}
	return &a->cpus[cpu];
}

static bool piece_sane(const struct event_piece *p, size_t left)
{
	if (p->len > left)
		return false;
	switch (p->kind) {
	case EVENT_CHUNK:
	case EVENT_FRAME:
		return p->len && p->addr && p->addr + p->len > p->addr;
	case EVENT_IDENTITY:
		return !p->addr && p->len && p->len % sizeof(struct event_identity) == 0;
	default:
		return false;
	}
}

/* Adds the pieces of one record; they start behind its first `at` bytes. */
static int take_pieces(struct assemble *a, const uint8_t *record, size_t len, size_t at)
{
	const struct event_piece *p;
	size_t padded;

	while (at < len) {
		if (len - at < sizeof(*p) || a->count == PIECES_MAX)
			return -EINVAL;
		p = (const struct event_piece *)(record + at);
		at += sizeof(*p);
		padded = ((size_t)p->len + 7) & ~(size_t)7;
		if (padded > len - at || !piece_sane(p, len - at))
			return -EINVAL;
		a->pieces[a->count++] = (struct assembled_piece){
			.addr = p->addr, .data = record + at, .len = p->len, .kind = p->kind};
		at += padded;
	}
	return at == len ? 0 : -EINVAL;
}

/* All records of a sample, one behind the other; their heads were checked. */
static int hand_over(struct assemble *a, const uint8_t *bytes, size_t len)
{
	const struct event_head *head = (const struct event_head *)bytes;
	struct assembled s = {.cpu = head->cpu, .seq = head->seq, .pieces = a->pieces};
	size_t skip = sizeof(*head) + sizeof(*s.sample);
	int rc;

	s.sample = (const struct event_sample *)(bytes + sizeof(*head));
	a->count = 0;
	while (len) {
		head = (const struct event_head *)bytes;
		if (head->length < skip)
			return -EINVAL;
		rc = take_pieces(a, bytes, head->length, skip);
		if (rc)
			return rc;
		skip = sizeof(*head);
		bytes += head->length;
		len -= head->length;
	}
	s.count = a->count;
	a->ops.sample(a->arg, &s);
	return 0;
}

static void forget(struct assemble *a, struct pending *p)
{
	if (p->next)
		a->stats.incomplete++;
	p->next = 0;
	buf_reset(&p->bytes);
}

static int take_part(struct assemble *a, struct pending *p, const struct event_head *head)
{
	int rc;

	if (head->part == 0) {
		forget(a, p);
		p->seq = head->seq;
		p->parts = head->parts;
	} else if (!p->next || head->part != p->next || head->seq != p->seq ||
		   head->parts != p->parts) {
		forget(a, p);
		return 0;
	}
	buf_put(&p->bytes, head, head->length);
	if (p->bytes.failed)
		return -ENOMEM;
	if (++p->next < p->parts)
		return 0;
	rc = hand_over(a, (const uint8_t *)p->bytes.data, p->bytes.len);
	p->next = 0;
	buf_reset(&p->bytes);
	return rc;
}

static int take_sample(struct assemble *a, const struct event_head *head)
{
	struct pending *p = pending_of(a, head->cpu);

	if (!p || !head->parts || head->parts > EVENT_MAX_PARTS || head->part >= head->parts ||
	    head->length > EVENT_MAX_RECORD)
		return -EINVAL;
	if (head->parts > 1)
		return take_part(a, p, head);
	forget(a, p);
	return hand_over(a, (const uint8_t *)head, head->length);
}

static int take(struct assemble *a, const uint8_t *data, size_t len)
{
	const struct event_head *head = (const struct event_head *)data;
	const uint8_t *body = data + sizeof(*head);

	if (len < sizeof(*head) || head->version != EVENT_VERSION || head->length != len || len % 8)
		return -EINVAL;
	len -= sizeof(*head);
	switch (head->kind) {
	case EVENT_SAMPLE:
		return take_sample(a, head);
	case EVENT_UNKNOWN:
		if (len != sizeof(struct event_unknown))
			return -EINVAL;
		a->ops.unknown(a->arg, (const struct event_unknown *)body);
		return 0;
	case EVENT_EXEC:
	case EVENT_EXIT:
		if (len != sizeof(struct event_life))
			return -EINVAL;
		a->ops.life(a->arg, head->kind, (const struct event_life *)body);
		return 0;
	default:
		return -EINVAL;
	}
}

void assemble_record(struct assemble *a, const void *data, size_t len)
{
	a->stats.records++;
	if (take(a, data, len))
		a->stats.bad++;
}
