"""What live tests share: interpreters, targets, recordings.

A test is a function with @test; it gets a `Bench` (and an interpreter, if it asks for each) and fails by
`check()` or any exception. Everything a test starts is killed when it ends, whatever way it ends. Waiting is
always on a condition, with a time limit of the test's own.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SCRY = os.environ.get("SCRY", os.path.join(TOP, "build/scry"))
CACHE = os.environ.get("SCRY_CACHE", "/var/cache/scry-test")
OUTCOMES = ("exact", "joined", "read", "cut", "unproven", "gone", "native", "missed")
STARTING = 40  # seconds; scry record needs one beside twenty busy processes
HANG = 30  # seconds; who does not end before that hangs
MARKER = re.compile(r"\[[a-z]+\]$")


class Skip(Exception):
    """Not run although this machine could: a failure in CI."""


class Cannot(Exception):
    """Not run because this machine can't."""


class Failed(Exception):
    """A check that did not hold."""


class Wrong(Failed):
    """scry said what is not so, or crashed: no state of the machine excuses it, and the test is not run again."""


def check(holds, text, *args):
    if not holds:
        raise Failed(text % args if args else text)


def check_true(holds, text, *args):
    if not holds:
        raise Wrong(text % args if args else text)


# --- tests -------------------------------------------------------------------------------------------

TESTS = []


def test(each=False, only=None, limit=60, when="check"):
    """Register a test. each: once per interpreter, `only` of those for which only(interpreter) holds; in make check that is
    those that stand for the others, which come in make check-full, unless each is "build".
    limit: seconds. when: "check", "full" (make check-full), "both", "soak" (make soak)."""

    def register(function):
        name = function.__module__.replace("test_", "") + "." + function.__name__
        TESTS.append((name, function, each, only, limit, when))
        return function

    return register


# --- interpreters --------------------------------------------------------------------------------

# 3.8: frames are heap objects; 3.11: the current frame behind a CFrame, proof by name; 3.12: proof by version; 3.13: offsets come
# from the target; 3.15: the newest
STAND = ((3, 8), (3, 11), (3, 12), (3, 13), (3, 15))


class Interpreter:
    """One line of interpreters.found. `command` starts it; `root` is its root directory, "" for ours."""

    def __init__(self, name, minor, command):
        self.name = name
        self.minor = tuple(int(n) for n in minor.split("."))
        self.missing = command.lstrip("!") if command.startswith("!") else ""
        self.impossible = command.startswith("!!")
        self.command = command.split()
        self.stands = False  # for builds that are like it
        self.root = self.command[1] if self.command[0] == "chroot" else ""
        # where the fixtures are, as this interpreter sees them
        self.fixtures = os.path.join(HERE, "fixtures")
        if self.root:
            self.fixtures = "/var/tmp/scry-fixtures-%d" % os.getpid()

    def share_fixtures(self):
        """Copy the fixtures into its root, once."""
        there = self.root + self.fixtures
        if self.root and not os.path.isdir(there):
            shutil.copytree(os.path.join(HERE, "fixtures"), there,
                            ignore=shutil.ignore_patterns("__pycache__"))

    def unshare_fixtures(self):
        if self.root:
            shutil.rmtree(self.root + self.fixtures, ignore_errors=True)

    def argv(self, fixture, *args):
        self.share_fixtures()
        return self.command + ["-B", "-u", os.path.join(self.fixtures, fixture)] + [str(a) for a in args]

    def __repr__(self):
        return self.name


def interpreters():
    path = os.path.join(CACHE, "interpreters.found")
    try:
        with open(path) as lines:
            found = [Interpreter(*line.rstrip("\n").split("\t")) for line in lines]
    except FileNotFoundError:
        raise SystemExit("no %s: run tests/tools/setup-interpreters" % path)
    firsts = {}
    for py in sorted(found, key=lambda py: bool(py.missing)):
        py.stands = firsts.setdefault(py.minor, py) is py and py.minor in STAND
    return found


def read_or_not(py):
    """What a witnessed stack of a process with several interpreters is: up to 3.12 nothing tells which thread runs a
    state, so it is not proven whose stack it is."""
    return "read" if py.minor >= (3, 13) else "unproven"


def pick(*names):
    """The first of these interpreters that is here, else any that runs in our own root."""
    have = {py.name: py for py in interpreters() if not py.missing}
    for name in names:
        if name in have:
            return have[name]
    for py in have.values():
        if not py.root:
            return py
    raise Skip("no interpreter")


# --- processes -----------------------------------------------------------------------------------

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Become the parent of whatever our processes leave behind, so that it can be killed."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """All our descendants, children first."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as stat:
                parents.setdefault(int(stat.read().rpartition(")")[2].split()[1]), []).append(int(pid))
        except (OSError, IndexError):
            pass
    found, todo = [], [os.getpid()]
    while todo:
        todo += parents.get(todo[0], [])
        found += parents.get(todo.pop(0), [])
    return found


