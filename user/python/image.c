/* The loaded copies of files in a process: each a run of mappings, as a loader leaves them. */
#include "python/image.h"
#include <stdlib.h>

static bool same_file(const struct map *a, const struct map *b)
{
	return a->inode == b->inode && a->dev == b->dev;
}

/* Takes the run that starts at mapping `from`. */
static struct image take(const struct maps *maps, size_t from)
{
	const struct map *first = &maps->v[from], *last = first;
	struct image image = {.map = first, .n = 1};

	for (size_t i = from; i < maps->n; i++) {
		const struct map *map = &maps->v[i];

		if (!map->inode)
			continue;
		if (!same_file(map, first) || map->offset < last->offset)
			break;
		last = map;
		image.n = i - from + 1;
		image.extent = MAX(image.extent, map->offset + (map->end - map->start));
	}
	for (size_t i = 0; i < image.n; i++)
		image.exec = image.exec || first[i].exec;
	return image;
}

struct image *image_list(const struct maps *maps, size_t *ret_n)
{
	struct image *v = calloc(maps->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v && i < maps->n;) {
		if (!maps->v[i].inode) {
			i++;
			continue;
		}
		v[n] = take(maps, i);
		i += v[n++].n;
	}
	*ret_n = n;
	return v;
}

static bool holds(const struct image *i, uint64_t addr)
{
	return i->n && addr >= i->map[0].start && addr < i->map[i->n - 1].end;
}

void image_mark_program(struct image *v, size_t n, uint64_t start_code)
{
	for (size_t i = 0; i < n; i++)
		v[i].program = holds(&v[i], start_code);
}

bool image_maps_file(const struct image *image, size_t i)
{
	return i < image->n && same_file(&image->map[i], image->map);
}
