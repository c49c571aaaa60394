"""Wall-clock mode: where every thread's time goes, on the CPU and off it, against what targets and the kernel count."""
import collections
import math
import os
import re
import signal
import time

from bounds import lost_s
from capture import samples, weights
from harness import check, check_true, interpreters, name_of, path_of, pick, read_or_not, test, wait_until
from test_dump import state
from test_flip import Possible

RATE = 997


def record_wall(bench, pid, seconds, *args, rate=RATE, mode="wall", prefix=()):
    recording = bench.record("--mode", mode, "-p", pid, "-F", rate, "-d", seconds, *args, prefix=prefix)
    return recording, samples(recording.path)


def near(what, value, expected, ticks, floor=0.02):
    """value and expected are shares of the time; both estimators are counts of `ticks` periodic looks."""
    bound = max(4 * math.sqrt(2 * expected * (1 - expected) / ticks), floor)
    check(abs(value - expected) <= bound, "%s: %.4f, expected %.4f ± %.4f", what, value, expected, bound)


def check_whole(recording, some, tids, runs=True):
    """The samples of each thread weigh as much as the recording lasted. Of one that sleeps there is no doubt; of one that
    runs, 4 σ of the ticks on its CPU, and those that the machine left out or made up for."""
    seconds = recording.summary["duration_ns"] / 1e9
    floor, low, high = (0.065, lost_s(recording) / seconds, recording.stolen / 1e9 / seconds) if runs else (0.015, 0, 0)
    sums = weights(some, lambda s: s.tid)
    for tid in tids:
        check(1 - floor - low <= sums[tid] / seconds <= 1 + floor + high, "time of thread %d: %.3f of %.3f s, %.3f lost, %.3f more",
              tid, sums[tid], seconds, low * seconds, high * seconds)


def record_measured(bench, pid, tids, seconds, *args):
    """→ the recording, which knows where the time of these threads went: {(tid, state): ns}; and its samples"""
    def where():
        now = {}
        for tid in tids:
            with open("/proc/%d/task/%d/schedstat" % (pid, tid)) as stat:
                now[tid, "ran"], now[tid, "ready"] = map(int, stat.read().split()[:2])
            now[tid, "off"] = time.monotonic_ns() - now[tid, "ran"] - now[tid, "ready"]
        return now

    recording, _, _ = bench.recorder("--mode", "wall", "-p", pid, "-F", RATE, *args).measured(seconds, where)
    return recording, samples(recording.path)


def check_state(what, told, recording, key):
    """So many seconds are told of what was measured: 5 σ of the looks that there were, and what no tick could tell."""
    seconds = recording.summary["duration_ns"] / 1e9
    # time that no stack has proven goes to the next that does, and who is ready mostly runs before it is read
    floor = 0.04 if key[1] == "ran" else 0.08
    chance = max(5 * math.sqrt(0.5 / (recording.summary["rate_reached"] * seconds)), floor) * seconds
    low = recording.least[key] / 1e9 - chance - lost_s(recording)
    high = recording.most[key] / 1e9 + chance + (recording.stolen / 1e9 if key[1] == "ran" else lost_s(recording))
    check(low <= told <= high, "%s: %.3f s of %.3f s, expected %.3f - %.3f s", what, told, seconds, low, high)


def check_outcomes(recording, allowed=0.001, unproven=False):
    outcomes, count = recording.outcomes(), recording.summary["samples"]
    check(outcomes["missed"] + outcomes["cut"] <= allowed * count, "outcomes: %s", outcomes)
    check(unproven or outcomes["unproven"] == 0, "outcomes: %s", outcomes)
    check(recording.summary["lost"] == 0, "lost: %d", recording.summary["lost"])


