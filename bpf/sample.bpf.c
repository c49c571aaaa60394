/* The sampling program: at each tick, which process, which thread, which frames. */
#include "bpf/process.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/edge.bpf.h"
#include "bpf/life.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Wake user space up for the first sample of a process, and before the ring is full. */
static __always_inline __u64 sample_wakeup(struct tick *t)
{
	struct event_task *e = &t->sample.task;
	struct notices *n = notices_get();
	bool fresh;

	if (n && notices_due(&n->sampled[e->pid & (RECENT - 1)], e, &fresh) && fresh &&
	    notices_wake(n, e->time))
		return BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_bytes / 4)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* Sends one part at its true length. */
__attribute__((noinline)) int part_send(__u32 index, __u64 flags)
{
	struct tick *t = tick_get();
	__u8 *part = part_get(index);
	struct event_head *head = (struct event_head *)part;
	__u32 len;

	if (!t || !part)
		return -1;
	len = t->out.length[index & 15];
	head->kind = EVENT_SAMPLE;
	head->version = EVENT_VERSION;
	head->length = len;
	head->cpu = bpf_get_smp_processor_id();
	head->part = index;
	head->parts = t->out.part + 1;
	head->seq = t->seq;
	if (!index)
		*(struct event_sample *)(head + 1) = t->sample;
	barrier_var(len);
	if (len > PART_BYTES)
		return -1;
	return bpf_ringbuf_output(&ring, part, len, flags);
}

/* All parts or, when they find no room, none that user space could take for whole. */
__attribute__((noinline)) int sample_send(void)
{
	struct tick *t = tick_get();
	__u64 flags;
	__u32 last;

	if (!t)
		return 0;
	last = t->out.part;
	t->out.length[last & 15] = t->out.used;
	flags = sample_wakeup(t);
	for (__u32 i = 0; i < PART_MAX; i++) {
		if (i > last)
			break;
		if (part_send(i, i == last ? flags : BPF_RB_NO_WAKEUP)) {
			count(EVENT_CTR_LOST);
			break;
		}
	}
	t->seq++;
	return 0;
}

/* Copies the layout and says which proof of code objects is in force: versions and counters are
 * an interpreter's own, so with several interpreters each frame's version has to be taken. */
static __always_inline bool sample_layout(struct tick *t)
{
	__u32 index = t->target.layout;
	struct target_layout *l = bpf_map_lookup_elem(&layouts, &index);

	if (!l)
		return false;
	__builtin_memcpy(&t->layout, l, sizeof(t->layout));
	t->sample.layout = index;
	t->sample.runtime = t->target.runtime;
	return true;
}

static __always_inline void sample_proof(struct tick *t)
{
	t->proof = t->layout.proof;
	if (t->proof == TARGET_PROOF_COUNTER && (t->sample.flags & EVENT_MANY_INTERPS) &&
	    t->layout.code_version != TARGET_NONE)
		t->proof = TARGET_PROOF_VERSION;
}

/* A tick in a known CPython process; 1: it may have hit the edge between two frames. */
__attribute__((noinline)) int sample_take(void)
{
	struct tick *t = tick_get();
	struct output *o;

	if (!t)
		return 0;
	o = &t->out;
	o->part = 0;
	o->used = sizeof(struct event_head) + sizeof(struct event_sample);
	o->identity = 0;
	o->open = 0;
	o->copied = 0;
	o->ranges = 0;
	o->outside = 0;
	o->chunk = 0;
	o->chunk_size = 0;
	o->chunk_done = 0;
	if (thread_find()) {
		thread_words(t);
		sample_proof(t);
		if (t->proof != TARGET_PROOF_COUNTER)
			identity_forget(t);
		t->sample.frame = t->frame = thread_frame(t);
		t->lasti = 0;
		t->file = 0;
		if (t->layout.tstate_chunk != TARGET_NONE) {
			if (seed_mode == TARGET_SEED_STACK)
				o->chunk = tstate_word(t, t->layout.tstate_chunk);
			t->sample.top = tstate_word(t, t->layout.tstate_chunk + 8);
		}
		if (seed_mode != TARGET_SEED_TSTATE && !(t->sample.flags & EVENT_TSTATE_FAILED))
			frames_take(t);
	}
	return edge_suspected(t);
}

static __always_inline void tick_other(struct tick *t)
{
	count(EVENT_CTR_OTHER);
	count_add(EVENT_CTR_OTHER_WEIGHT, t->sample.task.weight);
}

/* The registers of the interrupted code of user space, also when the tick hit an interrupt in it;
 * before 5.15 only when it did not. */
static __always_inline bool sample_regs(struct tick *t, struct bpf_perf_event_data *ctx)
{
	if (TYPED && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return !bpf_probe_read_kernel(t->edge.regs, sizeof(t->edge.regs),
					      (void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	if (!REGS_USER(&ctx->regs))
		return false;
	REGS_COPY(t->edge.regs, &ctx->regs);
	return true;
}

static __always_inline void tick_run(struct tick *t, struct bpf_perf_event_data *ctx)
{
	if (!process_image()) {
		tick_other(t);
		return;
	}
	if (!target_find(t) || t->target.state != TARGET_PYTHON || !sample_layout(t)) {
		tick_other(t);
		if (!target_ignored(t))
			process_unknown(t);
		return;
	}
	process_describe();
	if (sample_take() && sample_regs(t, ctx))
		edge_repair();
	count(EVENT_CTR_SAMPLES);
	sample_send();
}

SEC("perf_event")
int sample_tick(struct bpf_perf_event_data *ctx)
{
	struct tick *t = tick_get();

	count(EVENT_CTR_TICKS);
	if (!t)
		return 0;
	if (!bpf_get_current_pid_tgid()) {
		count(EVENT_CTR_IDLE);
		return 0;
	}
	__builtin_memset(&t->sample, 0, sizeof(t->sample));
	t->sample.task.time = bpf_ktime_get_ns();
	t->sample.task.weight = ctx->sample_period;
	t->sample.task.ip = REGS_IP(&ctx->regs);
	tick_run(t, ctx);
	return 0;
}
