/* What this machine allows a profiler: each thing is tried, not looked up by kernel version. */
#include "collect/probe.h"
#include <bpf/bpf.h>
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/file.h"
#include "collect/bpf.h"
#include "collect/perf.h"
#include "remote/guard.h"
#include "remote/procmem.h"
#include "target/maps.h"
#include "target/ns.h"
#include "target/task.h"

#define FILE_MAX 65536
#define PROBE_HZ 99
#define MAX_LOOKED_AT 64    /* processes whose memory is tried */
#define ALL_IDS 4294967295u /* of the only line of an initial uid_map */

static bool fail(struct buf *b, const char *what)
{
	buf_printf(b, "%s: %s", what, strerror(errno));
	return false;
}

static bool probe_kernel(struct buf *b)
{
	struct utsname u;

	if (uname(&u))
		return fail(b, "uname");
	buf_printf(b, "Linux %s, %s", u.release, u.machine);
	return strcmp(u.machine, "x86_64") == 0 || strcmp(u.machine, "aarch64") == 0;
}

static bool probe_btf(struct buf *b)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";

	if (access(path, R_OK))
		return fail(b, path);
	buf_puts(b, path);
	return true;
}

static bool probe_lockdown(struct buf *b)
{
	struct buf text;
	bool ok = true;

	buf_init(&text);
	if (file_read("/sys/kernel/security/lockdown", FILE_MAX, &text) || !text.data) {
		buf_puts(b, "not in this kernel, or securityfs is not mounted");
	} else {
		ok = !strstr(text.data, "[confidentiality]");
		buf_put(b, text.data, strcspn(text.data, "\n"));
	}
	buf_release(&text);
	return ok;
}

/* --- capabilities --- */

static bool have_cap(struct buf *b, unsigned int cap)
{
	bool admin;

	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_get_caps_process()) {
		buf_puts(b, "this process's capabilities can't be read");
		return false;
	}
	if (capng_have_capability(CAPNG_EFFECTIVE, cap)) {
		buf_puts(b, "in effect");
		return true;
	}
	/* the newer ones were cut out of it */
	admin = cap >= CAP_PERFMON && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN);
	buf_puts(b, admin ? "by CAP_SYS_ADMIN" : "not in effect");
	return admin;
}

static bool probe_cap_bpf(struct buf *b)
{
	return have_cap(b, CAP_BPF);
}

static bool probe_cap_perfmon(struct buf *b)
{
	return have_cap(b, CAP_PERFMON);
}

static bool probe_cap_ptrace(struct buf *b)
{
	return have_cap(b, CAP_SYS_PTRACE);
}

static bool probe_cap_search(struct buf *b)
{
	return have_cap(b, CAP_DAC_READ_SEARCH);
}

static bool probe_cap_restore(struct buf *b)
{
	return have_cap(b, CAP_CHECKPOINT_RESTORE);
}

/* Capabilities of a user namespace other than the first count for nothing here. */
static bool probe_user_ns(struct buf *b)
{
	struct buf text;
	uint64_t inside = 1, outside = 1, n = 0;
	bool first;

	buf_init(&text);
	if (!file_read("/proc/self/uid_map", FILE_MAX, &text) && text.data &&
	    sscanf(text.data, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside, &n) != 3)
		n = 0;
	first = !inside && !outside && n == ALL_IDS;
	buf_puts(b, first ? "the first one" : "another than the first one");
	buf_release(&text);
	return first;
}

/* --- BPF --- */

/* A program that reads kernel memory, as the sampling program does: what lockdown forbids. */
static int load_program(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "scry_probe", "Dual BSD/GPL", code,
			     ARRAY_SIZE(code), NULL);
}

static bool probe_program(struct buf *b)
{
	int fd = load_program();

	if (fd < 0)
		return fail(b, "a perf_event program");
	close(fd);
	buf_puts(b, "a perf_event program loads");
	return true;
}

static bool probe_ring(struct buf *b)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "scry_probe", 0, 0,
				(uint32_t)sysconf(_SC_PAGESIZE), NULL);

	if (fd < 0)
		return fail(b, "a ring buffer");
	close(fd);
	buf_puts(b, "a ring buffer can be made");
	return true;
}

