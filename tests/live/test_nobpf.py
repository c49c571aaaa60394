"""Without BPF: by a timer and /proc, with no rights but to read processes, and where bpf(2) is forbidden."""
import collections
import os
import re
import subprocess
import sys
import time

from capture import samples, weights
from harness import HANG, SCRY, check, check_true, name_of, pick, test, thread_cpu_ns
from test_badinput import PERMISSION, refuse
from test_flip import Possible
from test_harmless import check_log, traced
from test_wall import near

RATE = 499
DROP = "-bpf,-perfmon,-sys_admin"
WITHOUT_RIGHTS = ["setpriv", "--bounding-set", DROP, "--inh-caps", DROP]

# bpf(2) and perf_event_open(2) are refused, as a container's profile does; then what follows is run
FORBID = """
import ctypes, os, struct, sys
def op(code, jt, jf, k):
    return struct.pack("=HBBI", code, jt, jf, k)
bpf, perf = {"x86_64": (321, 298), "aarch64": (280, 241)}[os.uname().machine]
code = op(0x20, 0, 0, 0) + op(0x15, 2, 0, bpf) + op(0x15, 1, 0, perf) + op(0x06, 0, 0, 0x7fff0000) + op(0x06, 0, 0, 0x50001)
filters = ctypes.create_string_buffer(code)
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, ctypes.byref(Program(5, ctypes.addressof(filters)))), ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
"""
FORBIDDEN = [sys.executable, "-c", FORBID]


def record(bench, *args, **options):
    return told(bench.record("--no-bpf", "-F", RATE, *args, **options))


def told(recording):
    """→ the recording, its samples"""
    outcomes = recording.outcomes()
    check(recording.errors.startswith("Without BPF: "), "says %r", recording.errors[:200])
    check(outcomes["exact"] + outcomes["joined"] + outcomes["cut"] == 0, "outcomes: %s", outcomes)
    check(recording.summary["bpf_ns"] == 0 and recording.summary["other"] == 0, "%s", recording.summary)
    return recording, samples(recording.path)


def check_whole(recording, some):
    """The samples of a thread weigh what time passed from the first to the last, to the nanosecond, and that was all of it."""
    ns = sum(s.weight for s in some)
    check(ns == some[-1].time - some[0].time + some[0].weight, "%d ns of samples from %s to %s", ns, some[0], some[-1])
    near("all", ns / recording.summary["duration_ns"], 1.0, RATE, floor=0.1)


@test(each=True)
def duty(bench, py):
    """Works 40 %, naps 60 %, seen without rights: what is told to run is what ran."""
    target = bench.start(py, "waits.py", "duty")
    tid, nap = target.ready["nap"]
    _, work = target.ready["work"]
    for mode in "cpu", "wall":
        recorder = bench.recorder("--no-bpf", "-F", RATE, "--mode", mode, "-p", target.pid, prefix=WITHOUT_RIGHTS)
        recording, some = told(recorder.measured(1.5, lambda: {tid: thread_cpu_ns(target.pid, tid)})[0])
        least, most = recording.least[tid] / 1e9, recording.most[tid] / 1e9
        some = [s for s in some if s.tid == tid]  # another one waits for orders
        seconds = recording.summary["duration_ns"] / 1e9
        states = weights(some, lambda s: s.state)
        in_work = sum(s.weight for s in some if s.state == "on_cpu" and work in s.stack) / 1e9
        # chance, and a look that came late counts for all the time before it. CPU time may be told later, up to 0.1 s of it, and
        # in advance, by a tick of /proc's clock
        about = 0.1 * seconds + max(s.weight for s in some if s.ticks == 1) / 1e9
        check(least - about - 0.1 <= states["on_cpu"] <= most + about + 0.01, "on a CPU in %s mode: %.3f s, CPU time %.3f - %.3f s "
              "± %.3f", mode, states["on_cpu"], least, most, about)
        # on a busy machine it is also ready after a nap, and waits for a CPU: /proc says no more than "ready"
        check(in_work > 0.3 * states["on_cpu"], "%s: in work %.2f s of %.2f s", mode, in_work, states["on_cpu"])
        if mode == "cpu":
            check(set(states) == {"on_cpu"}, "%s", states)
            continue
        check_whole(recording, some)
        for sample in some:
            if sample.state == "sleeping" and sample.outcome == "read":
                check(nap in sample.stack, "asleep in %s", sample)
        check(weights(some, lambda s: s.outcome)["read"] > 0.2 * seconds, "outcomes: %s", recording.outcomes())
    target.stop()