@test(each=True)
def duty(bench, py):
    """Works 40 %, naps 60 %: each in its own state, with its own stack."""
    target = bench.start(py, "waits.py", "duty")
    tid, nap = target.ready["nap"]
    _, work = target.ready["work"]
    recording, some = record_measured(bench, target.pid, [tid], 2.5)
    target.stop()
    sums = {state: sum(s.weight for s in some if s.state == state) for state in recording.summary["weights"]}
    check(sums == recording.summary["weights"], "the summary says %s", recording.summary["weights"])
    some = [s for s in some if s.tid == tid]
    seconds = recording.summary["duration_ns"] / 1e9
    states = weights(some, lambda s: s.state)
    check_whole(recording, some, [tid])
    check_state("on a CPU", states["on_cpu"] + states["gc"], recording, (tid, "ran"))
    check_state("ready", states["runnable"], recording, (tid, "ready"))
    check_state("asleep", states["sleeping"], recording, (tid, "off"))
    for sample in some:
        if sample.state == "sleeping":
            check_true(nap in sample.stack and sample.outcome == "read", "asleep in %s", sample)
        if sample.state == "on_cpu":
            check(sample.outcome == "exact", "on a CPU: %s", sample)
    in_work = sum(s.weight for s in some if work in s.stack) / 1e9
    in_nap = sum(s.weight for s in some if nap in s.stack) / 1e9
    check(in_work + in_nap > 0.93 * seconds - lost_s(recording), "in work %.2f s, in nap %.2f s of %.2f s", in_work, in_nap,
          seconds)
    check_outcomes(recording)


@test()
def asleep_and_gone(bench):
    """A thread that has slept and ends has all of its time, though nothing changed until it was gone."""
    target = bench.start(pick("sid-3.14", "debian-3.11"), "waits.py", "brief")
    recording, some = record_wall(bench, target.pid, 3)
    truth = target.stop()
    in_nap = sum(s.weight for s in some if target.ready["nap"] in s.stack)
    near("naps", in_nap / recording.summary["duration_ns"], truth["nap"] / truth["wall"], RATE * 3, floor=0.06)


@test()
def asleep_elsewhere(bench):
    """Who slept at the tick did not sleep where it was by the time that scry got a CPU and read it."""
    one_cpu = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    target = bench.start(pick("sid-3.14", "debian-3.11"), "waits.py", "apart", prefix=one_cpu)
    _, some = record_wall(bench, target.pid, 3, prefix=one_cpu)
    target.stop()
    asleep = weights((s for s in some if s.tid == target.ready["tid"] and s.state == "sleeping"),
                     lambda s: target.ready["crunch"] in s.stack)
    check(asleep[False] > 0.1, "it hardly napped: %s", asleep)
    check(asleep[True] < 0.01 * asleep[False], "asleep while it computed: %.4f s of %.4f s", asleep[True], asleep[False])


@test()
def idle_is_free(bench):
    """Threads that do not run are read once: no call after the first."""
    for py in pick("sid-3.14", "standalone-3.14"), pick("pyenv-3.9", "debian-3.11"):
        target = bench.start(py, "waits.py", "idle", 20)
        recording, some = record_wall(bench, target.pid, 2)
        longer, _ = record_wall(bench, target.pid, 4)
        target.stop()
        check_whole(recording, some, target.ready["tids"], runs=False)
        for sample in some:
            check(sample.state == "sleeping", "%s", sample)
            if sample.tid in target.ready["tids"]:
                check(target.ready["frame"] in sample.stack, "%s", sample)
        check(all(outcome in ("read", "native") for outcome, n in recording.outcomes().items() if n),
              "outcomes: %s", recording.outcomes())
        check(abs(longer.summary["reads"] - recording.summary["reads"]) <= 2, "%d reads in 2 s, %d in 4 s",
              recording.summary["reads"], longer.summary["reads"])


@test(each=True, only=lambda py: py.minor in ((3, 8), (3, 11), (3, 12), (3, 14), (3, 15)))
def waiting_for_the_gil(bench, py):
    """Two threads that compute: what is neither on a CPU nor ready for one waits for the GIL, half of the time when
    nothing else runs."""
    target = bench.start(py, "waits.py", "gil")
    spinning = {tid: frame for tid, frame in target.ready.values()}
    recording, some = record_measured(bench, target.pid, spinning, 3)
    for tid, frame in spinning.items():
        mine = [s for s in some if s.tid == tid]
        states = weights(mine, lambda s: s.state)
        check_state("on a CPU", states["on_cpu"] + states["gc"], recording, (tid, "ran"))
        check_state("ready", states["runnable"], recording, (tid, "ready"))
        check_state("waiting for the GIL", states["gil_wait"], recording, (tid, "off"))
        for sample in mine:
            check(frame in sample.stack or sample.outcome in ("missed", "cut"), "%s", sample)
    target.stop()
    check_whole(recording, some, spinning)
    check_outcomes(recording)


