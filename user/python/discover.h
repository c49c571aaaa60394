/* Find CPython in a process: by fact, not by name. */
#ifndef SCRY_PYTHON_DISCOVER_H
#define SCRY_PYTHON_DISCOVER_H

#include <sys/types.h>
#include "python/code.h"
#include "python/layout.h"
#include "remote/mem.h"

/* Why a process can't be profiled; discover_reason() gives the words. */
enum discover_why {
	DISCOVER_OK,
	DISCOVER_NOT_PYTHON, /* no runtime mapped: worth another look only when more code is mapped
			      */
	DISCOVER_NOT_YET, /* a runtime is mapped but not (or no longer) initialised: look again soon
			   */
	DISCOVER_UNSUPPORTED, /* a version scry does not know: `version` says which */
	DISCOVER_INVALID,     /* a known version whose structures do not hold: not this layout */
	DISCOVER_DENIED,      /* its memory may not be read */
	DISCOVER_GONE,
	DISCOVER_STUCK, /* a read did not come back */
};

struct discover_found {
	enum discover_why why;
	uint32_t version; /* PY_VERSION_HEX; 0 when only the minor is known */
	uint32_t minor;
	bool debug_build;
	struct layout layout;
	raddr_t runtime; /* _PyRuntime */
	raddr_t main_interp;
	raddr_t gil; /* main interpreter's struct _gil_runtime_state; 0 when free-threaded */
	struct code_types types; /* that of code from a live object, else both from symbols */
	char how[32];		 /* "symbol", "section", "memory" */
	char path[256];		 /* the file that holds the runtime, as mapped */
};

/* Files already looked at, by what the mapping reports and build id; results also "not Python". */
struct discover;
struct discover *discover_new(void);
void discover_free(struct discover *d);
/* Looks at one process. Returns ret->why, and never fails in another way. */
enum discover_why discover_process(struct discover *d, pid_t pid, struct mem *m,
				   struct discover_found *ret);
/* One line, without a full stop: what was tried and what to do. */
const char *discover_reason(enum discover_why why);

#endif
