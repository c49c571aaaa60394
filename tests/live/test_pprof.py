"""pprof files, read by pprof itself."""
import json
import os
import re
import signal
import subprocess

from harness import CACHE, SCRY, TOP, Skip, check, test, wait_until
from test_dump import state

FAKE = os.path.join(TOP, "build/fake-recording")
PPROF = os.path.join(CACHE, "bin/pprof")


def export(bench, *shape):
    """A made-up recording, its summary, and its export."""
    if not os.path.exists(PPROF):
        raise Skip("no %s: run tests/tools/setup-viewers" % PPROF)
    data, out = os.path.join(bench.folder, "scry.data"), os.path.join(bench.folder, "profile.pb.gz")
    made = subprocess.run([FAKE, shape[0], data] + [str(n) for n in shape[1:]], check=True, stdout=subprocess.PIPE)
    done = bench.scry("export", "-f", "pprof", "-i", data, "-o", out)
    check(done.returncode == 0, "export: %s", done.stderr)
    return data, out, json.loads(made.stdout)


def pprof(bench, *args):
    env = dict(os.environ, HOME=bench.folder, PPROF_TMPDIR=bench.folder)
    done = subprocess.run([PPROF] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    errors = done.stderr.decode(errors="replace")
    check(done.returncode == 0, "pprof %s: %s", args, errors)
    # it warns when a profile has no main binary, or needs symbols
    check(not errors.strip(), "pprof %s complains: %s", args, errors)
    return done.stdout.decode(errors="replace")


def rows(text):
    """{name: (flat, cum)} of -top."""
    found = {}
    for line in text.split("\n"):
        row = re.match(r" *([\d.]+)(?:m?s)? +[\d.]+% +[\d.]+% +([\d.]+)(?:m?s)? +[\d.]+%  (.+)", line)
        if row:
            found[row.group(3)] = (float(row.group(1)), float(row.group(2)))
    return found


@test(when="full")
def numbers(bench):
    _, out, _ = export(bench, "small")
    top = rows(pprof(bench, "-top", "-unit=ms", out))
    check(top["Work.step"] == (850, 850), "Work.step: %s", top)
    check(top["main"] == (50, 900), "main: %s", top)
    check(top["<module>"] == (0, 900), "<module> and its like keep their names: %s", top)
    check(top["fib"] == (120, 120), "recursion counts once: %s", top)
    for marker, ms in ("[gone]", 10), ("[native]", 20), ("[missed]", 10), ("[unreadable]", 60):
        check(top[marker][0] == ms, "%s: %s", marker, top)
    check(top["[truncated]"] == (0, 20), "[truncated]: %s", top)
    top = rows(pprof(bench, "-top", "-lines", "-sample_index=samples", out))
    check(top["Work.step /srv/lib/work.py:5"] == (60, 60), "line 5: %s", top)
    check(top["Work.step /srv/lib/work.py:6"] == (25, 25), "line 6: %s", top)


@test(when="full")
def header(bench):
    _, out, _ = export(bench, "small")
    raw = pprof(bench, "-raw", out)
    for want in ("PeriodType: cpu nanoseconds", "Period: 10000000", "Duration: 2s",
                 "samples/count cpu/nanoseconds[dflt]", "/usr/bin/python3.13", "[FN][FL][LN]",
                 "scry record -F 100"):
        check(want in raw, "%s is not in %s", want, raw)
    check("Time: 2023-11-14 22:13:20 +0000 UTC" in raw, "time: %s", raw)


@test(when="full")
def labels(bench):
    _, out, _ = export(bench, "small")
    tags = pprof(bench, "-tags", "-sample_index=samples", out)
    for want in (r"\b103 +\([ \d.]+%\): 4711\b", r"\b13 +\([ \d.]+%\): 4713\b", r"\b90 +\([ \d.]+%\): MainThread\b",
                 r"\b103 +\([ \d.]+%\): python3\b"):
        check(re.search(want, tags), "no %s in %s", want, tags)
    top = rows(pprof(bench, "-top", "-sample_index=samples", "-tagfocus=thread=Worker", out))
    check(top["fib"] == (12, 12) and "main" not in top, "focus on a thread: %s", top)
    top = rows(pprof(bench, "-top", "-sample_index=samples", "-tagroot=comm", out))
    check(top["python3"] == (0, 103), "comm as root: %s", top)


@test(when="full")
def pictures(bench):
    _, out, _ = export(bench, "small")
    check("Work.step" in pprof(bench, "-dot", out), "a graph names its functions")
    traces = pprof(bench, "-traces", out)
    check(traces.count("-----------+") == 12, "eleven distinct stacks: %s", traces)


@test(when="full")
def a_large_one(bench):
    data, out, made = export(bench, "random", 7, 8, 30, 3000, 2000, 80, 50000)
    top = pprof(bench, "-top", "-sample_index=samples", "-nodecount=0", "-nodefraction=0", out)
    check(" of %d total" % made["samples"] in top, "all samples are there: %s", top[:400])
    folded = bench.scry("export", "-f", "folded", "-i", data, "-o", "-").stdout.decode()
    leaves = {}
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        name = stack.rpartition(";")[2].rpartition(" (")[0]
        leaves[name] = leaves.get(name, 0) + int(count)
    flat = {name: int(row[0]) for name, row in rows(top).items() if row[0]}
    check(flat == leaves, "pprof's flat counts are those of the folded stacks")


def writes_in(folder, pid, but):
    """Has the process a file of this folder open, with a name or without, but this one?"""
    fds = "/proc/%d/fd" % pid
    paths = [os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)]
    return any(path.startswith(folder + "/") and path != but for path in paths)


@test()
def killed_while_it_writes(bench):
    """An export that is ended leaves what was there before, and nothing beside it."""
    data, out = os.path.join(bench.folder, "scry.data"), os.path.join(bench.folder, "out.pb.gz")
    made = [FAKE, "random", data, "3", "4", "10", "2000", "4000", "60", "60000"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    with open(out, "w") as before:
        before.write("before")
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
        export = subprocess.Popen([SCRY, "export", "-f", "pprof", "-i", data, "-o", out])
        wait_until(lambda: writes_in(bench.folder, export.pid, data), "it writes")
        export.send_signal(signal.SIGSTOP)
        wait_until(lambda: state(export.pid, export.pid) in "TZ", "it stands still")
        export.send_signal(number)
        export.send_signal(signal.SIGCONT)
        check(export.wait() == -number, "status %d", export.returncode)
        check(sorted(os.listdir(bench.folder)) == ["out.pb.gz", "scry.data"], "left: %s", os.listdir(bench.folder))
    with open(out) as after:
        check(after.read() == "before", "it was written")