@test(each=True, only=lambda py: py.minor in ((3, 10), (3, 13), (3, 15)))
def gil_mode(bench, py):
    """Only who holds the GIL: all of the time, but never two at once."""
    target = bench.start(py, "waits.py", "gil")
    recording, some = record_wall(bench, target.pid, 2, mode="gil")
    target.stop()
    seconds = recording.summary["duration_ns"] / 1e9
    held = weights(some, lambda s: s.tid)
    check(0.9 * seconds - lost_s(recording) < sum(held.values()) < 1.1 * seconds + recording.stolen / 1e9, "held: %s of %.2f s", held, seconds)
    spinning = {tid for tid, _ in target.ready.values()}
    check(sum(held[tid] for tid in spinning) > 0.95 * sum(held.values()), "held: %s", held)
    for sample in some:
        check(sample.state in ("on_cpu", "gc", "runnable"), "%s", sample)


@test()
def asleep_with_the_gil(bench):
    """C code that sleeps and keeps the GIL: the thread that wants it is shown to wait."""
    target = bench.start(pick("debian-3.13", "pyenv-3.13"), "waits.py", "holder")
    recording, some = record_wall(bench, target.pid, 2)
    gil, held = record_wall(bench, target.pid, 2, mode="gil")
    target.stop()
    seconds = recording.summary["duration_ns"] / 1e9
    hold, want = target.ready["hold"][0], target.ready["want"][0]
    states = weights((s for s in some if s.tid == want), lambda s: s.state)
    # every 5 ms it is woken up to see whether it may, and then needs a CPU
    waits = states["gil_wait"] + states["runnable"]
    check(waits > 0.85 * seconds and states["gil_wait"] > 0.3 * seconds, "want: %s of %.2f s", states, seconds)
    states = weights((s for s in some if s.tid == hold), lambda s: s.state)
    check(states["sleeping"] > 0.85 * seconds, "hold: %s of %.2f s", states, seconds)
    by_tid = weights(held, lambda s: s.tid)
    check(by_tid[hold] > 0.85 * gil.summary["duration_ns"] / 1e9, "held: %s", by_tid)


@test(each=True, only=lambda py: py.minor in ((3, 9), (3, 12), (3, 14)))
def without_the_gil(bench, py):
    """C code that let go of the GIL: its time on the CPU is there, with its Python stack."""
    target = bench.start(py, "shares.py", "released", "zlib")
    recording, some = record_wall(bench, target.pid, 2)
    target.stop()
    threads = {tid: frame for tid, frame in target.ready.values()}
    check_whole(recording, some, threads)
    for sample in some:
        if sample.tid in threads and sample.outcome in ("exact", "read"):
            check_true(threads[sample.tid] in sample.stack, "%s", sample)
    check_outcomes(recording)


@test(each=True, only=lambda py: py.minor in ((3, 8), (3, 11), (3, 12), (3, 13), (3, 15)))
def sub_interpreters(bench, py):
    target = bench.start(py, "waits.py", "sub")
    recording, some = record_wall(bench, target.pid, 1)
    target.stop()
    inner, outer = target.ready["enter"][0], target.ready["outer_nap"]
    check_whole(recording, some, [inner, outer[0]], runs=False)
    for sample in some:
        if sample.tid == outer[0]:
            check_true(outer[1] == sample.stack[-1] and sample.outcome == read_or_not(py), "%s", sample)
        if sample.tid == inner:
            # one thread with a state in each interpreter, neither of which holds the GIL
            check_true(sample.stack[-1].startswith(("inner_nap ", "sub.<locals>.enter ", "enter ")), "%s", sample)
            check(sample.outcome == "unproven", "%s", sample)
    check_outcomes(recording, unproven=True)


