"""Families of processes: every member's share is there, whatever way it came to be."""
from bounds import check_cpu, check_ticks
from harness import check, interpreters, name_of, number_of, pick, test


def family(bench, py, mode, other=None):
    # inside of its root already
    command = () if not other else other.command[2:] if other.root else other.command
    target = bench.start(py, "processes.py", mode, *command)
    recorder = bench.recorder("-p", target.pid, "-F", 997)
    recorder.wait_recording()
    target.say()
    members = []
    while True:
        answer = target.answer()
        if "done" in answer:
            break
        members.append(answer)
    recording = recorder.interrupt()
    counts = {(member["pid"], member["role"]): 0 for member in members}
    check(len(counts) == len(members) >= 2, "members: %s", members)
    for stack, count in recording.folded("--group", "process"):
        pid = number_of(stack[0])
        for frame in stack[1:]:
            if name_of(frame).startswith("burn_"):
                key = (pid, name_of(frame)[5:])
                check(key in counts, "%d samples of %s, which is none of %s", count, key, sorted(counts))
                counts[key] += count
    for member in members:
        check_cpu("%s %d of %s" % (member["role"], member["pid"], py), counts[member["pid"], member["role"]], recording,
                  member["cpu"] * 1e9)
    check_ticks(recording)
    pids = len({member["pid"] for member in members})
    check(recording.summary["processes"] >= pids, "%d processes", recording.summary["processes"])


@test(each=True)
def fork_pool(bench, py):
    family(bench, py, "fork")


@test(each=True, only=lambda py: py.name in ("pyenv-3.8", "standalone-3.11", "sid-3.14"))
def spawn_pool(bench, py):
    family(bench, py, "spawn")


@test(each=True, only=lambda py: py.name in ("standalone-3.10", "pyenv-3.12", "sid-3.15"))
def subprocess_chain(bench, py):
    family(bench, py, "chain")


@test(each=True, only=lambda py: py.minor in ((3, 9), (3, 13)))
def shell_exec(bench, py):
    family(bench, py, "sh")


def pairs():
    """Two of other versions that run in the same root."""
    first = pick("pyenv-3.12", "standalone-3.14")
    return first, pick("debian-3.11"), pick("standalone-3.14", "pyenv-3.13")


@test()
def exec_other_version(bench):
    first, second, third = pairs()
    family(bench, first, "exec", second)
    family(bench, second, "exec", third)


@test()
def exec_same_version(bench):
    py = pick("debian-3.11")
    family(bench, py, "exec", py)


@test()
def parent_and_child_of_different_versions(bench):
    first, second, third = pairs()
    family(bench, second, "mixed", first)
    family(bench, third, "mixed", second)


@test(each=True, when="full")
def all_kinds(bench, py):
    for mode in ("fork", "spawn", "chain", "sh"):
        family(bench, py, mode)
    for other in interpreters():
        if not other.missing and other.root == py.root and other.minor != py.minor:
            family(bench, py, "exec", other)
            break