static bool probe_jit(struct buf *b)
{
	struct buf text;
	bool off;

	buf_init(&text);
	off = !file_read("/proc/sys/net/core/bpf_jit_enable", FILE_MAX, &text) && text.data &&
	      text.data[0] == '0';
	buf_puts(b, off ? "net.core.bpf_jit_enable is 0" : "on");
	buf_release(&text);
	return !off;
}

/* --- perf events --- */

/* A clock event on the first CPU that is online. */
static int open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = PROBE_HZ,
		.freq = 1,
		.disabled = 1,
	};
	long fd = -1, cpus = sysconf(_SC_NPROCESSORS_CONF);

	errno = ENODEV;
	for (int cpu = 0; cpu < cpus && fd < 0 && errno == ENODEV; cpu++)
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return (int)fd;
}

static void put_paranoid(struct buf *b)
{
	struct buf text;

	buf_init(&text);
	if (!file_read("/proc/sys/kernel/perf_event_paranoid", FILE_MAX, &text) && text.data)
		buf_printf(b, " (kernel.perf_event_paranoid is %.*s)",
			   (int)strcspn(text.data, "\n"), text.data);
	buf_release(&text);
}

static bool probe_event(struct buf *b)
{
	int fd = open_event();

	if (fd < 0)
		fail(b, "cpu-clock on a whole CPU");
	else
		buf_puts(b, "cpu-clock on a whole CPU");
	put_paranoid(b);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* What a recording starts with: its own programs, on a clock of every CPU. */
static bool probe_start(struct buf *b)
{
	struct bpf_options options = {.seed = TARGET_SEED_STACK};
	struct perf_options clock = {.event = PERF_EVENT_DEFAULT, .freq = PROBE_HZ};
	struct bpf_usage usage = {0};
	struct bpf *bpf = NULL;
	struct perf *perf = NULL;
	bool ok = false;

	if (ns_self(&options.ns)) {
		buf_puts(b, "/proc/self/ns/pid can't be read");
		return false;
	}
	if (bpf_load(&bpf, &options, b))
		return false;
	clock.prog_fd = bpf_tick_fd(bpf);
	if (!perf_open(&perf, &clock, b)) {
		bpf_usage(bpf, &usage);
		buf_printf(b, "loaded (%u instructions verified), on %u CPUs", usage.verified_insns,
			   perf_cpus(perf));
		ok = true;
	}
	perf_close(perf);
	bpf_unload(bpf);
	return ok;
}

/* --- other processes --- */

struct readable {
	struct guard *guard;
	unsigned int read, denied;
};

/* Whether a process allows what is done to every target: its mappings and its memory are read. */
static int try_process(pid_t pid, void *arg)
{
	struct readable *seen = arg;
	struct maps maps;
	struct mem *m = NULL;
	uint64_t word;
	int r;

	if (pid == getpid())
		return 0;
	r = maps_read(pid, &maps);
	if (!r && maps.n) {
		r = procmem_new_guarded(pid, seen->guard, &m);
		if (!r)
			r = mem_read_u64(m, maps.v[0].start, &word);
		mem_free(m);
		seen->read += r == 0 || r == -EFAULT;
	}
	maps_release(&maps);
	seen->denied += r == -EPERM || r == -EACCES;
	return seen->read + seen->denied >= MAX_LOOKED_AT;
}

static int try_processes(void *arg)
{
	return task_each_process(try_process, arg);
}

static bool probe_memory(struct buf *b)
{
	struct readable seen = {0};
	int r;

	if (!guard_new(GUARD_LIMIT_NS, &seen.guard))
		guard_run(seen.guard, try_processes, &seen, &r);
	guard_free(seen.guard);
	if (seen.read + seen.denied)
		buf_printf(b, "of %u processes tried, %u could be read", seen.read + seen.denied,
			   seen.read);
	else
		buf_puts(b, "there is no other process to try it on");
	/* a few may be protected even from root */
	return seen.read >= seen.denied;
}

static bool probe_map_files(struct buf *b)
{
	struct maps maps;
	char path[128];
	int fd = -1;

	if (!maps_read(getpid(), &maps) && maps.n) {
		snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIx64 "-%" PRIx64,
			 maps.v[0].start, maps.v[0].end);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		fail(b, "/proc/PID/map_files");
	else
		buf_puts(b, "/proc/PID/map_files can be opened");
	if (fd >= 0)
		close(fd);
	maps_release(&maps);
	return fd >= 0;
}

static bool probe_pid_ns(struct buf *b)
{
	struct ns_self self;
	int r = ns_self(&self);

	if (r) {
		buf_printf(b, "/proc/self/ns/pid: %s", strerror(-r));
		return false;
	}
	buf_puts(b,
		 self.pid_inode == NS_FIRST_PID ? "the first one" : "a namespace inside another");
	return self.pid_inode == NS_FIRST_PID;
}

static const struct probe probes[] = {
	{"kernel", PROBE_ALWAYS, "other processors are not supported",
	 "use an x86-64 or arm64 machine", probe_kernel},
	{"BTF", PROBE_BPF, "the BPF programs can't be fitted to this kernel",
	 "use a kernel with CONFIG_DEBUG_INFO_BTF=y", probe_btf},
	{"lockdown", PROBE_BPF, "BPF programs may not read memory",
	 "boot without lockdown=confidentiality (integrity is fine)", probe_lockdown},
	{"user namespace", PROBE_BPF, "capabilities have no effect on the machine",
	 "run outside of it, as the machine's root", probe_user_ns},
	{"CAP_BPF", PROBE_BPF, "no BPF program can be loaded", "run as root, or give CAP_BPF",
	 probe_cap_bpf},
	{"CAP_PERFMON", PROBE_BPF, "no event of other processes can be counted",
	 "run as root, or give CAP_PERFMON", probe_cap_perfmon},
	{"CAP_SYS_PTRACE", PROBE_ALWAYS, "other users' processes can't be read",
	 "run as root, or give CAP_SYS_PTRACE", probe_cap_ptrace},
	{"CAP_DAC_READ_SEARCH", PROBE_BETTER,
	 "files that only their users may read are read from memory",
	 "run as root, or give CAP_DAC_READ_SEARCH", probe_cap_search},
	{"CAP_CHECKPOINT_RESTORE", PROBE_BETTER, "deleted and replaced files are read from memory",
	 "run as root, or give CAP_CHECKPOINT_RESTORE", probe_cap_restore},
	{"BPF program", PROBE_BPF, "nothing can be sampled",
	 "give CAP_BPF and CAP_PERFMON; in a container allow bpf() in the seccomp profile",
	 probe_program},
	{"BPF ring buffer", PROBE_BPF, "samples can't reach user space",
	 "give CAP_BPF; the kernel must be 5.8 or newer", probe_ring},
	{"BPF JIT", PROBE_BETTER, "samples cost several times as much",
	 "sysctl net.core.bpf_jit_enable=1", probe_jit},
	{"perf event", PROBE_BPF, "there is no clock to sample by",
	 "give CAP_PERFMON (CAP_SYS_ADMIN where perf_event_paranoid is above 2), allow "
	 "perf_event_open() in the seccomp profile",
	 probe_event},
	{"scry's programs", PROBE_BPF, "nothing can be sampled",
	 "see what is missing above; a kernel with CONFIG_BPF_EVENTS=y is needed", probe_start},
	{"memory", PROBE_ALWAYS, "stacks can't be read",
	 "give CAP_SYS_PTRACE; allow process_vm_readv() in the seccomp profile", probe_memory},
	{"map files", PROBE_BETTER, "deleted and replaced files are read from memory",
	 "give CAP_CHECKPOINT_RESTORE", probe_map_files},
	{"pid namespace", PROBE_BETTER, "only the processes of this namespace are seen",
	 "run on the host, or with its pid namespace (hostPID, --pid=host)", probe_pid_ns},
	{0},
};

const struct probe *probe_list(void)
{
	return probes;
}