@test(each=True, only=lambda py: py.minor in ((3, 9), (3, 11), (3, 13), (3, 15)))
def churn(bench, py):
    """Threads that are born and die all the time; also where scry only gets the CPU that they leave to it, and finds
    them seldom: no time is lost for that."""
    one_cpu = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    for prefix in (), one_cpu:
        churn_on(bench, py, prefix)


def churn_on(bench, py, prefix):
    target = bench.start(py, "threads.py", prefix=prefix)
    recording, some = record_wall(bench, target.pid, 2, prefix=prefix)
    truth = target.stop()
    kinds = {int(tid): "kind_%d" % kind for tid, kind in truth["kinds"].items()}
    right = 0
    for sample in some:
        for frame in sample.stack:
            name = frame.partition(" ")[0]
            if name.startswith("kind_"):
                check_true(name == kinds.get(sample.tid), "%s did %s", sample, kinds.get(sample.tid))
                right += 1
    check(right > 0.1 * len(some), "only %d of %d samples in the threads' work", right, len(some))
    check_whole(recording, some, [target.pid])
    check_outcomes(recording)


@test(each=True)
def flip(bench, py):
    """Threads that change their stacks as fast as they can, at any moment displaced or waiting for the GIL: no stack
    that never was."""
    for kind in "threads", "generators":
        target = bench.start(py, "flip.py", kind)
        possible = {tuple("%s (%s)" % (name_of(frame), path_of(frame).rpartition(":")[0]) for frame in stack)
                    for stack in Possible(target.ready).stacks}
        recording, some = record_wall(bench, target.pid, 8 if bench.full else 1, rate=5000)
        some = [s for s in some if kind != "threads" or s.tid != target.pid]  # the main thread joins them
        seen = collections.Counter((s.stack, s.outcome) for s in some if not s.stack[0].startswith("["))
        for (stack, outcome), count in seen.items():
            check_true(stack in possible, "impossible, %d of %d, %s: %s", count, len(some), outcome, "; ".join(stack))
        check(sum(seen.values()) > 0.9 * len(some), "only %d of %d samples have a stack", sum(seen.values()), len(some))
        # see test_flip about generators: who reads has no registers, and a thread that is displaced there stays there for
        # many ticks, all one sample
        failed = sum(s.outcome in ("missed", "cut") for s in some)
        allowed = 0.03 if kind == "generators" and py.minor in ((3, 11), (3, 12)) else 0.002
        check(failed <= max(allowed * len(some), 2), "%d of %d failed", failed, len(some))
        check(recording.outcomes()["unproven"] == 0, "outcomes: %s", recording.outcomes())


@test()
def exclude_idle(bench):
    target = bench.start(pick("debian-3.11"), "waits.py", "duty")
    recording, some = record_measured(bench, target.pid, [target.pid], 1.5, "--exclude-idle")
    target.stop()
    states = weights((s for s in some if s.tid == target.pid), lambda s: s.state)
    check(some and not states["sleeping"], "%s", states)
    check_state("on a CPU", states["on_cpu"] + states["gc"], recording, (target.pid, "ran"))
    check_state("ready", states["runnable"], recording, (target.pid, "ready"))
    target = bench.start(pick("debian-3.11"), "waits.py", "gil")
    recording, some = record_wall(bench, target.pid, 2, "--exclude-idle")
    target.stop()
    check(weights(some, lambda s: s.state)["gil_wait"] > 0, "waiting for the GIL is not idle")


@test()
def threads_by_name(bench):
    for mode in "wall", "cpu":
        target = bench.start(pick("sid-3.15", "debian-3.11"), "waits.py", "named")
        tids = target.ready
        for regex, wanted in (("^alpha", {"alpha-1", "alpha-2"}), ("-1$", {"alpha-1", "beta-1"}), ("gamma", set())):
            if mode == "wall":
                _, some = record_wall(bench, target.pid, 0.5, "--threads", regex)
                check({s.tid for s in some} == {tids[name] for name in wanted}, "%s: %s", regex,
                      {s.name for s in some})
                check({s.name for s in some} == wanted, "%s: %s", regex, {s.name for s in some})
            else:
                check(not record_wall(bench, target.pid, 0.3, "--threads", regex, mode=mode)[1],
                      "sleeping threads have no time on a CPU")
        target.stop()


