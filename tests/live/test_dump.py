"""scry dump against what programs say of their own threads, at rest and running."""
import json
import os
import re
import signal
import subprocess
import time

from harness import HANG, SCRY, check, check_true, pick, read_or_not, same_frames, test, wait_until
from test_flip import Possible
from test_namespaces import INSIDE
from test_stuck import start_stuck

PROVEN = ("exact", "joined", "read")
UNPRIVILEGED = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin", "--inh-caps", "-bpf,-perfmon,-sys_admin"]


def run(bench, *args, prefix=(), status=0):
    out = subprocess.run([*prefix, SCRY, "dump", *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=40)
    check(out.returncode == status, "%s: status %d: %s", args, out.returncode, out.stderr)
    return out


def dump(bench, *args, **options):
    """→ processes, in order"""
    out = run(bench, "--json", *args, **options)
    check(not out.stderr, "%s says %s", args, out.stderr)
    return json.loads(out.stdout)["processes"]


def threads(process):
    """tid → thread"""
    check(not process["reason"], "%d: %s", process["pid"], process["reason"])
    found = {thread["tid"]: thread for thread in process["threads"]}
    check(len(found) == len(process["threads"]), "a thread comes twice: %s", process)
    return found


def triples(thread):
    return [[f["function"], f["file"], f["line"]] if "function" in f else [f["marker"]] for f in thread["frames"]]


def state(pid, tid):
    with open("/proc/%d/task/%d/stat" % (pid, tid)) as stat:
        return stat.read().rpartition(")")[2].split()[0]


def check_thread(py, thread, truth, outcome="read"):
    check(thread["outcome"] == outcome, "%s: %s", py, thread)
    check_true(triples(thread) == truth, "%s: thread %d:\n%s\nis in truth\n%s", py, thread["tid"], triples(thread), truth)


def check_rest(py, process, ready, states=("sleeping",)):
    """All threads that the target told of, frame by frame; how many."""
    found = threads(process)
    truth = {int(tid): stack for tid, stack in ready["threads"].items()}
    others = {ready.get(who) for who in ("reporter", "outer", "inner")}
    check(set(found) == set(truth) | others - {None}, "%s: threads %s, in truth %s and %s", py, sorted(found),
          sorted(truth), others)
    for tid in set(truth) - {ready.get("outer")}:
        check_thread(py, found[tid], truth[tid], read_or_not(py) if "inner" in ready else "read")
    for tid, thread in found.items():
        check(thread["state"] in states, "%s: %d is %s", py, tid, thread["state"])
        check(thread["gil"] == "" and not thread["gc"], "%s: %s", py, thread)
    if "reporter" in ready:
        check(found[ready["reporter"]]["frames"][-2:][0]["function"].endswith("_bootstrap_inner"), "%s: %s", py,
              found[ready["reporter"]])
    return found


# --- at rest ---------------------------------------------------------------------------------------

@test(each=True)
def at_rest(bench, py):
    """Every way to rest, twice each; the same when the process is stopped."""
    target = bench.start(py, "rest.py", "threads", 16)
    process, = dump(bench, target.pid)
    check_rest(py, process, target.ready)
    check(process["pid"] == target.pid and process["ppid"] == os.getpid() and process["uid"] == 0, "%s", process)
    check(process["python"].startswith("%d.%d" % py.minor) and "rest.py threads" in process["command"], "%s", process)
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: all(state(target.pid, int(t)) == "T" for t in os.listdir("/proc/%d/task" % target.pid)), "it stops")
    process, = dump(bench, target.pid)
    check_rest(py, process, target.ready, ("stopped",))
    check(state(target.pid, target.pid) == "T", "it runs on")
    os.kill(target.pid, signal.SIGCONT)
    target.stop()


@test(each=True)
def interpreters(bench, py):
    """A thread with states in two interpreters shows one of its stacks; one of a sub-interpreter alone that one."""
    target = bench.start(py, "rest.py", "interpreters")
    process, = dump(bench, target.pid)
    found = check_rest(py, process, target.ready)
    inner, outer = (found[target.ready[who]] for who in ("inner", "outer"))
    names = [f["function"] for f in inner["frames"]]
    check(names[:2] == ["sub_leaf", "sub_thread"] and inner["outcome"] == read_or_not(py), "%s: inner: %s", py, inner)
    check([f["line"] for f in inner["frames"][:2]] == [3, 6], "%s: inner: %s", py, inner)
    check(outer["outcome"] == "unproven", "%s: outer: %s", py, outer)
    seen = [[f["function"], f["line"]] for f in outer["frames"]]
    check(triples(outer) == target.ready["threads"][str(outer["tid"])] or
          seen == [["sub_leaf", 3], ["sub_root", 9], ["<module>", 10]], "%s: outer: %s", py, outer)


