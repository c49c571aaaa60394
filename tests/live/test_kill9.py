"""A recording whose recorder was killed at any moment can be read, up to what was flushed."""
import math
import os
import random
import subprocess
import time

from capture import samples, weights
from harness import SCRY, check, parse_folded, pick, test, wait_until

SAFE = 0.3  # seconds of samples that may not have been drained when the file grew
GAP = 0.05  # seconds: looks are 5 ms apart where nothing keeps us from them


class Watch:
    """What a recording must hold, from what the kernel says: the target's CPU time up to each growth of the file."""

    def __init__(self, recorder, target):
        self.recorder, self.target = recorder, target
        self.trace = []  # (time, CPU time of the target)
        self.sampling = False  # every CPU has its event
        self.first = None  # when it first grew: it begins with its head
        self.size = self.growths = 0
        self.waits = {}  # of each thread of scry's: seconds that it waited for a CPU
        self.look()

    def look(self):
        self.sampling = self.sampling or self.recorder.recording()
        size, now, cpu = size_of(self.recorder.path), time.monotonic(), self.target.cpu_ns()
        before, cpu_before = self.trace[-1] if self.trace else (now, cpu)
        self.trace.append((now, cpu))
        self.waits.update(waits_for_cpu(self.recorder.pid))
        if size != self.size or len(self.trace) == 1:
            if self.size:
                self.first = self.first or now
                self.growths += 1
            self.size, self.grown, self.cpu = size, now, cpu_before
            self.waited, self.stalled = self.wait(), 0
        elif now - before > GAP:
            self.stalled += now - before

    def until(self, end, least):
        """Longer where the file has not grown so many times, on a busy machine."""
        while time.monotonic() < end or (self.growths < least and time.monotonic() < end + 20):
            time.sleep(0.005)
            self.look()

    def wait(self):
        return sum(self.waits.values())

    def silence(self):
        """Seconds since the file last grew in which scry could have run: it did not wait for a CPU, nor were we ourselves kept
        from looking."""
        return self.trace[-1][0] - self.grown - (self.wait() - self.waited) - self.stalled

    def sampled(self, since):
        """CPU seconds of the target from then until the file last grew."""
        return (self.cpu - next((cpu for at, cpu in self.trace if at >= since), self.cpu)) / 1e9


def size_of(path):
    return os.stat(path).st_size if os.path.exists(path) else 0


def waits_for_cpu(pid):
    """{thread: seconds}"""
    waits = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as stat:
                waits[tid] = int(stat.read().split()[1]) / 1e9
        except OSError:
            pass  # it has ended
    return waits


def began(watch, seen):
    """When sampling had begun for certain: at the first sample, or when the file first grew."""
    return min([sample.time / 1e9 for sample in seen] + [watch.first or math.inf])


def kill_at(bench, target, seconds, rate, least=0):
    start = time.monotonic()
    recorder = bench.recorder("-p", target.pid, "-F", rate)
    watch = Watch(recorder, target)
    watch.until(start + seconds, least)
    silence, ran = watch.silence(), time.monotonic() - start - watch.wait() - watch.stalled
    recorder.process.kill()
    recorder.process.wait()
    elapsed = time.monotonic() - start
    if not os.path.exists(recorder.path):
        check(ran < 1.0, "killed after %.3f s, and there is no file", ran)
        return 0
    out = subprocess.run([SCRY, "export", "-f", "folded", "-i", recorder.path, "-o", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    size = os.path.getsize(recorder.path)
    check(out.returncode == 0 or size < 64, "killed after %.3f s, %d bytes: status %d: %s", seconds, size,
          out.returncode, out.stderr.decode())
    found = sum(count for _, count in parse_folded(out.stdout.decode()))
    report = bench.scry("report", "-i", recorder.path)
    check(report.returncode == out.returncode, "report: status %d: %s", report.returncode,
          report.stderr.decode())
    if watch.sampling:
        # it was written once a second, with all but the last moments of what had been sampled
        check(silence < 1.5, "killed after %.3f s: nothing was written for %.3f s", seconds, silence)
        safe = watch.sampled(began(watch, samples(recorder.path) if found else [])) - SAFE
        check(found >= 0.5 * rate * safe, "killed after %.3f s: %d samples of %.3f s", seconds, found, safe)
    check(found <= elapsed * rate * 1.01 + 2, "killed after %.3f s: %d samples", elapsed, found)
    return found


def moments(bench, times, longest):
    target = bench.start(pick("pyenv-3.12", "sid-3.14"), "flip.py", "plain")
    total = sum(kill_at(bench, target, random.uniform(0.0, longest), random.choice((99, 999, 8000)))
                for _ in range(times))
    total += kill_at(bench, target, 3.0, 999, least=2)
    check(total > 0, "no samples")


@test(limit=240)
def random_moments(bench):
    moments(bench, 6, 2.5)


@test(limit=60)
def asleep(bench):
    """The samples of threads that sleep are held back, but not beyond what is written next."""
    target = bench.start(pick("pyenv-3.12", "sid-3.14"), "waits.py", "idle", 3)
    recorder = bench.recorder("--mode", "wall", "-p", target.pid, "-F", 99)
    recorder.wait_recording()
    grown = []
    for _ in range(5):
        size = size_of(recorder.path)
        wait_until(lambda: size_of(recorder.path) > size, "the file grows")
        grown.append(time.monotonic())
    recorder.process.kill()
    recorder.process.wait()
    seconds = grown[-1] - grown[1]  # at the first it began, perhaps
    slept = weights(samples(recorder.path), lambda s: s.tid)
    for tid in target.ready["tids"]:
        check(slept[tid] > seconds - SAFE, "thread %d: %.3f s, written over %.3f s", tid, slept[tid], seconds)


@test(limit=400, when="full")
def many_random_moments(bench):
    moments(bench, 80, 4.0)


@test(limit=60)
def cut_anywhere(bench):
    """A recording cut at any byte: everything before the damaged chunk reports."""
    target = bench.start(pick("pyenv-3.12", "sid-3.14"), "flip.py", "plain")
    recording = bench.record("-p", target.pid, "-F", 997, "-d", 3)
    with open(recording.path, "rb") as data:
        data = data.read()
    whole = sum(count for _, count in recording.folded())
    last, cut = -1, os.path.join(bench.folder, "cut.data")
    for tenth in range(1, 11):
        with open(cut, "wb") as out:
            out.write(data[:len(data) * tenth // 10])
        exported = bench.scry("export", "-f", "folded", "-i", cut, "-o", "-")
        check(exported.returncode == 0, "cut at %d/10: status %d: %s", tenth, exported.returncode,
              exported.stderr.decode())
        found = sum(count for _, count in parse_folded(exported.stdout.decode()))
        check(last <= found <= whole, "cut at %d/10: %d samples, %d before", tenth, found, last)
        last = found
    check(last == whole, "%d of %d samples", last, whole)
