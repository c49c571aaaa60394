/* Exit statuses of scry. */
#include "cli/status.h"

enum status status_of_session(enum session_error e)
{
	switch (e) {
	case SESSION_OK:
		return STATUS_OK;
	case SESSION_PERMISSION:
		return STATUS_PERMISSION;
	case SESSION_KERNEL:
		return STATUS_KERNEL;
	case SESSION_EVENT:
		return STATUS_EVENT;
	case SESSION_NO_PROCESS:
		return STATUS_NO_PROCESS;
	case SESSION_NOT_PYTHON:
		return STATUS_NOT_PYTHON;
	case SESSION_UNSUPPORTED:
		return STATUS_UNSUPPORTED;
	case SESSION_OUTPUT:
		return STATUS_WRITE;
	case SESSION_INTERNAL:
		break;
	}
	return STATUS_INTERNAL;
}
