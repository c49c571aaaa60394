"""The whole machine: twenty busy Python processes of mixed versions under the machine's CPUs."""
from harness import check, check_share, interpreters, number_of, test

PROCESSES = 20


def busy_machine(bench, rate, seconds):
    have = [py for py in interpreters() if not py.missing]
    check(len(have) > 3, "only %d interpreters", len(have))
    targets = {}
    for i in range(PROCESSES):
        target = bench.start(have[i % len(have)], "shares.py", "duty", 100 if i % 3 else 50)
        targets[target.pid] = target
    recorder = bench.recorder("-a", "-F", rate)
    recording, cpu, window = recorder.measured(seconds, lambda: {pid: t.cpu_ns() for pid, t in targets.items()})
    counts = dict.fromkeys(targets, 0)
    failed = 0
    for stack, count in recording.folded("--group", "process"):
        pid = number_of(stack[0])
        if pid not in targets:
            continue
        counts[pid] += count
        if stack[1] in ("[missed]", "[truncated]"):
            failed += count
        elif not stack[1].startswith("["):
            check(stack[1] == "<module> (%s)" % targets[pid].path, "%s of %s begins with %s",
                  pid, targets[pid].py, stack[1])
    total = sum(counts.values())
    for pid, target in targets.items():
        check(counts[pid] > 0, "%d (%s) has no sample of %d", pid, target.py, total)
        check_share("%d (%s)" % (pid, target.py), counts[pid], total, cpu[pid] / sum(cpu.values()))
    lost = recording.summary["lost"]
    check(failed + lost <= 0.001 * total, "%d failed, %d lost of %d", failed, lost, total)
    duration = recording.summary["duration_ns"] / 1e9
    # they were busy for as long as scry took to end, too
    expected = sum(cpu.values()) / 1e9 * recording.summary["rate_reached"] * duration / window
    check(abs(total - expected) <= max(5 * expected ** 0.5, 0.05 * expected), "%d samples, %.0f expected",
          total, expected)


@test(limit=120)
def twenty_processes(bench):
    busy_machine(bench, 999, 8)


@test(limit=120, when="full")
def twenty_processes_longer(bench):
    busy_machine(bench, 99, 60)


@test(limit=120, when="full")
def twenty_processes_faster(bench):
    busy_machine(bench, 4999, 10)
