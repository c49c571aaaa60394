"""`exact` must be able to fail: where no true stack can be had, samples say so and show no other."""
import collections
import ctypes
import os
import re
import subprocess

from bounds import check_share
from capture import samples
from harness import Cannot, check, check_true, name_of, pick, same_frames, test, wait_until

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_PIDFD_OPEN, SYS_PROCESS_MADVISE = 434, 440
MADV_PAGEOUT = 21
SWAP = 32 << 20  # bytes
BURN = 600 * 10**6  # ns of CPU time
EDGE = 3  # samples


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Swap:
    """A swap file of our own, on a machine that has none."""

    def __init__(self, bench):
        self.path = os.path.join(bench.folder, "swap")

    def __enter__(self):
        with open(self.path, "wb") as swap:
            os.chmod(self.path, 0o600)
            swap.write(bytes(SWAP))
        for command in (["mkswap", self.path], ["swapon", self.path]):
            out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if out.returncode:
                raise Cannot("no swap here: " + out.stdout.decode(errors="replace").strip())

    def __exit__(self, *_exception):
        subprocess.run(["swapoff", self.path], check=True)
        os.unlink(self.path)


def page_out(pid):
    """Page out the private writable memory of a process; → KiB in swap."""
    ranges = []
    with open("/proc/%d/maps" % pid) as maps:
        for line in maps:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0\s*(\[heap\])?$", line)
            if match:
                start, end = int(match.group(1), 16), int(match.group(2), 16)
                ranges.append(Iovec(start, end - start))
    pidfd = LIBC.syscall(SYS_PIDFD_OPEN, pid, 0)
    vector = (Iovec * len(ranges))(*ranges)
    done = LIBC.syscall(SYS_PROCESS_MADVISE, pidfd, vector, ctypes.c_size_t(len(ranges)), MADV_PAGEOUT, 0)
    os.close(pidfd)
    if done < 0:
        raise Cannot("process_madvise: " + os.strerror(ctypes.get_errno()))
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"VmSwap:\s+(\d+)", status.read()).group(1))


def paged_out(bench, py):
    target = bench.start(py, "depth.py", "plain", 2000)
    whole = tuple(target.ready) + ("spin (%s)" % target.path,)
    with Swap(bench):
        for seconds in (3, 6, 12):  # on a busy machine the target may hardly run once it is paged out
            outcomes = record_paged_out(bench, target, whole, seconds)
            if outcomes["missed"] + outcomes["cut"]:
                break
        target.process.kill()
        target.process.wait()
    check(outcomes["missed"] + outcomes["cut"] > 0, "nothing failed: %s", outcomes)


def record_paged_out(bench, target, whole, seconds):
    """→ outcomes; of what there was of a stack, all was right"""
    recorder = bench.recorder("-p", target.pid, "-F", 997, "-d", seconds)
    recorder.wait_recording()
    swapped = 0
    while recorder.process.poll() is None:
        swapped = max(swapped, page_out(target.pid))
    recording = recorder.finish()
    if swapped < 200:
        raise Cannot("nothing was paged out (%d KiB)" % swapped)
    for stack, count in recording.folded():
        if stack[0] == "[truncated]":
            hot = stack[1:]
            check_true(same_frames(hot, whole[len(whole) - len(hot):]), "%d samples whose hot end is wrong, %d deep: %s", count,
                       len(hot), "; ".join(name_of(frame) for frame in hot[-5:]))
        elif not stack[0].startswith("["):
            check_true(same_frames(stack, whole), "%d samples of a stack that never was, %d deep: %s …", count, len(stack),
                       "; ".join(name_of(frame) for frame in stack[:6]))
    return recording.outcomes()


@test(limit=120)
def stack_paged_out_with_offsets_table(bench):
    paged_out(bench, pick("sid-3.14", "pyenv-3.13"))


@test(limit=120)
def stack_paged_out_with_own_layout(bench):
    paged_out(bench, pick("debian-3.11", "pyenv-3.11"))


@test(limit=120)
def stack_paged_out_heap_frames(bench):
    paged_out(bench, pick("pyenv-3.9", "standalone-3.10"))


def links(bench, py, what):
    """The link to the main thread's state is broken while it is recorded, then mended: its samples fail in between, and only
    there."""
    target = bench.start(py, "broken.py", "unlink")
    check(target.ready is None, "%s", target.ready)
    recorder = bench.recorder("-p", target.pid, "-F", 1997)
    recorder.wait_recording()
    burn(target)
    broken = order(target, what)
    burn(target)
    mended = order(target, "mend")
    burn(target)
    recording = recorder.interrupt()
    for stack, count in recording.folded():
        names = [name_of(frame) for frame in stack]
        check_true(names == ["<module>", "unlink", "spin"] or names[0] != "<module>",
                   "%d samples of a stack that never was: %s", count, names)
    failures = ("missed", "cut", "native") if what == "null" else ("missed", "cut")
    inside, outside = collections.Counter(), collections.Counter()
    for sample in samples(recording.path):
        if sample.tid != target.pid:
            continue
        if broken[1] < sample.time < mended[0]:
            inside[sample.outcome in failures] += 1
        elif not broken[0] <= sample.time <= mended[1]:
            outside[sample.outcome == "exact"] += 1
    # a tick's time is not quite that of its look at the link
    check(inside[True] > 100 and inside[False] <= 2 * EDGE, "while the link was %s: %d failed, %d not; %s", what, inside[True],
          inside[False], recording.outcomes())
    check(outside[True] > 100 and outside[False] <= 2 * EDGE, "before and after: %d exact, %d not; %s", outside[True],
          outside[False], recording.outcomes())


def burn(target):
    """Until there is something to record."""
    end = target.cpu_ns() + BURN
    wait_until(lambda: target.cpu_ns() > end, "the target runs", 30)


def order(target, text):
    """Say it; → the times just before and after it is done."""
    target.say(text)
    return target.answer()


@test(limit=180)
def list_link_corrupted_with_offsets_table(bench):
    for what in ("garbage", "null"):
        links(bench, pick("sid-3.14", "pyenv-3.13"), what)


@test(limit=180)
def list_link_corrupted_with_own_layout(bench):
    for what in ("garbage", "null"):
        links(bench, pick("debian-3.11", "pyenv-3.11"), what)
        links(bench, pick("pyenv-3.8", "standalone-3.10"), what)


def freed(bench, py):
    """Threads burn on after their state is freed: those samples have no Python stack."""
    target = bench.start(py, "broken.py", "freed")
    recorder = bench.recorder("-p", target.pid, "-F", 3989)
    recording, truth, _ = recorder.measured(3, lambda: order(target, "tell"))
    share = truth["before"] / truth["all"]
    check(share < 0.97, "the target burnt too little after the end of its threads: %s", truth)
    inside = total = 0
    for stack, count in recording.folded():
        total += count
        if "toucher" in [name_of(frame).rpartition(".")[2] for frame in stack]:
            inside += count
    check_share("samples with the stack of the freed state", inside, total, share, floor=0.015)


@test(limit=120)
def thread_state_freed_with_offsets_table(bench):
    freed(bench, pick("sid-3.14", "pyenv-3.13"))


@test(limit=120)
def thread_state_freed_with_own_layout(bench):
    freed(bench, pick("debian-3.11", "pyenv-3.11"))
    freed(bench, pick("pyenv-3.8", "standalone-3.10"))
