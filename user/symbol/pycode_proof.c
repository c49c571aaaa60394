/*
 * Does it follow that the object that was read is the one that ran?
 *
 * A frame says: at address A stood a code object. By the time it is read another one may be there,
 * alike in all but its name. So the tick records what identifies the object, and a name is given
 * only when it follows that the object read is the one that ran. An address has one owner at a
 * time, and a frame keeps its code object alive. "Alive at A" below is: type and reference count
 * hold, in the first and in the last read of the object (pycode_read.c).
 *
 * COUNTER (3.13+). An interpreter numbers its code objects in the order they are made: co_version
 * v, from a counter that only rises. The tick records the counter, N.
 *  1. v is alive at A when read, at r, and 0 < v < N(t) of a tick t before r: v was made before t
 *     and lived until r, so A was its own at t. All ticks of a drain are before its reads.
 *  2. The entry keeps the highest N of that drain, N*, of a tick t* before r. It serves a later
 *     query with v < N <= N* without reading:
 *       N < N*: the counter rises, so t is before t*, hence before r: as 1.
 *       N = N*: no code object was made between t and t*. If t is before r: as 1. If after: none
 *       was made since r either; whatever ran at A at t was made before r, and at r that was v.
 *     Any other N is no proof: v may have died since r. Its head is read again: the same v, alive,
 *     is the same object, and N* moves up.
 *  3. The generation G (3.14+) counts code objects that died. The entry keeps the G of a tick t* at
 *     which v was at A (v < N*, and alive later). A query with the same G, earlier or later, and
 *     whatever its N: between t and t* none died, so what ran at A at one ran there at the other.
 *  4. G read behind the last head equals G(t): none died between the tick and the read: v ran. This
 *     holds within one interpreter also when there are several, or when N has wrapped to 0.
 * A counter wrapped to 0 or a v of 0 proves nothing; nor does N when several interpreters number
 * theirs in one address space (the caller then says 0).
 *
 * An object in the making. A successor at A has its names before its own version: for some 50 ns it
 * looks like its predecessor, renamed. Our reads take longer, but the target may stand still just
 * there (1 of 100,000 samples of a program that does nothing but make and drop code). Its count of
 * references is 1 then, and no function has it. So an object that was not known before is doubted
 * if its count is 1, unless the function of a frame that ran it is a live function and has it, or
 * none died since the first tick that asks for it (4); where deaths are not counted, unless drains
 * have seen none lately. A doubted entry answers nothing until its head is read again, the same,
 * for a tick after the reading: the target has moved on by then, and an object in the making would
 * have its own version.
 *
 * What remains: the first sub-interpreter is made after the tick and takes A over before the read;
 * and before 3.14, an object in the making where none has died in the drains before.
 *
 * VERSION (3.12, and where the counter is no proof). The tick read v of this very object; versions
 * of one interpreter don't come twice: (A, v) is the object, whenever it is read, and a hit needs
 * no read. Interpreters number alike, so the entry keeps whose v it is; for an object of another
 * one that is at A with the same v by chance, the first line and the file name's pointer must
 * agree.
 *
 * NAME (3.8 - 3.11). The tick read the first line, the pointer to co_filename, and of the name
 * (co_qualname on 3.11, else co_name) and of that file name the hash that is stored in them, or
 * where that was never computed a mark of length and first characters (both are kept: a hash may
 * come later). All equal: the same name and file, unless they have no hash and differ only behind
 * those characters. So entries in use are read again every RECHECK drains, and whenever their
 * object was last seen dead. Which of two such objects it was, the lines don't say: equal names,
 * files and first lines with another line table are told apart at that reading only.
 *
 * An entry whose object is gone is retired: its names stay with the stacks that have them.
 */
#include "symbol/pycode_proof.h"

#define NO_HASH UINT64_MAX

bool pycode_proof_possible(const struct identity *id)
{
	if (!id->ok)
		return false;
	switch (id->proof) {
	case LAYOUT_PROOF_COUNTER:
		return id->version || id->has_generation;
	case LAYOUT_PROOF_VERSION:
		return true; /* 0: only a shim */
	case LAYOUT_PROOF_NAME:
		return id->name_hash && id->name_hash != NO_HASH;
	}
	return false;
}

static bool is_where(const struct code *head, const struct identity *id)
{
	return !id->filename ||
	       (head->filename == id->filename && head->firstlineno == (uint32_t)id->firstlineno);
}

bool pycode_proof_holds(const struct pycode_entry *e, const struct identity *id)
{
	const struct pycode_fact *f = &e->fact;
	uint32_t v = e->head.version;

	if (e->shim)
		return true;
	if (e->doubted)
		return false;
	switch (id->proof) {
	case LAYOUT_PROOF_COUNTER:
		if (f->interp != id->interp)
			return false;
		if (f->has_generation && id->has_generation && f->generation == id->generation)
			return true;
		return v && v < id->version && id->version <= f->counter;
	case LAYOUT_PROOF_VERSION:
		return v && v == id->version && f->interp == id->interp && is_where(&e->head, id);
	case LAYOUT_PROOF_NAME:
		return e->head.filename == id->filename &&
		       e->head.firstlineno == (uint32_t)id->firstlineno &&
		       (e->hash[0] == id->name_hash || e->mark[0] == id->name_hash) &&
		       (!id->file_mark || (uint32_t)e->hash[1] == id->file_mark ||
			(uint32_t)e->mark[1] == id->file_mark);
	}
	return false;
}

bool pycode_proof_may_be(const struct layout *l, const struct code *head, const struct identity *id)
{
	switch (id->proof) {
	case LAYOUT_PROOF_COUNTER:
		return (head->version && head->version < id->version) ||
		       (id->has_generation && id->interp && l->interp.generation != LAYOUT_NONE);
	case LAYOUT_PROOF_VERSION:
		return head->version && head->version == id->version && is_where(head, id);
	case LAYOUT_PROOF_NAME:
		return head->filename == id->filename &&
		       head->firstlineno == (uint32_t)id->firstlineno;
	}
	return false;
}

/*
 * A call of a class runs a static code object of the interpreter's own, without a version and with
 * one string for all of its names. It is immortal and lies in no heap, so an object like that is
 * the one that ran, whenever it is read.
 */
bool pycode_proof_shim(const struct layout *l, raddr_t runtime, const struct code *head)
{
	return head->immortal && !head->version && head->name == head->filename &&
	       head->name == head->qualname && head->name - runtime < l->runtime.size;
}
