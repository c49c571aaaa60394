"""`record -- COMMAND`, --wait, -d, the commands around a recording."""
import json
import os
import signal
import subprocess
import threading
import time

from harness import SCRY, check, name_of, number_of, pick, test, wait_until

LOOP = "import time\nend = time.monotonic() + %g\ndef work():\n    while time.monotonic() < end: pass\nwork()\n"


class Lateness:
    """How late a thread that sleeps for 10 ms at a time has woken up at most: what the machine has done to others, too."""

    def __init__(self):
        self.most, self.ended = 0.0, False
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.ended:
            start = time.monotonic()
            time.sleep(0.01)
            self.most = max(self.most, time.monotonic() - start - 0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()


def launch(bench, argv, options=(), env=None, **more):
    return subprocess.Popen([SCRY, "record", "-F", "499", "-o", os.path.join(bench.folder, "c.data")]
                            + list(options) + ["--"] + list(argv), env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **more)


def in_work(bench):
    out = bench.scry("export", "-f", "folded", "-i", os.path.join(bench.folder, "c.data"), "-o", "-")
    check(out.returncode == 0, "export: %s", out.stderr.decode())
    return sum(int(line.rpartition(b" ")[2]) for line in out.stdout.split(b"\n") if b";work (" in line)


@test()
def exit_statuses(bench):
    python = pick("debian-3.11").command[0]
    for code, status in (("pass", 0), ("import sys; sys.exit(7)", 7),
                         ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + 15)):
        process = launch(bench, [python, "-c", code])
        _, errors = process.communicate(timeout=20)
        check(process.returncode == status, "status %d, not %d: %s", process.returncode, status, errors)
    for argv, status in ((["/nonexistent/program"], 127), ([bench.folder], 126)):
        process = launch(bench, argv)
        _, errors = process.communicate(timeout=20)
        check(process.returncode == status, "%s: status %d, not %d: %s", argv, process.returncode, status, errors)
    process = launch(bench, [python, "-c", "pass"], ["-e", "frobnicate"])
    process.communicate(timeout=20)
    check(process.returncode == 125, "status %d, not 125", process.returncode)


@test()
def command_is_recorded(bench):
    # of CPU time, however busy the machine is
    code = LOOP.replace("monotonic", "process_time") % 1.5
    process = launch(bench, [pick("debian-3.11").command[0], "-c", code])
    _, errors = process.communicate(timeout=20)
    check(process.returncode == 0, "status %d: %s", process.returncode, errors)
    check(in_work(bench) > 0.8 * 1.5 * 499 * 0.8, "%d samples in work()", in_work(bench))


@test()
def duration_ends_before_the_command(bench):
    start = time.monotonic()
    process = launch(bench, [pick("debian-3.11").command[0], "-c", LOOP % 3 + "print('end')"],
                     ["-d", "1", "--summary", os.path.join(bench.folder, "s.json")])
    out, errors = process.communicate(timeout=20)
    check(out.strip() == b"end" and process.returncode == 0, "%r %d %s", out, process.returncode, errors)
    check(time.monotonic() - start >= 3, "scry did not wait for its child")
    with open(os.path.join(bench.folder, "s.json")) as text:
        summary = json.load(text)
    most = summary["duration_ns"] / 1e9 * 499
    check(summary["duration_ns"] < 2e9 and 20 < in_work(bench) < 1.02 * most + 5, "%d samples in work(), %.0f at most: %s",
          in_work(bench), most, summary)


@test()
def standard_streams_and_signals(bench):
    code = "import signal, sys\nsignal.signal(signal.SIGINT, lambda *_: (print('int', flush=True), sys.exit(3)))\n" \
           "print(sys.stdin.readline().strip(), flush=True)\nwhile 1: signal.pause()"
    process = launch(bench, [pick("debian-3.11").command[0], "-c", code], stdin=subprocess.PIPE)
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    check(process.stdout.readline() == b"hello\n", "standard input did not arrive")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    check(out == b"int\n" and process.returncode == 3, "%r, status %d: %s", out, process.returncode, errors)