@test()
def without_its_first_thread(bench):
    """The process goes on after that one has ended: a zombie with threads."""
    for py in (pick("debian-3.11"), pick("pyenv-3.13"), pick("sid-3.14", "standalone-3.14")):
        target = bench.start(py, "rest.py", "headless", 8)
        wait_until(lambda: state(target.pid, target.pid) == "Z", "its first thread has ended")
        process, = dump(bench, target.pid)
        first = process["threads"].pop(0)
        check(first["tid"] == target.pid and first["state"] == "ended" and first["outcome"] == "gone", "%s: %s", py, first)
        del target.ready["threads"][str(target.pid)]
        check_rest(py, process, target.ready)


def deep(bench, py):
    target = bench.start(py, "rest.py", "deep", 100000)
    process, = dump(bench, target.pid)
    check_rest(py, process, target.ready)
    check(sum(len(t["frames"]) > 100000 for t in process["threads"]) == 1, "no deep thread")


@test(limit=120)
def deep_stack(bench):
    deep(bench, pick("sid-3.14", "standalone-3.14", "pyenv-3.13"))


@test(each=True, when="full", limit=120)
def deep_stacks(bench, py):
    deep(bench, py)


@test()
def thousand_threads(bench):
    for py in (pick("debian-3.11"), pick("sid-3.14", "pyenv-3.13")):
        target = bench.start(py, "rest.py", "threads", 1000)
        began = time.monotonic()
        process, = dump(bench, target.pid)
        took = time.monotonic() - began
        check_rest(py, process, target.ready)
        check(took < HANG, "%s: it took %g s", py, took)


@test()
def uninterruptible(bench):
    """In D state, with the GIL."""
    for py in (pick("debian-3.11"), pick("pyenv-3.13"), pick("sid-3.14", "standalone-3.14")):
        fifo = os.path.join(py.root + "/tmp", "scry-fifo-%d" % os.getpid())
        os.mkfifo(fifo)
        try:
            target = bench.start(py, "rest.py", "blocked", fifo[len(py.root):])
            wait_until(lambda: state(target.pid, target.pid) == "D", "it is blocked")
            process, = dump(bench, target.pid)
            thread, = process["threads"]
            check(thread["state"] == "blocked" and thread["gil"] == "holds", "%s: %s", py, thread)
            check_thread(py, thread, target.ready["threads"][str(target.pid)])
            check(b"(blocked, gil) " in run(bench, target.pid).stdout, "%s: text", py)
            with open(fifo, "w"):
                pass
            target.process.wait()
        finally:
            os.unlink(fifo)


# --- running ---------------------------------------------------------------------------------------

def folded(frame):
    return "%(function)s (%(file)s:%(line)d)" % frame if "function" in frame else frame["marker"]


def flip(bench, py, mode, dumps):
    target = bench.start(py, "flip.py", mode)
    possible = Possible(target.ready).stacks
    proven, states, rest = 0, set(), []
    for _ in range(dumps):
        process, = dump(bench, target.pid)
        for thread in process["threads"]:
            stack = tuple(folded(frame) for frame in reversed(thread["frames"]))
            if thread["tid"] == target.pid and mode in ("threads", "turns"):
                check(thread["outcome"] == "read" and thread["state"] == "sleeping", "%s: %s", py, thread)
            elif any(frame.get("function") == "started" for frame in thread["frames"]):
                continue  # it waits for the GIL to begin
            elif thread["outcome"] in PROVEN:
                check_true(any(same_frames(stack, true) for true in possible), "%s: impossible: %s", py, thread)
                proven += 1
                states.add((thread["state"], thread["gil"]))
            else:
                rest.append(thread)
    check(len(rest) <= 0.1 * proven, "%s: %d proven; not: %s", py, proven, rest)
    return states


@test(each=True)
def running(bench, py):
    flip(bench, py, "plain", 2)


@test(limit=120)
def two_that_flip(bench):
    for py in (pick("debian-3.11"), pick("sid-3.14", "standalone-3.14", "pyenv-3.13")):
        states = flip(bench, py, "threads", 10)
        check(any(gil == "waits" for _, gil in states) and any(gil == "holds" for _, gil in states), "%s: %s", py, states)


