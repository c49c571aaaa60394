/* Open one perf event on every CPU and run the sampling program at its overflows. */
#include "collect/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"

#define CPUS_MAX 8192
#define ONLINE "/sys/devices/system/cpu/online"
#define ONLINE_MAX 65536
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

static const struct event {
	const char *name;
	uint32_t type, config;
	bool clock;
} events[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false},
};

/* The event on one CPU. */
struct cpu_event {
	int fd; /* -1: none */
	bool online;
	uint64_t enabled; /* time it had run at the last rescan */
};

struct perf {
	const struct event *event;
	struct perf_event_attr attr;
	int prog_fd;
	const char *online;
	bool on;
	struct cpu_event *cpus;
	uint32_t ncpus;
	uint64_t gone; /* samples asked of CPUs that went away */
};

/* What read() gives of an event. */
struct reading {
	uint64_t count;
	uint64_t enabled;
};

static const struct event *find_event(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

bool perf_known(const char *event)
{
	return find_event(event) != NULL;
}

bool perf_is_clock(const char *event)
{
	const struct event *e = find_event(event);

	return e && e->clock;
}

void perf_names(struct buf *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		buf_printf(b, "%s%s", i ? ", " : "", events[i].name);
}

static uint64_t read_number(const char *path)
{
	struct buf text;
	const char *p;
	uint64_t n = 0;

	buf_init(&text);
	if (!file_read(path, 64, &text) && text.data) {
		p = text.data;
		if (num_scan(&p, 10, &n))
			n = 0;
	}
	buf_release(&text);
	return n;
}

static void explain(struct buf *err, const struct perf *p, int rc)
{
	const char *name = p->event->name;

	switch (-rc) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
	case EOPNOTSUPP:
		buf_printf(err,
			   "this machine has no hardware counters: %s can't be sampled, try "
			   "-e " PERF_EVENT_DEFAULT,
			   name);
		break;
	case EACCES:
	case EPERM:
		buf_printf(err,
			   "no permission to sample %s: kernel.perf_event_paranoid is %lld, it "
			   "needs root or CAP_PERFMON (and a seccomp profile that allows "
			   "perf_event_open)",
			   name, (long long)read_number(PARANOID));
		break;
	case EBUSY:
		buf_printf(err, "the counter for %s is in use by another program", name);
		break;
	case EMFILE:
		buf_printf(err, "too many open files: %s needs one for each CPU", name);
		break;
	default:
		buf_printf(err, "can't sample %s: %s", name, strerror(-rc));
	}
}

static int check_rate(const struct perf_options *o, struct buf *err)
{
	uint64_t max = read_number(MAX_RATE);

	if (!o->freq || !max || o->freq <= max)
		return 0;
	buf_printf(err, "%llu Hz is above kernel.perf_event_max_sample_rate, which is %llu",
		   (unsigned long long)o->freq, (unsigned long long)max);
	return -EINVAL;
}

static int open_cpu(struct perf *p, uint32_t cpu)
{
	int fd = syscall(SYS_perf_event_open, &p->attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, p->prog_fd) ||
	    (p->on && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		rc = -errno;
		close(fd);
		return rc;
	}
	p->cpus[cpu].fd = fd;
	p->cpus[cpu].enabled = 0;
	return 0;
}