@test()
def runs_as_the_sudo_user(bench):
    os.chmod(bench.folder, 0o777)
    code = "import os, json; print(json.dumps([os.getuid(), os.getgid(), os.getgroups(), os.environ.get('HOME')]))"
    env = dict(os.environ, SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
    for options, uid in (((), 65534), (("--as-root",), 0)):
        process = launch(bench, ["/usr/bin/python3", "-c", code], options, env=env)
        out, errors = process.communicate(timeout=20)
        check(process.returncode == 0, "status %d: %s", process.returncode, errors)
        who = json.loads(out)
        check(who[0] == uid and who[1] == uid, "ran as %s, not %d", who, uid)
        if uid:
            check(0 not in who[2] and who[3] == "/nonexistent", "groups, HOME: %s", who)


@test()
def lasts_as_long_as_asked(bench):
    targets = [bench.start(pick("debian-3.11"), "flip.py", "plain") for _ in range(4)]
    for options in (("-a",), ("-p", targets[0].pid)):
        with Lateness() as late:
            recording = bench.record("-d", "2.5", *options)
        took = recording.summary["duration_ns"] / 1e9
        # not less; a busy machine may let it run late
        check(2.499 < took < 2.6 + late.most, "%s lasted %.3f s; late by %.3f s at most", options, took, late.most)


def sleeps(pid):
    """It is scry by now, and waits for something."""
    with open("/proc/%d/stat" % pid) as stat:
        comm, _, rest = stat.read().partition("(")[2].rpartition(") ")
    return comm == "scry" and rest[0] == "S"


@test()
def waits_for_python(bench):
    process = subprocess.Popen(["sh", "-c", "read x; exec /usr/bin/python3 -c '%s'" % (LOOP % 30)],
                               stdin=subprocess.PIPE)
    recorder = bench.recorder("-p", process.pid, "--wait", 20, "-d", 1, "-F", 499)
    wait_until(lambda: sleeps(recorder.pid), "scry record waits")
    process.stdin.write(b"\n")
    process.stdin.flush()
    recording = recorder.finish()
    names = {name_of(stack[-1]) for stack, _ in recording.folded()}
    check("work" in names, "seen: %s", names)
    process.kill()


def wait_cpu(target, seconds):
    """Until it has had so much CPU time."""
    end = target.cpu_ns() + seconds * 1e9
    wait_until(lambda: target.cpu_ns() >= end, "it runs", 30)


@test()
def signals_end_it_well(bench):
    target = bench.start(pick("sid-3.14", "debian-3.11"), "flip.py", "plain")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        recorder = bench.recorder("-p", target.pid, "-F", 499)
        recorder.wait_recording()
        wait_cpu(target, 0.5)  # something to record
        recorder.process.send_signal(number)
        recording = recorder.finish(0)
        total = sum(count for _, count in recording.folded())
        check(total == recording.summary["samples"] > 50, "%d samples, summary says %s", total, recording.summary)


@test()
def processes_listed(bench):
    targets = {t.pid: t for t in (bench.start(pick(n), "shares.py", "duty", 5)
                                  for n in ("debian-3.11", "sid-3.14", "pyenv-3.8"))}
    out = bench.scry("ps")
    check(out.returncode == 0, "status %d: %s", out.returncode, out.stderr.decode())
    lines = {int(line.split()[0]): line for line in out.stdout.decode().split("\n")
             if line and line.split()[0].isdigit()}
    for pid, target in targets.items():
        check(pid in lines, "%d is not listed: %s", pid, out.stdout.decode())
        check("%d.%d" % target.py.minor in lines[pid], "%s: %s", target.py, lines[pid])


@test()
def doctor(bench):
    out = bench.scry("doctor")
    check(out.returncode == 0, "status %d: %s", out.returncode, out.stdout.decode())
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    os.chmod(bench.folder, 0o777)
    scry = os.path.join(bench.folder, "scry")
    subprocess.run(["cp", SCRY, scry], check=True)
    out = subprocess.run(nobody + [scry, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(out.returncode != 0 and b"missing" in out.stdout, "as nobody: %d %s", out.returncode, out.stdout.decode())


@test()
def reports(bench):
    target = bench.start(pick("sid-3.14", "debian-3.11"), "shares.py", "functions")
    recording = bench.record("-p", target.pid, "-F", 499, "-d", 2)
    for by in ("function", "line", "process", "thread"):
        out = bench.scry("report", "-i", recording.path, "-n", 5, "--by", by, "--sort", "total")
        check(out.returncode == 0, "--by %s: status %d: %s", by, out.returncode, out.stderr.decode())
        what = {"function": "seventy", "line": "seventy", "process": str(target.pid), "thread": str(target.pid)}
        check(what[by] in out.stdout.decode(), "--by %s: %s", by, out.stdout.decode())
    for stack, _ in recording.folded("--group", "thread"):
        check(number_of(stack[0]) == target.pid, "process %s", stack[0])