@test(limit=120)
def that_take_turns(bench):
    for py in (pick("debian-3.11"), pick("sid-3.14", "standalone-3.14", "pyenv-3.13")):
        flip(bench, py, "turns", 5)


@test(each=True, when="full", limit=600, only=lambda py: py.stands)
def many_that_flip(bench, py):
    for mode in ("threads", "generators", "methods", "turns"):
        flip(bench, py, mode, 20)


@test()
def without_bpf(bench):
    """Threads at rest are proven all the same; one that runs is not, and that is said."""
    py = pick("pyenv-3.13")
    target = bench.start(py, "rest.py", "threads", 8)
    out = run(bench, "--json", target.pid, prefix=UNPRIVILEGED)
    check_rest(py, json.loads(out.stdout)["processes"][0], target.ready)
    check(out.stderr.count(b"\n") == 1 and b"can't be proven: " in out.stderr and b"--no-bpf" not in out.stderr,
          "it says %s", out.stderr)
    target = bench.start(py, "flip.py", "plain")
    seen, texts = [], []
    while len(seen) < 3 and (not seen or seen[-1]["outcome"] != "unproven"):
        out = run(bench, "--json", target.pid, prefix=UNPRIVILEGED)
        seen += json.loads(out.stdout)["processes"][0]["threads"]
        check(seen[-1]["outcome"] not in PROVEN, "proven: %s", seen)
    check(seen[-1]["outcome"] == "unproven" and seen[-1]["frames"], "%s", seen)
    while len(texts) < 3 and (not texts or b", unproven) " not in texts[-1]):
        texts.append(run(bench, target.pid, prefix=UNPRIVILEGED).stdout)
    check(b", unproven) " in texts[-1], "the text does not say it: %s", texts)


# --- which processes -------------------------------------------------------------------------------

@test()
def family(bench):
    """Children, a shell between them: each process once, parents first."""
    py, other = pick("pyenv-3.13"), pick("debian-3.11", "pyenv-3.11")
    target = bench.start(py, "rest.py", "tree", *other.command)
    below = int(target.ready["below"])
    processes = dump(bench, "--children", target.pid)
    check([p["pid"] for p in processes][0] == target.pid, "the parent is not first: %s", processes)
    check(sorted(p["pid"] for p in processes) == sorted([target.pid, target.ready["child"], below]), "%s", processes)
    by_pid = {p["pid"]: p for p in processes}
    check_rest(py, by_pid[target.pid], target.ready)
    for pid, function, version in ((target.ready["child"], "in_child", py.minor), (below, "in_leaf", other.minor)):
        thread, = by_pid[pid]["threads"]
        check(function in [f["function"] for f in thread["frames"]] and thread["outcome"] == "read", "%s", by_pid[pid])
        check(by_pid[pid]["python"].startswith("%d.%d" % version), "%s", by_pid[pid])
    text = run(bench, "--children", target.pid).stdout.decode()
    check(re.findall(r"^Process (\d+)", text, re.M) == [str(p["pid"]) for p in processes], "%s", text)
    check("Process %d (child of %d): " % (target.ready["child"], target.pid) in text, "%s", text)
    alone, = dump(bench, target.pid)
    check(alone["pid"] == target.pid, "%s", alone)
    processes = dump(bench, "--children", target.ready["shell"])
    check([p["pid"] for p in processes] == [below], "%s", processes)
    both = dump(bench, below, target.pid)
    check([p["pid"] for p in both] == [target.pid, below], "%s", both)
    shell = target.ready["shell"]
    out = run(bench, "--json", shell, target.pid, 4194304, below, status=67)
    check([p["pid"] for p in json.loads(out.stdout)["processes"]] == [target.pid, below], "%s", out.stdout)
    check(out.stderr == b"scry dump: no process 4194304\nscry dump: process %d is not Python\n" % shell, "%s", out.stderr)


@test()
def of_another_user(bench):
    py = pick("debian-3.11")
    target = bench.start(py, "rest.py", "threads", 8, prefix=["setpriv", "--reuid", "65534", "--clear-groups"])
    process, = dump(bench, target.pid)
    check(process["uid"] == 65534, "%s", process)
    check_rest(py, process, target.ready)


@test()
def in_a_container(bench):
    """Its thread ids are others inside; outside, its parent is asked for."""
    py = pick("pyenv-3.13")
    target = bench.start(py, "rest.py", "threads", 8, prefix=INSIDE)
    process, = dump(bench, "--children", target.pid)
    with open("/proc/%d/status" % process["pid"]) as status:
        check(re.search(r"NSpid:\t%d\t1\n" % process["pid"], status.read()), "it is in no namespace")
    stacks = sorted(triples(thread) for thread in process["threads"])
    truth = list(target.ready["threads"].values())
    check_true(all(stack in stacks for stack in truth) and len(stacks) == len(truth) + 1, "%s\nis in truth\n%s", stacks, truth)
    check(all(thread["outcome"] == "read" for thread in process["threads"]), "%s", process)


