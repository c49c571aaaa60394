/* Every CPython process of the machine, as `scry ps` shows it. */
#include "collect/census.h"
#include <errno.h>
#include <unistd.h>
#include "python/discover.h"
#include "python/version.h"
#include "remote/guard.h"
#include "remote/procmem.h"
#include "target/task.h"

struct census {
	struct discover *discover;
	struct guard *guard;
	census_fn fn;
	void *arg;
	struct census_others others;
};

static int report(struct census *c, pid_t pid, const struct discover_found *f)
{
	char version[VERSION_FORMAT_MAX] = "";

	if (f->version || f->minor)
		version_format(f->version, f->minor, version, sizeof(version));
	return c->fn(
		&(struct census_process){
			.pid = pid,
			.reason = f->why == DISCOVER_OK ? NULL : discover_reason(f->why),
			.version = version,
			.debug_build = f->debug_build,
			.free_threaded = f->layout.free_threaded,
			.how = f->how,
			.path = f->path,
		},
		c->arg);
}

static int visit(pid_t pid, void *arg)
{
	struct census *c = arg;
	struct discover_found found;
	struct mem *m = NULL;
	int r;

	if (pid == getpid())
		return 0;
	r = procmem_new_guarded(pid, c->guard, &m);
	if (r == -ENOMEM)
		return r;
	if (r)
		return 0; /* it has ended */
	discover_process(c->discover, pid, m, &found);
	mem_free(m);
	switch (found.why) {
	case DISCOVER_GONE:
		return 0;
	case DISCOVER_NOT_PYTHON:
		c->others.not_python++;
		return 0;
	case DISCOVER_DENIED:
		if (!found.path[0]) {
			c->others.denied++;
			return 0;
		}
		break;
	default:
		break;
	}
	return report(c, pid, &found);
}

static int visit_all(void *arg)
{
	return task_each_process(visit, arg);
}

int census_take(census_fn fn, void *arg, struct census_others *ret)
{
	struct census c = {.fn = fn, .arg = arg, .discover = discover_new()};
	int err = -ENOMEM, r = 0;

	if (c.discover)
		err = guard_new(GUARD_LIMIT_NS, &c.guard);
	if (!err)
		err = guard_run(c.guard, visit_all, &c, &r);
	guard_free(c.guard);
	discover_free(c.discover);
	*ret = c.others;
	return err ? err : r;
}
