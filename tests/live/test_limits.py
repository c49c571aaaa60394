"""Nothing stops at a number that programs reach: threads, interpreters, frames."""
import json

from capture import samples
from harness import Cannot, Failed, check, pick, read_or_not, test


def dumped(bench, pid):
    """tid → (outcome, frames), leaf first"""
    out = bench.scry("dump", "--json", pid)
    check(out.returncode == 0, "dump: %s", out.stderr.decode()[-800:])
    process, = json.loads(out.stdout)["processes"]
    return {thread["tid"]: (thread["outcome"], ["%s (%s)" % (f["function"], f["file"]) if "function" in f else f["marker"]
                                                for f in thread["frames"]]) for thread in process["threads"]}


def start(bench, py, *args):
    try:
        return bench.start(py, "limits.py", *args)
    except Failed as failed:
        if "can't start new thread" in str(failed):
            raise Cannot("this machine allows no %s %s" % (args[1], args[0]))
        raise


def at_rest(bench, py, what, n, rate, seconds):
    """By dump and in wall mode: each of them, and none that failed."""
    target = start(bench, py, what, n)
    tids, rest = set(target.ready["tids"]), target.ready["frame"]
    proven = read_or_not(py) if what == "interpreters" else "read"
    check(len(tids) == n, "%d threads", len(tids))
    found = dumped(bench, target.pid)
    missing = [tid for tid in tids if found.get(tid, ("none", []))[0] != proven or rest not in found[tid][1][:1]]
    check(not missing, "dump: %d of %d %s of %s: %s", len(missing), n, what, py, [found.get(t) for t in missing[:2]])
    recording = bench.record("--mode", "wall", "-p", target.pid, "-F", rate, "-d", seconds)
    some = [s for s in samples(recording.path) if s.tid in tids]
    wrong = [s for s in some if s.outcome != proven or s.stack[-1] != rest]
    check(not wrong, "wall: %d of %d samples of %s: %s", len(wrong), len(some), py, wrong[:2])
    check({s.tid for s in some} == tids, "wall: %d of %d %s", len({s.tid for s in some}), n, what)
    return "%d samples, %d reads" % (recording.summary["samples"], recording.summary["reads"])


@test(limit=120)
def ten_thousand_threads(bench):
    return "; ".join(at_rest(bench, py, "threads", 10000, 5, 2)
                     for py in (pick("debian-3.11", "pyenv-3.9"), pick("sid-3.14", "standalone-3.14")))


@test(each=True, when="both", limit=120)
def interpreters(bench, py):
    return at_rest(bench, py, "interpreters", 256 if bench.full else 24, 49, 1)


@test(limit=120)
def many_interpreters(bench):
    return at_rest(bench, pick("sid-3.14", "standalone-3.14", "pyenv-3.13"), "interpreters", 256, 49, 1)


@test(limit=120)
def deep(bench):
    """100,000 frames at rest, in wall mode; test_dump.py has it for dump."""
    target = bench.start(pick("sid-3.14", "pyenv-3.13", "pyenv-3.11"), "rest.py", "deep", 100000)
    recording = bench.record("--mode", "wall", "-p", target.pid, "-F", 5, "-d", 2)
    longest = max((len(stack), count) for stack, count in recording.folded("--outcome", "read"))
    check(longest[0] > 100000, "%d frames", longest[0])