@test()
def from_a_container(bench):
    py = pick("pyenv-3.13")
    code = "import time\ndef in_sleep():\n    time.sleep(1e6)\nin_sleep()"
    # until it has come so far
    script = 'scry=$1; shift; "$@" & until out=$("$scry" dump --json $!); printf "%s\\n" "$out" | grep in_sleep; do :; done'
    out = subprocess.run([*INSIDE, "sh", "-c", script, "sh", SCRY, *py.command, "-c", code], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=40)
    process, = json.loads(out.stdout)["processes"]
    check(process["pid"] < 100 and process["ppid"] == 1, "%s", process)
    thread, = process["threads"]
    check(thread["tid"] == process["pid"] and thread["outcome"] == "read", "%s", thread)
    check_true(triples(thread) == [["in_sleep", "<string>", 3], ["<module>", "<string>", 4]], "%s", thread)


@test()
def errors(bench):
    sleeper = subprocess.Popen(["sleep", "1000"])
    for flag in ((), ("--children",)):
        out = run(bench, *flag, sleeper.pid, status=68)
        check(b"%d is not Python" % sleeper.pid in out.stderr and not out.stdout, "%s", out)
    sleeper.kill()
    wait_until(lambda: state(sleeper.pid, sleeper.pid) == "Z", "it is a zombie")
    out = run(bench, sleeper.pid, status=67)
    check(b"%d" % sleeper.pid in out.stderr and not out.stdout, "%s", out)
    sleeper.wait()
    run(bench, sleeper.pid, status=67)
    target = bench.start(pick("debian-3.11"), "rest.py", "threads", 1)
    out = run(bench, target.ready["reporter"], status=67)
    check(b"%d is a thread of process %d" % (target.ready["reporter"], target.pid) in out.stderr, "%s", out.stderr)
    for args in ((), ("x",), ("0",), ("-1",), ("1", "--frob"), ("99999999999",)):
        check(run(bench, *args, status=64).stderr.count(b"\n") == 1, "%s", args)
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    out = run(bench, target.pid, status=77, prefix=["setpriv", "--reuid", "65534", "--clear-groups"])
    check(b"CAP_SYS_PTRACE" in out.stderr and out.stderr.count(b"\n") == 1, "%s", out.stderr)


@test()
def stuck(bench):
    """A process whose memory never comes: named alone, and beside others."""
    pid = start_stuck(bench)
    began = time.monotonic()
    out = run(bench, pid, status=71)
    check(b"does not come back" in out.stderr, "%s", out.stderr)
    target = bench.start(pick("pyenv-3.13"), "rest.py", "threads", 8)
    processes = {p["pid"]: p for p in dump(bench, "--children", os.getpid())}
    check("does not come back" in processes[pid]["reason"], "%s", processes[pid])
    out = run(bench, "--json", pid, target.pid, status=71)
    check(b"does not come back" in out.stderr and out.stderr.count(b"\n") == 1, "%s", out.stderr)
    check_rest(target.py, json.loads(out.stdout)["processes"][1], target.ready)
    check_rest(target.py, processes[target.pid], target.ready)
    check(time.monotonic() - began < HANG, "it took %g s", time.monotonic() - began)


@test()
def as_text(bench):
    target = bench.start(pick("sid-3.14", "standalone-3.14", "pyenv-3.13"), "rest.py", "threads", 8)
    text = run(bench, target.pid).stdout.decode()
    head = r"Process %d: [^\n]*rest.py threads 8\nPython 3\.\d+[^ ]* \(/[^\n]*\)\n\n" % target.pid
    check(re.match(head + r"Thread %d \(sleeping\) \"[^\n]*\"\n    go \(\S*common.py:\d+\)\n" % target.pid, text), "%s", text)
    for tid, stack in target.ready["threads"].items():
        check('Thread %s (sleeping) "' % tid in text, "%s is not in %s", tid, text)
        check("".join("    %s (%s:%d)\n" % tuple(f) for f in stack) in text, "%s: %s", tid, text)
    if target.py.minor >= (3, 14):
        check('"MainThread"' in text or re.search(r'"Thread-\d', text), "no names: %s", text)
