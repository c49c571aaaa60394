/* Exit statuses of scry; scry(1) lists them, numbers follow sysexits.h where it has one. */
#ifndef SCRY_CLI_STATUS_H
#define SCRY_CLI_STATUS_H

#include "collect/session.h"

enum status {
	STATUS_OK = 0,
	STATUS_USAGE = 64,	 /* the command line is wrong */
	STATUS_DATA = 65,	 /* a recording that is damaged, or not one of scry's */
	STATUS_NO_INPUT = 66,	 /* no such recording */
	STATUS_NO_PROCESS = 67,	 /* no such process */
	STATUS_NOT_PYTHON = 68,	 /* a process that is not Python and has no Python descendant */
	STATUS_KERNEL = 69,	 /* something that this kernel does not have or allow */
	STATUS_INTERNAL = 70,	 /* a fault of scry, or out of memory */
	STATUS_UNSUPPORTED = 71, /* a Python that scry can't read */
	STATUS_CREATE = 73,	 /* the output can't be created */
	STATUS_WRITE = 74,	 /* writing the output, or reading the input, failed */
	STATUS_EVENT = 76,	 /* an event that is unknown or that this machine lacks */
	STATUS_PERMISSION = 77,	 /* not root, or a capability is missing */
	/* record -- COMMAND, as a shell says */
	STATUS_LAUNCH = 125,	   /* scry failed, at any of the above but the command line */
	STATUS_NOT_RUNNABLE = 126, /* the command was found but can't be run */
	STATUS_NOT_FOUND = 127,	   /* the command was not found */
	STATUS_SIGNAL = 128,	   /* + N: the command was killed by signal N */
};

enum status status_of_session(enum session_error e);

#endif
