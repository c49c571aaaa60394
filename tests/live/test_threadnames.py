"""Python's own names of threads, beside the kernel's: --threads, and what dump shows."""
import os
import re

from capture import samples, weights
from harness import check, check_true, number_of, parse_folded, pick, test, wait_until
from test_dump import UNPRIVILEGED, dump, run, threads

SLEEPER, SPINNER = "^a sleeper with a long name$", "für – 日本語 😀$"
LATE = "^late, and (born|renamed)"
WAYS = (["--mode", "cpu"], ["--mode", "wall"], ["--mode", "cpu", "--no-bpf"], ["--mode", "wall", "--no-bpf"])


def cut(name):
    return name if len(name) <= 256 else name[:256] + "…"


def comm(pid, tid):
    with open("/proc/%d/task/%d/comm" % (pid, tid), errors="replace") as text:
        return text.read().rstrip("\n")


def seen(bench, path):
    """The threads in a recording that goes on."""
    out = bench.scry("export", "-f", "folded", "--group", "thread", "-i", path, "-o", "-")
    return {number_of(stack[1]) for stack, _ in parse_folded(out.stdout.decode())} if not out.returncode else set()


@test(each=True)
def in_dump(bench, py):
    """Of every thread, with BPF and without."""
    target = bench.start(py, "threadnames.py")
    truth = {int(tid): name for tid, name in target.ready.items()}
    process, = dump(bench, target.pid)
    found = threads(process)
    check(set(found) == set(truth), "%s: threads %s, in truth %s", py, sorted(found), sorted(truth))
    for tid, name in truth.items():
        check_true(found[tid]["python_name"] == cut(name), "%s: %s is %r", py, found[tid], name)
        check(found[tid]["name"] == comm(target.pid, tid), "%s: %s", py, found[tid])
    text = run(bench, target.pid).stdout.decode()
    check('in Python "ein Kreisel für – 日本語 😀"\n' in text, "%s: %s", py, text)
    text = run(bench, target.pid, "--json", prefix=UNPRIVILEGED).stdout.decode()
    check('"python_name":"with a dict, ÄÖÜ"' in text and '"python_name":"the first one, renamed"' in text, "%s: %s", py, text)


@test(each=True, limit=120, when="full")
def asked_for(bench, py):
    """Only the thread with the name, and its time."""
    target = bench.start(py, "threadnames.py")
    tids = {name: int(tid) for tid, name in target.ready.items()}
    spinner, = [tid for name, tid in tids.items() if re.search(SPINNER, name)]
    sleeper, = [tid for name, tid in tids.items() if re.search(SLEEPER, name)]
    for way in WAYS:
        for regex, tid in ((SPINNER, spinner), (SLEEPER, sleeper if "wall" in way else None), ("^no thread has it$", None)):
            recording = bench.record(*way, "-F", 199, "-p", target.pid, "--threads", regex, "-d", 0.5)
            told = weights(samples(recording.path), lambda s: s.tid)
            check(set(told) == {tid} - {None}, "%s %s %s: threads %s, not %s", py, way, regex, set(told), tid)
            if tid and "wall" in way:
                seconds = recording.summary["duration_ns"] / 1e9
                check(told[tid] > 0.3 * seconds, "%s %s %s: %g of %g s", py, way, regex, told[tid], seconds)


@test(each=True, limit=120, when="full")
def named_later(bench, py):
    """Threads that start while they are recorded, one of which has another name at first."""
    for way in WAYS:
        target = bench.start(py, "threadnames.py")
        recorder = bench.recorder(*way, "-F", 199, "-p", target.pid, "--threads", LATE)
        wait_until(lambda: os.path.exists(recorder.path), "it records")
        target.say()
        late = set(target.answer())
        wait_until(lambda: seen(bench, recorder.path) >= late, "both are seen", 20)
        recording = recorder.interrupt()
        target.stop()
        some = samples(recording.path)
        check({s.tid for s in some} == late, "%s %s: threads %s, in truth %s", py, way, {s.tid for s in some}, late)


@test(limit=120)
def asked_for_or_named_later(bench):
    """make check-full has both of every build."""
    asked_for(bench, pick("pyenv-3.12", "sid-3.14"))
    named_later(bench, pick("sid-3.15", "pyenv-3.13", "sid-3.14"))
