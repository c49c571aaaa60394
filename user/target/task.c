/* Facts about a process and its threads from /proc. */
#include "target/task.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"

#define TASK_MAX_STAT 4096
#define TASK_MAX_STATUS 65536
#define TASK_MAX_CGROUP 65536
#define TASK_ID_HEX 64u
#define TASK_ID_ECS 32u

/* Fields of stat by their number in proc(5), counted from the state, which is the third. */
enum {
	STAT_PPID = 4,
	STAT_UTIME = 14,
	STAT_STIME,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_START_CODE = 26,
	STAT_START_STACK = 28,
	STAT_END
};

int task_parse_stat(const char *text, size_t len, struct task_stat *ret)
{
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len), *s;
	uint64_t v[STAT_END] = {0};
	struct task_stat t = {0};
	char rest[1536];
	size_t n;

	if (!open || !close || close < open)
		return -EINVAL;
	n = MIN((size_t)(close - open - 1), sizeof(t.comm) - 1);
	memcpy(t.comm, open + 1, n);
	n = (size_t)(text + len - close) - 1;
	if (n < 3 || n >= sizeof(rest))
		return -EINVAL;
	memcpy(rest, close + 1, n);
	rest[n] = '\0';
	if (rest[0] != ' ' || rest[2] != ' ')
		return -EINVAL;
	t.state = rest[1];
	s = rest + 2;
	for (int i = STAT_PPID; i < STAT_END; i++) {
		if (*s++ != ' ')
			return -EINVAL;
		s += *s == '-'; /* of a field that does not matter here */
		if (num_scan(&s, 10, &v[i]))
			return -EINVAL;
	}
	if (v[STAT_PPID] > INT_MAX || v[STAT_THREADS] > UINT32_MAX)
		return -EINVAL;
	t.ppid = (pid_t)v[STAT_PPID];
	t.utime = v[STAT_UTIME];
	t.stime = v[STAT_STIME];
	t.threads = (uint32_t)v[STAT_THREADS];
	t.start_ticks = v[STAT_START];
	t.image = (struct image_id){.start_code = v[STAT_START_CODE],
				    .start_stack = v[STAT_START_STACK]};
	*ret = t;
	return 0;
}

bool task_same_image(const struct image_id *a, const struct image_id *b)
{
	return a->start_code == b->start_code && a->start_stack == b->start_stack;
}

bool task_ended(const struct task_stat *s)
{
	return s->state == 'Z' || s->state == 'X';
}

/* Appends /proc/PID/NAME, or of a thread; a process that has ended meanwhile is -ESRCH. */
static int read_proc(pid_t pid, pid_t tid, const char *name, size_t max, struct buf *b)
{
	char path[96];
	int err;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	err = file_read(path, max, b);
	return err == -ENOENT ? -ESRCH : err;
}

int task_stat(pid_t pid, pid_t tid, struct task_stat *ret)
{
	struct buf b;
	int err;

	buf_init(&b);
	err = read_proc(pid, tid, "stat", TASK_MAX_STAT, &b);
	if (!err)
		err = task_parse_stat(b.data, b.len, ret);
	buf_release(&b);
	return err;
}

struct living {
	pid_t pid, tid;
	struct task_stat *stat;
};

static int take_living(pid_t tid, void *arg)
{
	struct living *l = arg;
	struct task_stat st;

	if (task_stat(l->pid, tid, &st) || task_ended(&st))
		return 0;
	l->stat->state = st.state;
	l->stat->image = st.image;
	l->tid = tid;
	return 1;
}

int task_stat_process(pid_t pid, struct task_stat *ret, pid_t *ret_tid)
{
	struct task_stat st;
	struct living l = {.pid = pid, .tid = pid, .stat = &st};
	int r = task_stat(pid, 0, &st);

	if (!r && task_ended(&st)) {
		r = task_each_thread(pid, take_living, &l);
		r = r > 0 ? 0 : r ? r : -ESRCH;
	}
	if (r)
		return r;
	*ret = st;
	if (ret_tid)
		*ret_tid = l.tid;
	return 0;
}

int task_schedstat(pid_t pid, pid_t tid, uint64_t *ret_cpu_ns, uint64_t *ret_runs)
{
	uint64_t v[3] = {0};
	const char *s;
	struct buf b;
	int err;

	buf_init(&b);
	err = read_proc(pid, tid, "schedstat", TASK_MAX_STAT, &b);
	s = b.data;
	for (int i = 0; i < 3 && !err; i++) {
		s += i && *s == ' ';
		err = num_scan(&s, 10, &v[i]);
	}
	if (!err) {
		*ret_cpu_ns = v[0];
		*ret_runs = v[2];
	}
	buf_release(&b);
	return err;
}

int task_comm(pid_t pid, pid_t tid, char *buf, size_t size)
{
	struct buf b;
	int err;

	buf_init(&b);
	err = read_proc(pid, tid, "comm", TASK_MAX_STAT, &b);
	if (!err) {
		if (b.len && b.data[b.len - 1] == '\n')
			b.data[b.len - 1] = '\0';
		snprintf(buf, size, "%s", b.data);
	}
	buf_release(&b);
	return err;
}

