/* A recording in memory: grows as processes, threads and samples are added. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/vec.h"

#define PROFILE_MIN_CAP 16

/* Room for one more in an array that has grown by doubling from PROFILE_MIN_CAP. */
static int reserve(void **array, size_t n, size_t size)
{
	size_t cap;
	void *p;

	if (n != 0 && (n < PROFILE_MIN_CAP || (n & (n - 1)) != 0))
		return 0;
	cap = MAX(n * 2, (size_t)PROFILE_MIN_CAP);
	p = reallocarray(*array, cap, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	return 0;
}

int profile_init(struct profile *p)
{
	*p = (struct profile){0};
	p->names = names_new();
	return p->names ? 0 : -ENOMEM;
}

void profile_release(struct profile *p)
{
	if (!p)
		return;
	names_free(p->names);
	free(p->processes);
	free(p->threads);
	free(p->samples);
	free(p->stats);
	*p = (struct profile){0};
}

int profile_add_process(struct profile *p, const struct process_info *v)
{
	const uint32_t strings[] = {v->comm, v->cmdline, v->container, v->python, v->exe};
	int err;

	if (v->id != p->n_processes)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		if (strings[i] >= names_strings(p->names))
			return -EINVAL;
	}
	err = reserve((void **)&p->processes, p->n_processes, sizeof(*p->processes));
	if (err < 0)
		return err;
	p->processes[p->n_processes++] = *v;
	p->summary.processes++;
	return 0;
}

int profile_add_thread(struct profile *p, const struct thread_info *v)
{
	int err;

	if (v->id != p->n_threads || v->process >= p->n_processes ||
	    v->name >= names_strings(p->names))
		return -EINVAL;
	err = reserve((void **)&p->threads, p->n_threads, sizeof(*p->threads));
	if (err < 0)
		return err;
	p->threads[p->n_threads++] = *v;
	p->summary.threads++;
	return 0;
}

int profile_add_sample(struct profile *p, const struct sample *v)
{
	int err;

	if (v->thread >= p->n_threads || v->process != p->threads[v->thread].process ||
	    v->stack >= names_stacks(p->names) || (unsigned int)v->outcome >= OUTCOME_MAX ||
	    (unsigned int)v->state >= RUN_MAX)
		return -EINVAL;
	err = reserve((void **)&p->samples, p->n_samples, sizeof(*p->samples));
	if (err < 0)
		return err;
	p->samples[p->n_samples++] = *v;
	p->summary.samples += 1 + (uint64_t)v->more;
	p->summary.outcomes[v->outcome] += 1 + (uint64_t)v->more;
	p->summary.states[v->state] += 1 + (uint64_t)v->more;
	p->summary.weights[v->state] += v->weight;
	p->end_mono = MAX(p->end_mono, v->time);
	return 0;
}

uint64_t profile_count(const struct profile *p)
{
	uint64_t n = p->n_samples;

	for (size_t i = 0; i < p->n_samples; i++)
		n += p->samples[i].more;
	return n;
}

void profile_keep_states(struct profile *p, uint32_t states)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_samples; i++)
		if (states & 1u << p->samples[i].state)
			p->samples[kept++] = p->samples[i];
	p->n_samples = kept;
}

int profile_add_stats(struct profile *p, uint32_t process, const struct stats *v)
{
	size_t n = (size_t)process + 1;

	if (process == STATS_OTHERS) {
		stats_add(&p->others, v);
		p->has_stats = true;
		return 0;
	}
	if (process >= p->n_processes)
		return -EINVAL;
	if (vec_reserve(&p->stats, &p->cap_stats, n, sizeof(*p->stats)))
		return -ENOMEM;
	if (n > p->n_stats) {
		memset(p->stats + p->n_stats, 0, (n - p->n_stats) * sizeof(*p->stats));
		p->n_stats = n;
	}
	stats_add(&p->stats[process], v);
	p->has_stats = true;
	return 0;
}

int profile_stats(const struct profile *p, struct stats_table *ret)
{
	struct stats_table t = {.rows = calloc(p->n_stats + 1, sizeof(*t.rows))};

	if (!t.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_stats; i++) {
		const struct process_info *info = &p->processes[i];

		if (stats_any(&p->stats[i]))
			t.rows[t.n++] = (struct stats_row){
				i, info->pid, names_string_at(p->names, info->comm, NULL),
				p->stats[i]};
	}
	if (stats_any(&p->others))
		t.rows[t.n++] = (struct stats_row){STATS_OTHERS, 0, "", p->others};
	stats_finish(&t);
	*ret = t;
	return 0;
}
