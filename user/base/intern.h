/* Intern byte strings of any content and length: equal bytes get equal ids, counted from 0. */
#ifndef SCRY_BASE_INTERN_H
#define SCRY_BASE_INTERN_H

#include "base/compiler.h"

#define INTERN_NONE UINT32_MAX

struct intern;

struct intern *intern_new(void); /* NULL when out of memory */
void intern_free(struct intern *t);
/* The id of these bytes, which are copied when new; INTERN_NONE when out of memory. */
uint32_t intern_put(struct intern *t, const void *p, size_t len);
/* The bytes of an id below intern_count(), NUL-terminated behind len; valid as long as the table.
 */
const char *intern_get(const struct intern *t, uint32_t id, size_t *ret_len);
uint32_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t); /* memory held */

#endif