int task_cmdline(pid_t pid, size_t max, struct buf *b)
{
	size_t start = b->len;
	ssize_t n = 1;
	char path[64], *p;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	p = buf_grow(b, max);
	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	for (size_t got = 0; got < max && n > 0; got += (size_t)MAX(n, 0)) {
		n = read(fd, p + got, max - got);
		if (n < 0)
			err = -errno;
		b->len = start + got + (size_t)MAX(n, 0);
	}
	close(fd);
	if (err)
		b->len = start;
	while (b->len > start && !b->data[b->len - 1])
		b->len--;
	b->data[b->len] = '\0';
	for (size_t i = start; i < b->len; i++)
		if (!b->data[i])
			b->data[i] = ' ';
	return err;
}

int task_status(pid_t pid, pid_t tid, const char *key, struct buf *b)
{
	size_t n = strlen(key);
	const char *line;
	struct buf text;
	int err;

	buf_init(&text);
	err = read_proc(pid, tid, "status", TASK_MAX_STATUS, &text);
	if (err)
		goto out;
	err = -ENOENT;
	for (line = text.data; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, key, n) || line[n] != ':')
			continue;
		line += n + 1;
		line += strspn(line, "\t ");
		buf_put(b, line, strcspn(line, "\n"));
		err = b->failed ? -ENOMEM : 0;
		break;
	}
out:
	buf_release(&text);
	return err;
}

/* Number `index` of a status line; a large index stands for the last one. */
static int status_number(pid_t pid, pid_t tid, const char *key, size_t index, uint64_t *ret)
{
	const char *s;
	struct buf b;
	int err;

	buf_init(&b);
	err = task_status(pid, tid, key, &b);
	s = b.data;
	for (size_t i = 0; i <= index && !err; i++) {
		err = num_scan(&s, 10, ret);
		s += strspn(s, "\t ");
		if (!*s)
			break;
	}
	buf_release(&b);
	return err;
}

int task_tgid(pid_t tid, pid_t *ret)
{
	uint64_t v;
	int err = status_number(tid, 0, "Tgid", 0, &v);

	if (!err)
		*ret = (pid_t)v;
	return err;
}

int task_uid(pid_t pid, uid_t *ret)
{
	uint64_t v;
	int err = status_number(pid, 0, "Uid", 1, &v);

	if (!err)
		*ret = (uid_t)v;
	return err;
}

int task_nspid(pid_t pid, pid_t tid, pid_t *ret)
{
	uint64_t v;
	int err = status_number(pid, tid, "NSpid", SIZE_MAX - 1, &v);

	if (!err)
		*ret = (pid_t)v;
	return err;
}

int task_exec_pages(pid_t pid, uint64_t *ret)
{
	uint64_t exe = 0, lib = 0, page = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	int err = status_number(pid, 0, "VmExe", 0, &exe);

	if (!err)
		err = status_number(pid, 0, "VmLib", 0, &lib);
	if (!err)
		*ret = (exe + lib) / page;
	return err;
}

static int each_number(const char *path, int (*fn)(pid_t id, void *arg), void *arg)
{
	struct dirent *e;
	uint64_t id;
	DIR *dir;
	int r = 0;

	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!r && (e = readdir(dir)))
		if (!num_u64(e->d_name, 1, INT_MAX, &id))
			r = fn((pid_t)id, arg);
	closedir(dir);
	return r;
}

int task_each_process(int (*fn)(pid_t pid, void *arg), void *arg)
{
	return each_number("/proc", fn, arg);
}

int task_each_thread(pid_t pid, int (*fn)(pid_t tid, void *arg), void *arg)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return each_number(path, fn, arg);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_word(char c)
{
	return is_hex(c) || (c >= 'g' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * The length of the container id that starts at s: 64 hex digits, or 32, a dash and a number (ECS).
 * 0: there is none. `before` is what stands before it in the same part of the path.
 */
static size_t id_at(const char *s, const char *before)
{
	static const char monitor[] = "conmon-"; /* watches a container from outside of it */
	size_t n = 0, m = sizeof(monitor) - 1;

	if (s > before && is_word(s[-1]))
		return 0;
	if ((size_t)(s - before) >= m && !memcmp(s - m, monitor, m))
		return 0;
	while (is_hex(s[n]))
		n++;
	if (n == TASK_ID_HEX && !is_word(s[n]))
		return n;
	if (s != before || n != TASK_ID_ECS || s[n] != '-' || s[n + 1] < '0' || s[n + 1] > '9')
		return 0;
	n++;
	while (s[n] >= '0' && s[n] <= '9')
		n++;
	return is_word(s[n]) || s[n] == '-' ? 0 : n;
}

/* The last id of one line; its length, 0: none. */
static size_t id_of_line(const char *line, size_t len, const char **ret)
{
	const char *part = line;
	size_t found = 0;

	for (const char *s = line; s < line + len; s++) {
		size_t n;

		if (*s == '/')
			part = s + 1;
		n = id_at(s, part);
		if (n) {
			found = n;
			*ret = s;
			s += n - 1;
		}
	}
	return found;
}

int task_container(const char *cgroup_text, char *buf, size_t size)
{
	const char *id;

	for (const char *line = cgroup_text; *line;) {
		size_t len = strcspn(line, "\n"), n = id_of_line(line, len, &id);

		if (n) {
			if (n >= size)
				return -ENOSPC;
			memcpy(buf, id, n);
			buf[n] = '\0';
			return 0;
		}
		line += len;
		line += *line == '\n';
	}
	return -ENOENT;
}

int task_container_of(pid_t pid, char *buf, size_t size)
{
	struct buf b;
	int err;

	buf_init(&b);
	err = read_proc(pid, 0, "cgroup", TASK_MAX_CGROUP, &b);
	if (!err)
		err = task_container(b.data, buf, size);
	buf_release(&b);
	return err;
}
