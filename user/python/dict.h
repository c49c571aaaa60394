/* Dicts, and the attributes of instances, in a process: by the layout, along a trail. */
#ifndef SCRY_PYTHON_DICT_H
#define SCRY_PYTHON_DICT_H

#include "python/layout.h"
#include "remote/trail.h"

#define DICT_MAX 65536	 /* entries; a larger one is not read */
#define DICT_NAMES 4	 /* that dict_find() looks for at once */
#define DICT_NAME_MAX 24 /* bytes of such a name */

/* Of tp_flags: Py_TPFLAGS_LONG_SUBCLASS and so on. */
enum dict_type { DICT_TYPE_INT = 1 << 24, DICT_TYPE_STR = 1 << 28, DICT_TYPE_DICT = 1 << 29 };

struct dict {
	raddr_t values;	    /* where they are, one for each entry; 0: in the entries */
	raddr_t entries;    /* {hash, key, value} or, with keys that are all str, {key, value} */
	uint32_t n;	    /* of them; some are empty */
	uint32_t size, key; /* of an entry; of the key in it, the value is behind */
};

/* All of them take steps of the trail; false: it has an error, or what is there makes no sense. */
bool dict_of(struct trail *t, const struct layout *l, raddr_t object, struct dict *ret);
/* The attributes of an instance of a class that was made in Python. */
bool dict_of_instance(struct trail *t, const struct layout *l, raddr_t object, struct dict *ret);
/* The entries with these keys, up to DICT_NAMES ASCII strings: false unless all are there. */
bool dict_find(struct trail *t, const struct layout *l, const struct dict *d,
	       const char *const *names, size_t n, uint32_t *ret);
/* The entry whose key has this hash, as an int below 2^61 has itself. */
bool dict_find_hash(struct trail *t, const struct dict *d, uint64_t hash, uint32_t *ret);
/* Is it an int, or whatever else is asked? */
bool dict_is_a(struct trail *t, const struct layout *l, raddr_t object, enum dict_type type);
/* An entry's; 0: it has none, or t->error. */
raddr_t dict_value(struct trail *t, const struct dict *d, uint32_t entry);

#endif