@test()
def a_child_that_only_sleeps(bench):
    """Forked while recorded, and never on a CPU when one ticks: a pass over all tasks meets it."""
    for py in pick("sid-3.14", "standalone-3.14"), pick("debian-3.11"):
        target = bench.start(py, "waits.py", "fork")
        recorder = bench.recorder("--mode", "wall", "-p", target.pid, "-F", 200)
        recorder.wait_recording()
        target.say()
        child = target.answer()
        time.sleep(1.5)
        recording = recorder.interrupt()
        target.say()
        target.answer()
        some = [s for s in samples(recording.path) if s.pid == child]
        # it may be met on its way there, and on its way out
        naps = weights(some, lambda s: (s.state, s.stack[-1].partition(" ")[0]))
        check(naps["sleeping", "child_nap"] > 1, "child: %s", naps)
        check(sum(naps.values()) < naps["sleeping", "child_nap"] + 0.2, "child: %s", naps)


@test()
def whole_machine(bench):
    """-a: every process at once, those of several versions among them; and those that start later."""
    pys = [py for py in interpreters() if not py.missing and not py.root][:4]
    targets = [bench.start(py, "waits.py", "idle", 3) for py in pys]
    recorder = bench.recorder("--mode", "wall", "-a", "-F", 99)
    recorder.wait_recording()
    late = bench.start(pys[0], "waits.py", "idle", 2)
    time.sleep(2)
    recording = recorder.interrupt()
    some = samples(recording.path)
    late.stop()
    for target in targets:
        target.stop()
        mine = [s for s in some if s.tid in target.ready["tids"]]
        check_whole(recording, mine, target.ready["tids"], runs=False)
        check(all(target.ready["frame"] in s.stack for s in mine), "%s: %s", target.py, mine[:1])
    for tid in late.ready["tids"]:
        check(sum(s.weight for s in some if s.tid == tid) > 1e9, "thread %d, started late, has too little", tid)


@test()
def command(bench):
    """-- COMMAND in wall mode: from its first instruction to its last."""
    py = pick("debian-3.13", "pyenv-3.13")
    path = os.path.join(bench.folder, "took")
    recording = bench.record("--mode", "wall", "-F", 500, "--", *py.command, "-c", """import time
def doze():
    time.sleep(2)
start = time.monotonic()
doze()
took = time.monotonic() - start
open(%r, "w").write(str(took))""" % path)
    with open(path) as text:
        took = float(text.read())
    dozed = weights(samples(recording.path), lambda s: s.stack[-1].startswith("doze "))[True]
    # found at its first tick on a CPU, which may come late
    check(took - 0.25 < dozed < took + 0.05, "dozed %.3f s of %.3f s", dozed, took)


@test()
def stopped_and_blocked(bench):
    """Threads that a signal has stopped, wherever they were, and one that no signal reaches: not asleep, and idle."""
    py = pick("debian-3.13", "pyenv-3.13")
    target = bench.start(py, "waits.py", "gil")
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: all(state(target.pid, int(t)) == "T" for t in os.listdir("/proc/%d/task" % target.pid)), "it stops")
    fifo = os.path.join(bench.folder, "fifo")
    os.mkfifo(fifo)
    blocked = bench.start(py, "rest.py", "blocked", fifo)
    wait_until(lambda: state(blocked.pid, blocked.pid) == "D", "it is blocked")
    for args in (), ("--no-bpf",):
        for pid, want, tids in ((target.pid, "stopped", [tid for tid, _ in target.ready.values()]),
                                (blocked.pid, "blocked", [blocked.pid])):
            recording, some = record_wall(bench, pid, 1, "--no-inherit", *args)
            check_whole(recording, some, tids, runs=False)
            seen = {(s.state, s.outcome) for s in some}
            check(seen == {(want, "read")}, "%s %s: %s", want, args, seen)
            rows = bench.scry("report", "--by", "state", "-i", recording.path).stdout
            check(re.search(rb"^ *100.00 .* %s " % want.encode(), rows, re.M), "%s", rows)
            check(not record_wall(bench, pid, 0.3, "--no-inherit", "--exclude-idle", *args)[1], "%s is not idle", want)
    os.kill(target.pid, signal.SIGCONT)
    target.stop()
