"""Pieces of `make bench`: targets that count their work, recordings of them, paired runs, one table."""
import json
import mmap
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests/live"))
import harness  # noqa: E402

SCRY = harness.SCRY
EMPTY = os.path.join(TOP, "build/bench-empty")
ENGINE = os.path.join(TOP, "build/bench-engine")


class Target:
    """target.py under an interpreter, with its counters mapped."""

    def __init__(self, python, depth, cpu=None):
        self.dir = tempfile.mkdtemp(prefix="scry-bench-", dir=python.root + "/tmp" if python.root else None)
        inside = self.dir[len(python.root):]
        shutil.copy(os.path.join(HERE, "target.py"), self.dir)
        path = os.path.join(self.dir, "counters")
        with open(path, "wb") as f:
            f.write(bytes(16))
        with open(path, "r+b") as f:
            self.counters = mmap.mmap(f.fileno(), 16)
        command = python.command + ["-B", inside + "/target.py", str(depth), inside + "/counters"]
        if cpu is not None:
            command = ["taskset", "-c", str(cpu)] + command
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("bench: the target did not start: " + " ".join(command))
        self.pid = self.process.pid

    def now(self):
        return struct.unpack("=QQ", self.counters[:16])

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def record(*args, seconds, rate, every=()):
    """One run of scry record; its summary."""
    with tempfile.TemporaryDirectory() as d:
        summary = os.path.join(d, "summary")
        subprocess.run([*every, SCRY, "record", "-q", *map(str, args), "-F", str(rate), "-d", str(seconds),
                        "-o", os.path.join(d, "data"), "--summary", summary], check=True)
        with open(summary) as f:
            return json.load(f)


def speed(target, command, settle):
    """Rounds of the target per second of its own CPU time while `command` runs, less its start and end."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        time.sleep(settle)
        before = target.now()
        while run.poll() is None and time.monotonic_ns():
            after = target.now()
            time.sleep(0.05)
    return (after[0] - before[0]) / max(1, after[1] - before[1]) * 1e9


def paired(target, a, b, pairs, settle=0.4):
    """Median slowdown of b against a over pairs of runs, in percent, and half the spread of the middle half."""
    ratios = []
    for _ in range(pairs):
        first, second = speed(target, a, settle), speed(target, b, settle)
        third = speed(target, a, settle)
        ratios.append(((first + third) / 2 / second - 1) * 100)
    low, _, high = statistics.quantiles(ratios, n=4)
    return statistics.median(ratios), (high - low) / 2


def cpu_of(command, **kw):
    """CPU seconds (user and system) that a command and its children took, and its exit status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(command, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **kw}).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status % 256


class Table:
    """Rows as they are measured; a Markdown table at the end, for the README. The first column is wide."""

    def __init__(self, *columns):
        self.columns = columns or ("figure", "measured", "budget")
        self.rows = []

    def row(self, *cells):
        cells += ("",) * (len(self.columns) - len(cells))
        self.rows.append(cells)
        print("%-72s %s" % (cells[0], " ".join("%-24s" % cell for cell in cells[1:])), flush=True)

    def markdown(self):
        lines = ["| %s |" % " | ".join(self.columns), "|---" * len(self.columns) + "|"]
        return "\n".join(lines + ["| %s |" % " | ".join(row) for row in self.rows])