def kill_children():
    for _ in range(50):
        alive = children()
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


def wait_until(condition, what, seconds=10.0):
    """Poll until condition() is true; return its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < end, "waited %g s in vain: %s", seconds, what)
        time.sleep(0.01)


class Target:
    """A fixture that runs. It says `ready` (and may add a JSON value) when it does what it is for; later
    lines are JSON values too. A line on its standard input tells it to go on, the end of it to stop."""

    def __init__(self, bench, py, fixture, args, env=None, prefix=()):
        self.py = py
        self.errors = os.path.join(bench.folder, "%s.%d.stderr" % (fixture, len(bench.targets)))
        full = dict(PATH="/usr/sbin:/usr/bin:/sbin:/bin", LANG="C.UTF-8", HOME="/root",
                    PYTHONUTF8="1", **(env or {}))
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(list(prefix) + py.argv(fixture, *args), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, env=full,
                                            start_new_session=True)
        self.pid = self.process.pid
        self.path = os.path.join(py.fixtures, fixture)
        line = self.line()
        self.check(line.startswith("ready"), "%s on %s said %r, not ready", fixture, py, line)
        self.ready = json.loads(line[6:]) if line[6:] else None

    def line(self):
        return self.process.stdout.readline().decode("utf-8").rstrip("\n")

    def say(self, text="go"):
        self.process.stdin.write((text + "\n").encode())
        self.process.stdin.flush()

    def answer(self):
        line = self.line()
        self.check(line, "target %d on %s ended without an answer", self.pid, self.py)
        return json.loads(line)

    def stop(self):
        """End its input; return the JSON value it answers with, if any."""
        self.process.stdin.close()
        line = self.line()
        self.process.wait()
        self.check(self.process.returncode == 0, "target on %s", self.py)
        return json.loads(line) if line else None

    def check(self, holds, text, *args):
        """check(), with how it ended. That takes a second of one that runs: it is only asked when something is wrong."""
        if not holds:
            raise Failed("%s: %s" % (text % args, self.end()))

    def end(self):
        """How it ended, and what it said last."""
        try:
            status = "status %d" % self.process.wait(1)
        except subprocess.TimeoutExpired:
            status = "it runs"
        try:
            with open(self.errors, errors="replace") as errors:
                return "%s: %s" % (status, errors.read()[-800:])
        except OSError as e:
            return "%s: %s" % (status, e)

    def cpu_ns(self):
        return process_cpu_ns(self.pid)


def process_cpu_ns(pid):
    """CPU time of a process, its ended threads included, live: its CPU clock (see clock_getcpuclockid)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def thread_name(pid, tid):
    with open("/proc/%d/task/%s/comm" % (pid, tid)) as comm:
        return comm.read().rstrip("\n")


def thread_cpu_ns(pid, tid):
    with open("/proc/%d/task/%d/schedstat" % (pid, tid)) as stat:
        return int(stat.read().split()[0])


