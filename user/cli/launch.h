/* Run a command: held before its exec until the recording is ready, as the user who called sudo. */
#ifndef SCRY_CLI_LAUNCH_H
#define SCRY_CLI_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/buf.h"
#include "cli/status.h"

struct launch {
	pid_t pid;
	int go;	  /* a byte written lets the child exec; closed, the child ends */
	int fate; /* end of file: it was exec'd; else a struct launch_failure */
};

struct launch_options {
	char **argv;
	bool as_root;
	bool stdout_taken;    /* its standard output is our standard error */
	const sigset_t *mask; /* signal mask, SIGPIPE and SIGXFSZ action that it starts with */
	const struct sigaction *pipe_action, *size_action;
};

/* Forks. STATUS_OK or STATUS_LAUNCH with a text. */
enum status launch_start(struct launch *l, const struct launch_options *o, struct buf *ret_text);
/* Lets it exec and waits until it has: STATUS_OK, or else the child is gone and ret_text says why.
 */
enum status launch_go(struct launch *l, const char *name, struct buf *ret_text);
/* Has it ended? It stays to be waited for, so that its pid is not used again. */
bool launch_ended(const struct launch *l);
/* Waits for its end; its exit status as a shell says it: 128 + N when signal N killed it. */
int launch_wait(struct launch *l);
/* Before launch_go: it ends without having run. Does nothing when there is none. */
void launch_cancel(struct launch *l);

#endif
