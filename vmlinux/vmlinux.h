/*
 * The kernel types that the BPF programs read, and only the fields they read: a hand-kept subset.
 *
 * Offsets do not matter here: every access is relocated against the running kernel's BTF when the
 * programs are loaded. Names and types of fields do: tests/unit/collect/vmlinux.c compares them
 * with that BTF. A struct___suffix is the same kernel type as it was in other kernel versions.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#ifndef NULL
#define NULL ((void *)0)
#endif

typedef signed char __s8;
typedef unsigned char __u8;
typedef short int __s16;
typedef short unsigned int __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef long long unsigned int __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum { false = 0, true = 1 };

/* From the user-space API of BPF: numbers that never change. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_CONS_POS = 2, BPF_RB_PROD_POS = 3 };

/* Which helpers the running kernel has: asked by name. */
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175,
};

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#if defined(__TARGET_ARCH_x86)
#include "x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "arm64.h"
#else
#error "scry knows x86-64 and arm64"
#endif

/* What a perf_event program gets: user-space API too. */
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[0];
};

struct signal_struct {
	atomic_t live;
	int nr_threads;
};

struct super_block {
	unsigned int s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
	long long i_ctime_sec; /* since 6.11 */
	unsigned int i_ctime_nsec;
};

struct timespec64 {
	long long tv_sec;
	long tv_nsec;
};

struct inode___before_6_11 {
	struct timespec64 __i_ctime;
};

struct inode___before_6_6 {
	struct timespec64 i_ctime;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct {
	unsigned long exec_vm;
	unsigned long start_code;
	unsigned long start_stack;
	struct file *exe_file;
};

struct sched_entity {
	unsigned long long sum_exec_runtime; /* ns on a CPU, as of the last tick or switch */
};

/* With CONFIG_SCHED_INFO; times of the run queue's clock. */
struct sched_info {
	unsigned long long last_arrival; /* when it got its CPU */
	unsigned long long last_queued;	 /* since when it waits for one; 0: it does not */
};

#define PF_KTHREAD 0x00200000
#define TASK_INTERRUPTIBLE 1

struct task_struct {
	unsigned int __state; /* since 5.14 */
	unsigned int flags;
	int on_cpu;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_state;
	unsigned long nvcsw, nivcsw; /* switches away from it: it slept, it was preempted */
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long long start_boottime;
	struct signal_struct *signal;
	struct thread_struct thread;
};

struct task_struct___before_5_14 {
	long state;
};

struct seq_file {
	void *private;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
