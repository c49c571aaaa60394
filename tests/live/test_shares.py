"""Shares of CPU time, against what the kernel and the target itself counted."""
from bounds import check_cpu, check_share, check_ticks, lost_s
from harness import check, number_of, pick, test, thread_cpu_ns


@test(each=True)
def functions(bench, py):
    target = bench.start(py, "shares.py", "functions")

    def took():
        target.say()
        return target.answer()

    recorder = bench.recorder("-p", target.pid, "-F", 997)
    recording, _, _ = recorder.measured(2, took)
    target.stop()
    counts = dict.fromkeys(("seventy", "thirty"), 0)
    for stack, count in recording.folded():
        for name in counts:
            if target.ready[name] in stack:
                counts[name] += count
    for name, count in counts.items():
        check_cpu(name, count, recording, recording.least[name], recording.most[name])
    total, cpu = sum(counts.values()), sum(recording.least.values())
    noise = (lost_s(recording) * 1e9 + recording.stolen) / cpu
    check_share("seventy", counts["seventy"], total, recording.least["seventy"] / cpu, floor=0.01 + noise)
    check(total >= 0.95 * recording.summary["samples"], "only %d of %d samples in the two functions", total,
          recording.summary["samples"])
    check_ticks(recording)


@test()
def processes(bench):
    """1 : 3, by two versions; and the number of samples is rate × CPU time."""
    targets = [bench.start(pick("debian-3.11"), "shares.py", "duty", 25),
               bench.start(pick("sid-3.14", "standalone-3.14"), "shares.py", "duty", 75)]
    recorder = bench.recorder("-p", ",".join(str(t.pid) for t in targets), "-F", 499)
    recording, _, _ = recorder.measured(10, lambda: {t.pid: t.cpu_ns() for t in targets})
    counts = {t.pid: 0 for t in targets}
    for stack, count in recording.folded("--group", "process"):
        counts[number_of(stack[0])] += count
    for target in targets:
        check_cpu("%s" % target.py, counts[target.pid], recording, recording.least[target.pid], recording.most[target.pid])
    check_cpu("all", sum(counts.values()), recording, sum(recording.least.values()), sum(recording.most.values()))
    check_ticks(recording)


def released(bench, py, how):
    """A thread in C code that has let go of the GIL still has its Python stack, and its share."""
    target = bench.start(py, "shares.py", "released", how)
    threads = {target.ready[k][0]: target.ready[k][1] for k in ("c", "python")}
    recorder = bench.recorder("-p", target.pid, "-F", 997)
    recording, _, _ = recorder.measured(2, lambda: {tid: thread_cpu_ns(target.pid, tid) for tid in threads})
    counts = dict.fromkeys(threads, 0)
    for stack, count in recording.folded("--group", "thread"):
        tid = number_of(stack[1])
        if tid not in threads:
            continue
        if not stack[2].startswith("["):
            check(threads[tid] == stack[-1], "thread %d ends in %s", tid, stack[-1])
        counts[tid] += count
    for tid in threads:
        check_cpu(threads[tid], counts[tid], recording, recording.least[tid], recording.most[tid])
    check_ticks(recording)
    check(recording.failures() <= 0.001, "failures: %s", recording.summary)


@test(each=True)
def released_zlib(bench, py):
    released(bench, py, "zlib")


@test()
def released_hashlib(bench):
    released(bench, pick("pyenv-3.12", "sid-3.14"), "hashlib")
