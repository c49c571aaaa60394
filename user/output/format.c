/* The table of export formats. */
#include "output/format.h"

#include <string.h>
#include "output/flamegraph.h"
#include "output/folded.h"
#include "output/pprof.h"

static const struct format formats[] = {
	{"folded", "stacks as lines: frame;frame;… count", folded_write},
	{"flamegraph", "one HTML file to look at, zoom and search in", flamegraph_write},
	{"pprof", "a gzipped profile.proto, for pprof and what reads its files", pprof_write},
};

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}

const struct format *format_all(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(formats);
	return formats;
}
