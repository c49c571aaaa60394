/* What was seen of a frame's code object while the frame was there: the proof that an object read
 * later is the one that ran (design.md §6). */
#ifndef SCRY_PYTHON_IDENTITY_H
#define SCRY_PYTHON_IDENTITY_H

#include "python/layout.h"
#include "remote/addr.h"

struct identity {
	enum layout_proof proof;
	bool ok; /* the kernel or a witnessed read got it; false: the frame can't be named */
	uint64_t name_hash;  /* NAME: hash stored in the name that is shown; its unicode_mark() when
				that is -1 or 0; 0 when neither was had */
	uint32_t file_mark;  /* NAME: the same of co_filename, low half; 0 when not had */
	raddr_t filename;    /* NAME, VERSION: co_filename pointer; VERSION: 0 when not had */
	int32_t firstlineno; /* the same */
	uint32_t version;    /* VERSION: co_version of the frame's code object; COUNTER: the
				interpreter's N */
	bool has_generation;
	uint64_t generation; /* COUNTER, 3.14+: _code_object_generation at the tick */
	raddr_t interp; /* COUNTER, VERSION: whose numbers these are; 0: not known. With several
			   interpreters `version` must be 0: only the generation is proof then */
};

#endif
