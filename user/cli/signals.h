/* What signals do to scry record: stop it, or go on to the command that it runs. */
#ifndef SCRY_CLI_SIGNALS_H
#define SCRY_CLI_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signals {
	volatile sig_atomic_t stop; /* set when the recording is to end */
	pid_t command;		    /* forward to it; 0: signals stop the recording */
	/* the rest is private */
	sigset_t set, old;
	struct sigaction old_pipe, old_size;
	bool no_interrupt; /* SIGINT was ignored when scry started: a background job */
	uint64_t stopped;  /* when stop was set, ns */
	bool running;
	pthread_t thread;
	int fd, quit, pidfd;
};

/* Blocks the signals in this thread and those it starts, and ignores SIGPIPE and SIGXFSZ:
 * writes fail instead. Before any thread. */
void signals_block(struct signals *s, bool command);
/* Handles them from now on, in a thread of its own. 0 or -errno. */
int signals_start(struct signals *s, pid_t command);
void signals_end(struct signals *s);

#endif
