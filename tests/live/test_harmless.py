"""scry touches nothing of a target: seen by strace, and by the target's own status."""
import os
import re
import subprocess

from harness import SCRY, check, check_true, pick, test, wait_until

CALL = re.compile(r"^(?:\d+ +)?(?:\[[^]]*\] )?([a-z_0-9]+)\((.*)$")
FORBIDDEN = {"ptrace", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_send_signal",
             "pidfd_getfd", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setns", "kcmp", "migrate_pages",
             "move_pages", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "setpriority",
             "ioprio_set", "prlimit64"}
STRACE = ["strace", "-f", "-qq", "-e", "signal=none", "-s", "200"]
SIGNALS = {"kill": 0, "tkill": 0, "tgkill": 0}


def judge(call, args, own):
    """What is wrong with a system call, or None. own: pids and tids of scry."""
    first = args.split(",")[0].strip(" )")
    if call == "prlimit64" or call.startswith("sched_set") or call == "setpriority":
        other = first if call != "setpriority" else args.split(",")[1].strip(" )")
        return None if other == "0" or (other.isdigit() and int(other) in own) else "changes another process"
    if call in FORBIDDEN:
        return "is not for us"
    if call in SIGNALS:
        return None if first.isdigit() and int(first) in own else "is a signal to another process"
    if call in ("open", "openat", "openat2", "creat") and re.search(r'"/proc/\d+', args):
        if re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)", args):
            return "opens for writing"
    return None


def traced(bench, *args):
    """Run `scry record` under strace → (recorder, path of the log)."""
    log = os.path.join(bench.folder, "strace")
    return bench.recorder(*args, prefix=[*STRACE, "-o", log]), log


def check_log(log):
    own, seen = set(), 0
    with open(log, errors="replace") as text:
        lines = text.readlines()
    for line in lines:
        own.add(int(line.split()[0]))
    for line in lines:
        match = CALL.match(line)
        if not match:
            continue
        seen += 1
        fault = judge(match.group(1), match.group(2), own)
        check_true(not fault, "%s: %s", fault, line.strip())
    check(seen > 200 and any("process_vm_readv(" in line or "bpf(" in line for line in lines),
          "strace saw %d calls only", seen)


def tracer(pid):
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"^TracerPid:\s*(\d+)", status.read(), re.M).group(1))


@test()
def judge_can_fail(_bench):
    for call, args in (("ptrace", "PTRACE_ATTACH, 1234)"), ("process_vm_writev", "1234, [])"),
                       ("kill", "1234, SIGSTOP)"), ("tgkill", "1234, 1234, SIGSTOP)"),
                       ("openat", 'AT_FDCWD, "/proc/1234/mem", O_RDWR)'),
                       ("prlimit64", "1234, RLIMIT_CORE, {})")):
        check(judge(call, args, {99}), "%s(%s passes", call, args)
    for call, args in (("kill", "99, SIGTERM)"), ("prlimit64", "0, RLIMIT_MEMLOCK, NULL, {})"),
                       ("openat", 'AT_FDCWD, "/proc/1234/maps", O_RDONLY|O_CLOEXEC)')):
        check(not judge(call, args, {99}), "%s(%s does not pass", call, args)


@test()
def nothing_touched(bench):
    old, new = pick("debian-3.11"), pick("sid-3.14", "standalone-3.14")
    targets = [bench.start(old, "shares.py", "functions"), bench.start(new, "threads.py")]
    for args in (("-p", ",".join(str(t.pid) for t in targets)), ("-a",)):
        recorder, log = traced(bench, "-F", 499, "-d", 3, *args)
        traces = []

        def watch():
            traces.extend(tracer(t.pid) for t in targets)
            return recorder.process.poll() is not None
        wait_until(watch, "scry record ends", 40)
        recorder.finish()
        check_true(len(traces) > 10 and not any(traces), "TracerPid: %s", traces)
        check_log(log)
    for target in targets:
        target.stop()


@test()
def nothing_touched_by_dump(bench):
    running, rests = bench.start(pick("debian-3.11"), "flip.py", "plain"), bench.start(pick("pyenv-3.13"), "rest.py", "threads", 8)
    log = os.path.join(bench.folder, "strace")
    for pid in running.pid, rests.pid:
        out = subprocess.run([*STRACE, "-o", log, SCRY, "dump", str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=50)
        check(out.returncode == 0 and b"Thread %d " % pid in out.stdout, "%s", out)
        check_log(log)
    rests.stop()
