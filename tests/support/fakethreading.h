/* A process in a fake memory that has imported threading, with one thread, by any layout. */
#ifndef SCRY_SUPPORT_FAKETHREADING_H
#define SCRY_SUPPORT_FAKETHREADING_H

#include "python/threading.h"
#include "tests/support/fakemem.h"

#define FAKETHREADING_IDENT 0x7f0000001740ull
#define FAKETHREADING_TID 4321u
#define FAKETHREADING_PLACES 64

/* Where the Thread object has its attributes. */
enum fakethreading_form {
	FAKETHREADING_DICT,   /* a dict of its own */
	FAKETHREADING_SPLIT,  /* a dict with the class's keys */
	FAKETHREADING_VALUES, /* values and no dict (3.11+) */
	FAKETHREADING_FORMS,
};

struct fakethreading {
	struct discover_found found;
	enum fakethreading_form form;
	struct mem *mem;
	struct threading threading;
	raddr_t places[FAKETHREADING_PLACES]; /* of all objects and tables, in pages of their own */
	size_t n;
	raddr_t active_keys, attr_keys;		/* the tables */
	raddr_t thread, class, native_id, name; /* objects */
	raddr_t name_at;			/* where the attribute's value is */
};

/* Layouts of all versions, free-threaded ones too; false: no more. */
bool fakethreading_layout(size_t i, struct layout *ret);
/* False: instances of this version have no such form. */
bool fakethreading_has(const struct layout *l, enum fakethreading_form form);
void fakethreading_init(struct fakethreading *w, const struct layout *l,
			enum fakethreading_form form, const char *name);
void fakethreading_release(struct fakethreading *w);
/* Another str object. */
raddr_t fakethreading_str(struct fakethreading *w, const char *text);
/* threading_name() of the thread; *out is empty before. */
int fakethreading_ask(struct fakethreading *w, struct buf *out);

#endif
