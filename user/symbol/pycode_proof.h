/* Does it follow that the object that was read is the one that ran? Pure. */
#ifndef SCRY_SYMBOL_PYCODE_PROOF_H
#define SCRY_SYMBOL_PYCODE_PROOF_H

#include "symbol/pycode.h"
#include "symbol/pycode_table.h"

/* Could any object be proven to be the one? */
bool pycode_proof_possible(const struct identity *id);
/* Is the entry's object the one that ran? */
bool pycode_proof_holds(const struct pycode_entry *e, const struct identity *id);
/* Could the object with this head turn out to be, when all of it is read? */
bool pycode_proof_may_be(const struct layout *l, const struct code *head,
			 const struct identity *id);
/* Is it no function, but what the interpreter at `runtime` runs to call a class (3.13+)? */
bool pycode_proof_shim(const struct layout *l, raddr_t runtime, const struct code *head);

#endif
