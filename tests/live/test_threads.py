"""Pools that create and join threads all the time: thread pointers are reused within milliseconds."""
from capture import samples
from harness import check, check_true, name_of, number_of, pick, test


@test(each=True)
def pools(bench, py):
    target = bench.start(py, "threads.py")
    recording = bench.record("-p", target.pid, "-F", 4000, "-d", 2)
    truth = target.stop()
    kinds = {int(tid): kind for tid, kind in truth["kinds"].items()}
    check(truth["threads"] > 200, "only %d threads", truth["threads"])
    right = 0
    for stack, count in recording.folded("--group", "thread"):
        tid = number_of(stack[1])
        for frame in stack[2:]:
            name = name_of(frame)
            if name.startswith("kind_"):
                check_true(name == "kind_%d" % kinds.get(tid, -1), "%d samples of thread %d show %s, it did %s",
                           count, tid, name, kinds.get(tid))
                right += count
            check_true(name not in ("pool", "main") or tid == target.pid, "thread %d shows %s of the main thread",
                       tid, name)
    samples, outcomes = recording.summary["samples"], recording.outcomes()
    check(right > 0.3 * samples, "only %d of %d samples in the threads' work", right, samples)
    check(outcomes["missed"] <= 0.001 * samples, "outcomes: %s", outcomes)
    check(recording.failures() <= 0.001, "failures: %s", recording.summary)


@test(limit=90)
def crowds(bench):
    """More threads than the kernel side walks over: they are read and told."""
    for names, threads in ((("pyenv-3.9", "debian-3.11"), 600), (("standalone-3.14", "pyenv-3.13"), 1500)):
        target = bench.start(pick(*names), "crowd.py", threads)
        recording = bench.record("-p", target.pid, "-F", 2000, "-d", 3)
        target.stop()
        check(recording.summary["threads"] > 20, "only %d threads", recording.summary["threads"])
        check(recording.failures() <= 0.001, "failures: %s", recording.summary)


@test(each=True)
def borrowed_state(bench, py):
    """Code that runs in a state of another thread is never proven to be that one's; from 3.13 on it is the right one's."""
    target = bench.start(py, "borrowed.py")
    runner = target.ready["runner"]
    for mode in ("cpu", "wall"):
        some = []
        while len(some) <= 20:  # on a busy machine they may get little of it
            some += samples(bench.record("--mode", mode, "-p", target.pid, "-F", 199, "-d", 0.7).path)
        proven = [s for s in some if s.outcome in ("exact", "read", "joined")]
        wrong = [s for s in proven if (s.tid == runner) != any(f.startswith("sub_spin ") for f in s.stack)]
        check_true(not wrong, "%s: %d of %d: %s", mode, len(wrong), len(some), wrong[:1])
        check(py.minor < (3, 13) or any(s.tid == runner for s in proven), "%s: none of %d samples is proven", mode, len(some))
