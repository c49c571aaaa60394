/* What the threads of processes do now, as scry dump shows it. */
#ifndef SCRY_OUTPUT_DUMP_H
#define SCRY_OUTPUT_DUMP_H

#include <stdio.h>
#include "profile/moment.h"

/* Both write the moment as it is sorted. Errors stay in f: the caller asks ferror() and fflush().
 */
void dump_text(FILE *f, const struct moment *m);
void dump_json(FILE *f, const struct moment *m); /* one object on one line; scry(1) has its keys */

#endif
