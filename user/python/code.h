/* The head of a code object, decoded. Pure. */
#ifndef SCRY_PYTHON_CODE_H
#define SCRY_PYTHON_CODE_H

#include "python/layout.h"
#include "remote/addr.h"

#define CODE_MAX 256 /* bytes of the head that are read at most: layout.code.size fits */

struct code {
	raddr_t type;
	bool alive;    /* its reference count is plausible for a live object */
	bool immortal; /* and says that it is never freed (3.12+) */
	bool single;   /* and is 1: nobody runs it, or it is still being made */
	raddr_t filename, name, qualname,
		lines;	       /* objects; qualname 0 where the version has none */
	raddr_t bytecode;      /* first instruction (3.11+); 0 before */
	uint32_t bytecode_len; /* bytes of instructions (3.11+) */
	uint32_t version;      /* co_version; 0 before 3.12 */
	uint32_t firstlineno;
};

/* From the bytes of the head at `addr`. 0 or -EINVAL when they can't be a code object. */
int code_head(const struct layout *l, raddr_t addr, const void *bytes, size_t len,
	      struct code *ret);
/*
 * The byte offset of the instruction a frame is at, for linetable_line(): from f_lasti, prev_instr
 * or instr_ptr. -1 when it lies outside of the code (free-threaded copies: see tlbc).
 */
int64_t code_offset(const struct layout *l, const struct code *c, uint64_t instr);

/* Addresses of PyCode_Type and PyFunction_Type; 0: not known, any type will do. */
struct code_types {
	raddr_t code, function;
};

/* Bytes of a function object that code_of_function() looks at (3.12+). */
uint32_t code_function_size(const struct layout *l);
/* The code object of the live function with these bytes; 0 when it is not alive, or no function of
 * this type. */
raddr_t code_of_function(const struct layout *l, raddr_t type, const void *bytes);

#endif
