"""The whole machine: twenty busy Python processes of mixed versions under the machine's CPUs."""
from bounds import check_cpu, check_ticks
from harness import check, interpreters, number_of, test

PROCESSES = 20


def busy_machine(bench, rate, seconds):
    have = [py for py in interpreters() if not py.missing]
    check(len(have) > 3, "only %d interpreters", len(have))
    targets = {}
    for i in range(PROCESSES):
        target = bench.start(have[i % len(have)], "shares.py", "duty", 100 if i % 3 else 50)
        targets[target.pid] = target
    recorder = bench.recorder("-a", "-F", rate)
    recording, _, _ = recorder.measured(seconds, lambda: {pid: t.cpu_ns() for pid, t in targets.items()})
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
        check_cpu("%d (%s)" % (pid, target.py), counts[pid], recording, recording.least[pid], recording.most[pid])
    lost = recording.summary["lost"]
    check(failed + lost <= 0.001 * total, "%d failed, %d lost of %d", failed, lost, total)
    check_cpu("all", total, recording, sum(recording.least.values()), sum(recording.most.values()))
    check_ticks(recording)


@test(limit=120)
def twenty_processes(bench):
    busy_machine(bench, 999, 8)


@test(limit=120, when="full")
def twenty_processes_longer(bench):
    busy_machine(bench, 99, 60)


@test(limit=120, when="full")
def twenty_processes_faster(bench):
    busy_machine(bench, 4999, 10)