@test(each=True)
def idle(bench, py):
    """Threads that sleep are read, and proven; and read once only."""
    target = bench.start(py, "waits.py", "idle", 5)
    recording, some = record(bench, "--mode", "wall", "-p", target.pid, "-d", 1)
    longer, _ = record(bench, "--mode", "wall", "-p", target.pid, "-d", 2)
    target.stop()
    for tid in target.ready["tids"]:
        check_whole(recording, [s for s in some if s.tid == tid])
    for sample in some:
        if sample.tid in target.ready["tids"]:
            check(sample.outcome == "read" and sample.state == "sleeping", "%s", sample)
            check(target.ready["frame"] in sample.stack, "%s", sample)
    check(abs(longer.summary["reads"] - recording.summary["reads"]) <= 4, "%d reads in 1 s, %d in 2 s",
          recording.summary["reads"], longer.summary["reads"])


@test(each=True, when="both")
def flip(bench, py):
    """Stacks that change as fast as they can: nothing that is called proven is wrong. How much of the rest is wrong is
    printed; it is read twice, and the same both times."""
    total = collections.Counter()
    wrong = collections.Counter()
    for kind in "plain", "threads", "generators":
        target = bench.start(py, "flip.py", kind)
        possible = Possible(target.ready)
        recording = bench.record("--no-bpf", "--mode", "wall", "-F", 2000, "-p", target.pid, "-d", 3 if bench.full else 1)
        for outcome in "read", "unproven":
            seen = collections.Counter(dict(recording.folded("--lines", "--outcome", outcome)))
            bad = possible.wrong(seen)
            # the main thread only says ready, and waits for the others
            bad = [(n, stack) for n, stack in bad if kind != "threads" or "many" not in map(name_of, stack)]
            total[outcome] += sum(seen.values())
            wrong[outcome] += sum(n for n, _ in bad)
            check_true(outcome != "read" or not bad, "impossible, %s", bad[:1])
        target.process.kill()
        target.process.wait()
    check(total["unproven"] > 100, "%s", total)
    print("unproven: %d of %d are wrong on %s" % (wrong["unproven"], total["unproven"], py), flush=True)


@test()
def bpf_is_forbidden(bench):
    target = bench.start(pick("debian-3.11"), "waits.py", "duty")
    for what in [], ["-p", target.pid]:
        refuse(PERMISSION, ["record", "-o", "/dev/null", "-d", "1"] + what, "--no-bpf", prefix=FORBIDDEN)
        refuse(PERMISSION, ["record", "-o", "/dev/null", "-d", "1"] + what, "--no-bpf", prefix=WITHOUT_RIGHTS)
    recording, some = record(bench, "-a", "-d", 1, prefix=FORBIDDEN)
    check(any(s.pid == target.pid for s in some), "the whole machine: %s", recording.summary)
    for prefix in FORBIDDEN, WITHOUT_RIGHTS:
        out = subprocess.run(prefix + [SCRY, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(out.returncode and b"scry record -a --no-bpf will" in out.stdout, "%s", out.stdout.decode()[-300:])
    check(b"--no-bpf" not in bench.scry("doctor").stdout, "it is not needed here")
    target.stop()


LIFE = """
import os, sys, time
def grandchild_burns(end):
    while time.time() < end: pass
def child_burns():
    end = time.time() + 2.5
    if not os.fork():
        grandchild_burns(end)
        os._exit(0)
    while time.time() < end: pass
if len(sys.argv) < 2:
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
if not os.fork():
    child_burns()
    os.wait()
    os._exit(0)
os.wait()
"""


@test()
def processes(bench):
    """A command, from its exec on; it execs again, and its children fork. All are found within about a second."""
    path = os.path.join(bench.folder, "life.py")
    with open(path, "w") as script:
        script.write(LIFE)
    py = pick("debian-3.13", "pyenv-3.13")
    start = time.monotonic()
    recording, some = record(bench, "--", *py.command, path)
    check(time.monotonic() - start < HANG, "it ended late")
    names = weights(some, lambda s: s.stack[-1].partition(" ")[0])
    for name in "child_burns", "grandchild_burns":
        check(names[name] > 0.1, "%s: %s", name, names)
    check(len({s.pid for s in some}) >= 2, "processes: %s", recording.summary)


@test()
def options(bench):
    for args, says in ((("-c", "1000000"), "-F"), (("-e", "page-faults"), "page-faults"), (("--seed", "leaf"), "--seed")):
        refuse(64, ["record", "--no-bpf", "-o", "/dev/null"] + list(args), re.escape(says))


@test()
def harmless(bench):
    """Nothing but reading: seen by strace."""
    target = bench.start(pick("debian-3.11"), "waits.py", "duty")
    recorder, log = traced(bench, "--no-bpf", "--mode", "wall", "-p", target.pid, "-F", 99, "-d", 1)
    recorder.finish()
    check_log(log)
    target.stop()