def stolen_ns():
    """What the host has taken from our CPUs while they had something to run, as far as it tells."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) * 1000000000 // os.sysconf("SC_CLK_TCK")


# --- recordings ----------------------------------------------------------------------------------

class Recording:
    """A finished `scry record`. least, most: of measured(), how much each number grew while it surely recorded, and in all
    the time that it can have recorded. stolen: stolen_ns() meanwhile."""

    def __init__(self, path, status, errors, summary, stolen=0):
        self.path = path
        self.status = status
        self.errors = errors
        self.summary = summary
        self.stolen = stolen
        self.least = self.most = {}

    def outcomes(self):
        return {name: self.summary["outcomes"].get(name, 0) for name in OUTCOMES}

    def failures(self):
        """Share of samples that failed: missed, cut, lost."""
        lost, outcomes = self.summary["lost"], self.outcomes()
        total = self.summary["samples"] + lost
        return (outcomes["missed"] + outcomes["cut"] + lost) / total if total else 1.0

    def folded(self, *args):
        """[(frames, count)], frames root first, as exported."""
        out = subprocess.run([SCRY, "export", "-f", "folded", "-i", self.path, "-o", "-"] + list(args),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(out.returncode == 0, "export %s: status %d: %s", " ".join(args), out.returncode,
              out.stderr.decode(errors="replace"))
        return parse_folded(out.stdout.decode("utf-8"))


class Recorder:
    """A `scry record` that runs."""

    def __init__(self, bench, args, prefix=(), env=None):
        n = len(bench.recorders)
        self.path = os.path.join(bench.folder, "scry.%d.data" % n)
        self.summary = os.path.join(bench.folder, "summary.%d.json" % n)
        self.errors = os.path.join(bench.folder, "record.%d.stderr" % n)
        argv = list(prefix) + [SCRY, "record", "-o", self.path, "--summary", self.summary]
        self.stolen = stolen_ns()
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(argv + [str(a) for a in args], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=errors, env=env)
        self.pid = self.process.pid

    def recording(self):
        """It samples: the thread that does has the name it takes when all events are on."""
        if self.process.poll() is not None:
            return True
        try:
            return any(thread_name(self.pid, tid) == "scry-recording" for tid in os.listdir("/proc/%d/task" % self.pid))
        except OSError:
            return False

    def wait_recording(self):
        wait_until(self.recording, "scry record samples", STARTING)
        check(self.process.poll() is None, "scry record ended: %s", self.text())

    def text(self):
        with open(self.errors, errors="replace") as errors:
            return errors.read()

    def measured(self, seconds, measure):
        """Record so long; → the recording, by how much each number of the dict measure() grew, and in what time. Not with
        -d: until a busy machine lets scry end, much may happen that was not recorded."""
        # the last but one is of before it was seen not to record yet
        earlier = first = measure()

        def begun():
            nonlocal earlier, first
            if self.recording():
                return True
            earlier, first = first, measure()
            return False

        wait_until(begun, "scry record samples", STARTING)
        self.wait_recording()
        start, before = time.monotonic(), measure()
        time.sleep(seconds)
        after, window = measure(), time.monotonic() - start
        recording = self.interrupt()
        try:
            later = measure()
        except OSError:
            later = after  # it was of what has ended
        recording.least = {key: after[key] - before[key] for key in after}
        recording.most = {key: later[key] - earlier[key] for key in later}
        return recording, recording.least, window

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.finish()

    def finish(self, status=0):
        self.process.wait()
        check_true(self.process.returncode >= 0 or self.process.returncode == status, "scry record crashed: status %d: %s",
                   self.process.returncode, self.text()[-800:])
        check(self.process.returncode == status, "scry record: status %d: %s", self.process.returncode,
              self.text()[-800:])
        summary = None
        if os.path.exists(self.summary):
            with open(self.summary) as text:
                summary = json.load(text)
        return Recording(self.path, self.process.returncode, self.text(), summary, stolen_ns() - self.stolen)


class Bench:
    """What one test gets: a folder of its own, and the means to start things."""

    def __init__(self, folder, full=False):
        self.folder = folder
        self.full = full
        self.targets = []
        self.recorders = []
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def start(self, py, fixture, *args, **options):
        self.targets.append(Target(self, py, fixture, args, **options))
        return self.targets[-1]

    def recorder(self, *args, **options):
        self.recorders.append(Recorder(self, args, **options))
        return self.recorders[-1]

    def record(self, *args, **options):
        """Run `scry record` to its end."""
        return self.recorder(*args, **options).finish()

    def scry(self, *args, **options):
        return subprocess.run([SCRY] + [str(a) for a in args], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


# --- folded stacks -------------------------------------------------------------------------------

ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|.)")


def unescape(text):
    """Undo the escapes of folded: `\\x3b`, `\\n`, `\\xNN`, doubled backslash."""
    def one(match):
        what = match.group(1)
        if what == "n":
            return "\n"
        if what == "\\":
            return "\\"
        check(what[0] == "x", "unknown escape in folded: %r", text)
        return chr(int(what[1:], 16))
    return ESCAPE.sub(one, text)


def parse_folded(text):
    stacks = []
    for line in text.split("\n"):
        if not line:
            continue
        stack, _, count = line.rpartition(" ")
        check(stack and count.isdigit() and int(count) > 0, "not a folded line: %r", line)
        stacks.append((tuple(unescape(frame) for frame in stack.split(";")), int(count)))
    return stacks


def name_of(frame):
    """`name (path)` or `name (path:line)` → name; a marker is its own name."""
    return frame if MARKER.match(frame) else frame.rpartition(" (")[0]


def path_of(frame):
    return "" if MARKER.match(frame) else frame.rpartition(" (")[2][:-1]


def line_of(frame):
    """Of a frame with lines: (name, line)."""
    return (name_of(frame), 0 if MARKER.match(frame) else int(frame[:-1].rpartition(":")[2]))


def number_of(element):
    """`comm[123]` → 123"""
    return int(element.rpartition("[")[2][:-1])


def plain(name):
    """The last part of a qualified name: versions before 3.11 know no more."""
    return name.rpartition(".")[2]


def same_frames(seen, truth):
    """Frame by frame the same, or [unreadable] where a name could not be proven."""
    return len(seen) == len(truth) and all(frame in (true, "[unreadable]") for frame, true in zip(seen, truth))