static int grow(struct perf *p, uint32_t ncpus)
{
	struct cpu_event *cpus;

	if (ncpus <= p->ncpus)
		return 0;
	cpus = realloc(p->cpus, ncpus * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	p->cpus = cpus;
	for (; p->ncpus < ncpus; p->ncpus++)
		cpus[p->ncpus] = (struct cpu_event){.fd = -1};
	return 0;
}

/* Sets `online` from a list such as "0-3,5". */
static int parse_online(struct perf *p, const char *s)
{
	uint64_t from, to;
	int rc;

	for (uint32_t i = 0; i < p->ncpus; i++)
		p->cpus[i].online = false;
	while (*s && *s != '\n') {
		rc = num_scan(&s, 10, &from);
		if (rc)
			return rc;
		to = from;
		if (*s == '-') {
			s++;
			rc = num_scan(&s, 10, &to);
			if (rc)
				return rc;
		}
		if (to < from || to >= CPUS_MAX)
			return -EINVAL;
		rc = grow(p, to + 1);
		if (rc)
			return rc;
		for (; from <= to; from++)
			p->cpus[from].online = true;
		if (*s == ',')
			s++;
	}
	return 0;
}

static int read_online(struct perf *p)
{
	struct buf text;
	int rc;

	buf_init(&text);
	rc = file_read(p->online, ONLINE_MAX, &text);
	if (!rc)
		rc = text.data ? parse_online(p, text.data) : -EINVAL;
	buf_release(&text);
	return rc;
}

static uint64_t samples_of(const struct perf *p, const struct reading *r)
{
	if (!p->attr.freq)
		return r->count / p->attr.sample_period;
	if (p->event->clock)
		return r->count / (NSEC_PER_SEC / p->attr.sample_freq);
	return r->enabled * p->attr.sample_freq / NSEC_PER_SEC;
}

static bool read_cpu(const struct cpu_event *c, struct reading *ret)
{
	return c->fd >= 0 && read(c->fd, ret, sizeof(*ret)) == sizeof(*ret);
}

static void close_cpu(struct perf *p, uint32_t cpu)
{
	struct cpu_event *c = &p->cpus[cpu];
	struct reading r;

	if (read_cpu(c, &r))
		p->gone += samples_of(p, &r);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* A CPU that went and came back within a second leaves an event that stands still. */
static bool stands_still(const struct perf *p, struct cpu_event *c)
{
	struct reading r;
	bool still;

	if (!p->on)
		return false;
	if (!read_cpu(c, &r))
		return true;
	still = c->enabled && r.enabled == c->enabled;
	c->enabled = r.enabled;
	return still;
}

int perf_rescan(struct perf *p)
{
	int rc = p ? read_online(p) : 0;
	int changed = 0;

	if (rc || !p)
		return rc;
	for (uint32_t cpu = 0; cpu < p->ncpus; cpu++) {
		struct cpu_event *c = &p->cpus[cpu];

		if (c->fd >= 0 && (!c->online || stands_still(p, c))) {
			close_cpu(p, cpu);
			changed++;
		}
		if (c->fd < 0 && c->online) {
			rc = open_cpu(p, cpu);
			if (!rc)
				changed++;
			else if (rc != -ENODEV) /* went again meanwhile */
				return rc;
		}
	}
	return changed;
}

int perf_open(struct perf **ret, const struct perf_options *o, struct buf *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	int rc = -ENOMEM;

	if (!p) {
		buf_printf(err, "can't sample %s: not enough memory", o->event);
		goto out;
	}
	p->prog_fd = o->prog_fd;
	p->online = o->online ? o->online : ONLINE;
	p->event = find_event(o->event);
	rc = -EINVAL;
	if (!p->event) {
		buf_printf(err, "unknown event '%s'; known are ", o->event);
		perf_names(err);
		goto out;
	}
	rc = check_rate(o, err);
	if (rc)
		goto out;
	p->attr = (struct perf_event_attr){
		.size = sizeof(p->attr),
		.type = p->event->type,
		.config = p->event->config,
		.freq = o->freq != 0,
		.sample_period = o->freq ? o->freq : MAX(o->period, (uint64_t)1),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};
	rc = perf_rescan(p);
	if (rc == 0)
		rc = -ENODEV;
	if (rc < 0) {
		explain(err, p, rc);
		goto out;
	}
	*ret = p;
	return 0;
out:
	perf_close(p);
	return rc;
}

void perf_close(struct perf *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->ncpus; i++)
		if (p->cpus[i].fd >= 0)
			close(p->cpus[i].fd);
	free(p->cpus);
	free(p);
}

static int control(struct perf *p, unsigned long request, bool on)
{
	int rc = 0;

	if (!p)
		return 0;
	p->on = on;
	for (uint32_t i = 0; i < p->ncpus; i++)
		if (p->cpus[i].fd >= 0 && ioctl(p->cpus[i].fd, request, 0))
			rc = -errno;
	return rc;
}

int perf_enable(struct perf *p)
{
	return control(p, PERF_EVENT_IOC_ENABLE, true);
}

int perf_disable(struct perf *p)
{
	return control(p, PERF_EVENT_IOC_DISABLE, false);
}

uint32_t perf_cpus(const struct perf *p)
{
	uint32_t n = 0;

	if (!p)
		return (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 0);
	for (uint32_t i = 0; i < p->ncpus; i++)
		n += p->cpus[i].fd >= 0;
	return n;
}

uint64_t perf_asked(const struct perf *p)
{
	uint64_t n;
	struct reading r;

	if (!p)
		return 0;
	n = p->gone;
	for (uint32_t i = 0; i < p->ncpus; i++)
		if (read_cpu(&p->cpus[i], &r))
			n += samples_of(p, &r);
	return n;
}
