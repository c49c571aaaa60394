"""A million walks each of stacks that change as fast as they can, by every way of reading them: make soak.

Half of them of threads that do nothing but flip, half of threads that also rest at every depth. What is called proven was
there, without exception; how often the rest never was is printed. SCRY_WALKS in the environment: another number.
"""
import os

from harness import test
from test_flip import Possible, Seen

WALKS = int(os.environ.get("SCRY_WALKS") or 1000000)
LIMIT = 7200
# rates that a busy machine of two CPUs keeps up with; without BPF running threads alone take an hour for a million
READ = {"tstate": (10000, "--seed", "tstate"), "leaf": (10000, "--seed", "leaf"), "wall": (10000, "--mode", "wall"),
        "no_bpf": (2000, "--no-bpf", "--mode", "wall")}


def walk(bench, py, how, mode):
    rate, *options = READ[how]
    target = bench.start(py, "flip.py", *mode)
    possible, seen = Possible(target.ready), Seen()
    seen.record(bench, target, WALKS // 2, options, rate, LIMIT / 2 - 300)
    seen.check_proven(possible)
    target.process.kill()
    proven, unproven = sum(seen.proven.values()), sum(seen.unproven.values())
    wrong = sum(count for count, _ in possible.wrong(seen.unproven))
    return "%s: %d walks, %d proven (%d with a frame unreadable), %d of %d unproven never were (%.3f %%), %d not read" % (
        mode[0], seen.total(), proven, seen.unreadable(), wrong, unproven, 100 * wrong / max(unproven, 1),
        seen.total() - proven - unproven)


def soak(how):
    def run(bench, py):
        return "; ".join(walk(bench, py, how, mode) for mode in (("threads",), ("turns", 20)))

    run.__name__, run.__module__ = how, __name__
    test(each=True, limit=LIMIT, when="soak", only=lambda py: py.stands and py.minor in ((3, 11), (3, 15)))(run)


for each in READ:
    soak(each)
