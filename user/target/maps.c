/* The mappings of a process: /proc/PID/maps, parsed. */
#include "target/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"
#include "target/task.h"

#define MAPS_MAX_TEXT (32u << 20)
#define MAPS_MAX_MAJOR 0xfffu /* MAJOR is 12 bits of the kernel's dev_t, MINOR 20 */
#define MAPS_MAX_MINOR 0xfffffu

/* A number in hex or decimal and what must follow it. */
static int number(const char **s, int base, char behind, uint64_t *ret)
{
	int err = num_scan(s, base, ret);

	if (err)
		return err;
	if (**s != behind)
		return -EINVAL;
	(*s)++;
	return 0;
}

/* "r-xp " */
static int permissions(const char **s, struct map *m)
{
	const char *p = *s;

	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return -EINVAL;
	m->read = p[0] == 'r';
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	*s = p + 5;
	return 0;
}

/* The kernel writes a newline as \012 and nothing else that way, not even the backslash. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static void path_of(char *s, struct map *m)
{
	static const char deleted[] = " (deleted)";
	size_t n;

	while (*s == ' ')
		s++;
	n = strlen(s);
	if (n > sizeof(deleted) - 1 && !strcmp(s + n - (sizeof(deleted) - 1), deleted)) {
		m->deleted = true;
		s[n - (sizeof(deleted) - 1)] = '\0';
	}
	unescape(s);
	m->path = s;
}

static int parse_line(char *line, struct map *ret)
{
	struct map m = {.path = ""};
	uint64_t major, minor;
	const char *s = line;

	if (number(&s, 16, '-', &m.start) || number(&s, 16, ' ', &m.end) || permissions(&s, &m) ||
	    number(&s, 16, ' ', &m.offset) || number(&s, 16, ':', &major) ||
	    number(&s, 16, ' ', &minor) || num_scan(&s, 10, &m.inode))
		return -EINVAL;
	if (m.start >= m.end || major > MAPS_MAX_MAJOR || minor > MAPS_MAX_MINOR ||
	    (*s && *s != ' '))
		return -EINVAL;
	m.dev = (uint32_t)(major << 20 | minor);
	path_of(line + (s - line), &m);
	*ret = m;
	return 0;
}

int maps_parse(char *text, struct maps *ret)
{
	struct maps m = {0};
	size_t cap = 0;

	for (char *line = text, *next; *line && m.n < MAPS_MAX; line = next) {
		size_t n = strcspn(line, "\n");

		next = line[n] ? line + n + 1 : line + n;
		line[n] = '\0';
		if (vec_reserve(&m.v, &cap, m.n + 1, sizeof(*m.v))) {
			free(m.v);
			return -ENOMEM;
		}
		if (!parse_line(line, &m.v[m.n]) && (!m.n || m.v[m.n].start >= m.v[m.n - 1].end))
			m.n++;
	}
	*ret = m;
	return 0;
}

struct reading {
	pid_t pid;
	struct buf *text;
	int err;
};

/* 1 when the thread's maps have been read; 0 when it has none any more. */
static int read_thread(pid_t tid, void *arg)
{
	struct reading *r = arg;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", r->pid, tid);
	r->err = file_read(path, MAPS_MAX_TEXT, r->text);
	if (r->err == -ENOENT)
		r->err = -ESRCH;
	return (!r->err && r->text->len) || (r->err && r->err != -ESRCH);
}

int maps_read(pid_t pid, struct maps *ret)
{
	struct reading r = {.pid = pid};
	struct buf text;
	int err;

	*ret = (struct maps){0};
	buf_init(&text);
	r.text = &text;
	/* that of the first thread is empty once it has ended, though others may go on */
	if (!read_thread(pid, &r))
		task_each_thread(pid, read_thread, &r);
	err = r.err;
	if (!err && !text.len)
		err = -ESRCH;
	if (!err)
		err = maps_parse(text.data, ret);
	if (err)
		buf_release(&text);
	else
		ret->text = text.data;
	return err;
}

void maps_release(struct maps *m)
{
	if (!m)
		return;
	free(m->v);
	free(m->text);
	*m = (struct maps){0};
}

const struct map *maps_find(const struct maps *m, uint64_t addr)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n && m->v[lo].start <= addr ? &m->v[lo] : NULL;
}
