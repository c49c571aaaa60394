"""Shares of CPU time, against what the kernel and the target itself counted."""
from harness import check, check_share, number_of, pick, test, thread_cpu_ns


@test(each=True)
def functions(bench, py):
    target = bench.start(py, "shares.py", "functions")
    recording = bench.record("-p", target.pid, "-F", 997, "-d", 2)
    took = target.stop()
    share = took[0] / sum(took)
    check(abs(share - 0.7) < 0.02, "the target itself took %.3f", share)
    counts = dict.fromkeys(("seventy", "thirty"), 0)
    for stack, count in recording.folded():
        for name in counts:
            if target.ready[name] in stack:
                counts[name] += count
    total = sum(counts.values())
    check_share("seventy", counts["seventy"], total, share)
    check(total >= 0.95 * recording.summary["samples"], "only %d of %d samples in the two functions", total,
          recording.summary["samples"])


@test()
def processes(bench):
    """1 : 3, by two versions; and the number of samples is rate × CPU time."""
    targets = [bench.start(pick("debian-3.11"), "shares.py", "duty", 25),
               bench.start(pick("sid-3.14", "standalone-3.14"), "shares.py", "duty", 75)]
    recorder = bench.recorder("-p", ",".join(str(t.pid) for t in targets), "-F", 499)
    recording, cpu, window = recorder.measured(10, lambda: {t.pid: t.cpu_ns() for t in targets})
    whole = sum(cpu.values())
    counts = {t.pid: 0 for t in targets}
    for stack, count in recording.folded("--group", "process"):
        counts[number_of(stack[0])] += count
    total = sum(counts.values())
    for target in targets:
        check_share("%s" % target.py, counts[target.pid], total, cpu[target.pid] / whole)
    # they were busy for as long as scry took to end, too
    expected = whole / 1e9 * recording.summary["rate_reached"] * recording.summary["duration_ns"] / 1e9 / window
    check(abs(total - expected) < max(5 * expected ** 0.5, 0.05 * expected),
          "%d samples, %.0f by CPU time and rate", total, expected)


def released(bench, py, how):
    """A thread in C code that has let go of the GIL still has its Python stack, and its share."""
    target = bench.start(py, "shares.py", "released", how)
    threads = {target.ready[k][0]: target.ready[k][1] for k in ("c", "python")}
    recorder = bench.recorder("-p", target.pid, "-F", 997)
    recording, cpu, _ = recorder.measured(2, lambda: {tid: thread_cpu_ns(target.pid, tid) for tid in threads})
    counts = dict.fromkeys(threads, 0)
    for stack, count in recording.folded("--group", "thread"):
        tid = number_of(stack[1])
        if tid not in threads:
            continue
        if not stack[2].startswith("["):
            check(threads[tid] == stack[-1], "thread %d ends in %s", tid, stack[-1])
        counts[tid] += count
    for tid in threads:
        check_share(threads[tid], counts[tid], sum(counts.values()), cpu[tid] / sum(cpu.values()),
                    floor=0.02)
    check(recording.failures() <= 0.001, "failures: %s", recording.summary)


@test(each=True)
def released_zlib(bench, py):
    released(bench, py, "zlib")


@test()
def released_hashlib(bench):
    released(bench, pick("pyenv-3.12", "sid-3.14"), "hashlib")
