"""The parts of make bench-engine, so that they go on working and count right."""
import json
import os
import subprocess
import tempfile

from harness import TOP, check, name_of, pick, test, wait_until

ENGINE = os.path.join(TOP, "build/bench-engine")


def engine(target, *options, every=()):
    out = subprocess.run([*every, ENGINE, *options, str(target.pid), "0.3"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    check(out.returncode == 0, "the engine: status %d: %s", out.returncode, out.stderr.decode(errors="replace"))
    return json.loads(out.stdout)


def wait_at_rest(target, but=()):
    """Its threads are set up, and all sleep but those that are never to: who waits for the GIL wakes up every 5 ms."""
    folder, before, calm = "/proc/%d/task" % target.pid, None, 0

    def at_rest():
        nonlocal before, calm
        now = {}
        for tid in set(os.listdir(folder)) - {str(tid) for tid in but}:
            with open("%s/%s/status" % (folder, tid)) as status:
                now[tid] = [line for line in status if line.startswith("State:") or "_switches:" in line]
        still = now == before and all("sleeping" in lines[0] for lines in now.values())
        before, calm = now, calm + 1 if still else 0
        return calm == 10

    wait_until(at_rest, "all threads are at rest", 30)


def python():
    return pick("sid-3.14", "standalone-3.14", "pyenv-3.13")


@test()
def idle(bench):
    """Threads that sleep are read once, and then never again."""
    for options in ((), ("-n",)):
        target = bench.start(python(), "loads.py", "idle", 5)
        wait_at_rest(target)
        got = engine(target, *options)
        check(got["live"] != ("-n" in options), "facts of the wrong source")
        check(got["ticks"] > 10 and got["threads"] == 5 * got["ticks"], "%s", got)
        check(got["read"] == 0 and got["calls"] == 0 and got["outcomes"]["read"] == got["threads"], "%s", got)


@test()
def counts(bench):
    """What it says of its calls is what strace sees; what it says of depths is so."""
    target = bench.start(python(), "loads.py", "calls", 12, 4)
    wait_at_rest(target, but=[target.pid])
    with tempfile.NamedTemporaryFile("r") as f:
        got = engine(target, "-a", "-s", "-t", every=["strace", "-f", "-c", "-e", "trace=process_vm_readv", "-o", f.name])
        seen = [int(line.split()[3]) for line in f if line.rstrip().endswith(" process_vm_readv")]
    check(seen == [got["calls_before"] + got["calls"]], "strace: %s, it: %s", seen, got["calls"])
    check(got["outcomes"]["read"] >= 3 * got["ticks"], "three threads sleep: %s", got["outcomes"])
    check(set(got["parts"]) == {"tasks", "readv", "walk", "resolve", "intern"}, "%s", got["parts"])
    asleep = [frames for outcome, _, frames in got["stacks"] if outcome == "read" and "down" in name_of(frames[-1])]
    check(asleep and all(len(frames) == 8 for frames in asleep), "sleepers are eight deep: %s", asleep)


@test(when="full", limit=600)
def quick(bench):
    """All of it, for a tenth of the time."""
    out = subprocess.run([os.path.join(TOP, "tests/bench/run-engine"), "--quick"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    check(out.returncode == 0, "status %d: %s", out.returncode, out.stderr.decode(errors="replace")[-800:])
    rows = [line for line in out.stdout.decode().split("\n") if line.startswith("|")]
    check(len(rows) >= 40, "%d rows: %s", len(rows), rows)
