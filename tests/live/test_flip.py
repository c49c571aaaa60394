"""A program that alternates between two call chains as fast as it can: no stack that never was.

What can be is told by the program itself (fixtures/flip.py), with the line of every frame. How often each chain is seen is no
matter of this test: two chains that do the same work do not take the same time (4.7 : 5.3 on one of our interpreters), and what
takes nanoseconds can't be measured by the program that does it; test_shares.py does it for longer ones.

Generators of 3.11 and 3.12 are the hardest: the current frame is in a struct on the C stack, which is current before it is
filled, and a loop that does nothing but enter generators is caught there in up to 2 % of its ticks (bpf/edge.bpf.h).
"""
import collections
import time

from harness import check, check_true, name_of, number_of, path_of, pick, same_frames, test

RATE = 17000
ALONE = ("[gone]", "[missed]", "[native]")
SECONDS = 40  # after that, take what came

# what does not come from the interrupt; each is told how often it was wrong where it does not claim to be right
READ = {"leaf": ("--seed", "leaf"), "tstate": ("--seed", "tstate"), "wall": ("--mode", "wall"), "no-bpf": ("--no-bpf",)}


class Possible:
    """Every stack that can exist."""

    def __init__(self, ready):
        self.stacks = set()
        self.pairs = [pair for kind in ready["chains"].values() for pair in kind]
        for prefix, kind in ready["prefixes"]:
            for tail in ready["tails"][kind]:
                stack = tuple(prefix + tail)
                self.stacks |= {stack, stack[:-1] + (lineless(stack[-1]),)}

    def wrong(self, folded):
        """[(count, stack)] that can't be, the most frequent last. [unreadable] may be any one frame."""
        return sorted((count, stack) for stack, count in folded.items()
                      if stack not in self.stacks and stack[0] not in ALONE and
                      not ("[unreadable]" in stack and any(same_frames(stack, true) for true in self.stacks)))

    def check_seen(self, folded, share=0.005, of=min):
        """Each function of both chains is seen (of=max: of one of them), in more than that share of the samples of its kind."""
        total = sum(folded.values())
        for first, second in self.pairs:
            a, b = (sum(count for stack, count in folded.items() if name in map(name_of, stack[-2:]))
                    for name in (first, second))
            check(of(a, b) > share * total / len(self.pairs), "%d of %d samples in %s, %d in %s", a, total, first,
                  b, second)


def lineless(frame):
    """A leaf between two lines has none."""
    return "%s (%s:0)" % (name_of(frame), path_of(frame).rpartition(":")[0])


class Seen:
    """What recordings of one target saw."""

    def __init__(self):
        self.outcomes, self.whole, self.lossy = collections.Counter(), 0, 0
        self.proven, self.unproven, self.rest = (collections.Counter() for _ in range(3))
        self.depths = collections.defaultdict(collections.Counter)  # tid → how deep it flips: each thread at one depth

    def total(self):
        return sum(self.outcomes.values())

    def add(self, recording):
        self.whole += recording.summary["lost"] == 0
        self.lossy += recording.summary["lost"] > 0
        self.outcomes.update(recording.outcomes())
        for names, stacks in (("exact,joined,read", self.proven), ("unproven", self.unproven),
                              ("cut,gone,native,missed", self.rest)):
            for (_process, thread, *stack), count in recording.folded("--lines", "--group", "thread", "--outcome", names):
                stacks[tuple(stack)] += count
                names_of = [name_of(frame) for frame in stack]
                if stacks is self.proven and any(name.startswith("flip_") for name in names_of):
                    self.depths[number_of(thread)][names_of.count("down")] += count

    def record(self, bench, target, samples, options, rate=RATE, longest=None):
        """Until there are so many, or it lasts too long and there are enough: a machine may be busy. One that keeps scry from
        its CPU for long loses samples; of one recording it must not, at a lower rate if need be."""
        longest = longest or (SECONDS if samples > 20000 else SECONDS / 5)
        start, seconds, enough = time.monotonic(), 0.7, min(samples / 10, 5000)
        while self.total() < samples or not self.whole:
            if time.monotonic() > start + longest * (1 if self.total() >= enough and self.whole else 4):
                break
            before, began = self.total(), time.monotonic()
            now = rate if self.whole else max(rate >> self.lossy, 1000)
            self.add(bench.record("-p", target.pid, "-F", now, "-d", "%.1f" % seconds, *options))
            speed = (self.total() - before) / (time.monotonic() - began)
            seconds = min(max(0.7, (samples - self.total()) / max(speed, 1)), longest / 4, 20)
        check(self.total() >= enough, "only %d samples, wanted %d", self.total(), samples)

    def check_proven(self, possible):
        for count, stack in possible.wrong(self.proven):
            check_true(False, "impossible, %d of %d: %s", count, sum(self.proven.values()), "; ".join(stack))
        check(sum((self.proven + self.unproven + self.rest).values()) == self.total(),
              "%d samples in the summary, not as many in the stacks", self.total())
        # no code object dies here
        check(not self.unreadable(), "%d of %d without a name", self.unreadable(), self.total())
        for tid, depths in self.depths.items():
            check_true(len(depths) == 1, "thread %d shows the stack of another: depths %s", tid, depths)

    def unreadable(self):
        return sum(count for stack, count in self.proven.items() if "[unreadable]" in stack)


def flip(bench, py, mode, samples):
    target = bench.start(py, "flip.py", mode)
    possible, seen = Possible(target.ready), Seen()
    seen.record(bench, target, samples, ())
    seen.check_proven(possible)
    check(seen.outcomes["exact"] >= 0.999 * seen.total(), "%s", seen.outcomes)
    check(seen.whole, "all of %d recordings lost samples", seen.lossy)
    if mode != "turns":
        possible.check_seen(seen.proven)
    elif seen.total() >= 5000:  # how much CPU time they get depends on who else wants it
        possible.check_seen(seen.proven, 0)


def samples(bench):
    return 100000 if bench.full else 10000


@test(each="build", when="both", limit=240)
def plain(bench, py):
    flip(bench, py, "plain", samples(bench))


@test(each="build", when="both", limit=240)
def threads(bench, py):
    flip(bench, py, "threads", samples(bench))


@test(each="build", when="both", limit=240)
def generators(bench, py):
    flip(bench, py, "generators", samples(bench))


@test(each="build", when="both", limit=240)
def methods(bench, py):
    flip(bench, py, "methods", samples(bench))


@test(each=True, limit=240)
def turns(bench, py):
    flip(bench, py, "turns", 10000)


@test(limit=240)
def many_with_offsets_table(bench):
    flip(bench, pick("sid-3.14", "standalone-3.14", "pyenv-3.13"), "methods", 100000)


@test(limit=240)
def many_with_own_layout(bench):
    flip(bench, pick("debian-3.11", "pyenv-3.11"), "generators", 100000)


def read(bench, py, how, samples, *mode):
    """turns: threads that are running, displaced, asleep or waiting for the GIL at any moment. Whoever is running is read as
    it runs, and may be seen in a stack that never was: then it is not called proven."""
    target = bench.start(py, "flip.py", *mode)
    possible, seen = Possible(target.ready), Seen()
    seen.record(bench, target, samples, READ[how], rate=10000)
    seen.check_proven(possible)
    unproven, wrong = sum(seen.unproven.values()), sum(count for count, _ in possible.wrong(seen.unproven))
    check(wrong <= 0.1 * unproven + 5, "%d of %d unproven are impossible", wrong, unproven)
    failed = seen.outcomes["missed"] + seen.outcomes["cut"]
    if how == "wall":
        check(failed <= 0.002 * seen.total() and not unproven, "%s", seen.outcomes)
        # others see little of threads that mostly rest; where those let go of the GIL may be nearly always the same place
        possible.check_seen(seen.proven, of=max)
    return "%s %s: %d proven, %d of %d unproven impossible (%.2f %%), %d failed" % (
        mode[0], how, sum(seen.proven.values()), wrong, unproven, 100 * wrong / max(unproven, 1), failed)


@test(each=True, limit=240, when="full")
def read_later(bench, py):
    return "; ".join(read(bench, py, how, 800, "turns", 8) for how in READ)


@test(limit=240)
def read_later_by_two(bench):
    """make check-full has every build."""
    return "; ".join(read_later(bench, pick(*names)) for names in (("pyenv-3.8", "debian-3.11"), ("sid-3.15", "standalone-3.14")))


def millions(bench, py):
    # only wall mode, which reads every thread at every tick, gets to so many; without BPF it takes a second for 50
    few = {how: 1000 if how == "no-bpf" else 5000 for how in READ}
    found = [read(bench, py, how, 1000000 if how == "wall" else few[how], "turns", 20) for how in READ]
    # nothing but flips: how wrong it can be
    return "; ".join(found + [read(bench, py, how, few[how], "threads") for how in READ])


@test(limit=600, when="full")
def million_with_offsets_table(bench):
    return millions(bench, pick("sid-3.14", "standalone-3.14", "pyenv-3.13"))


@test(limit=600, when="full")
def million_with_own_layout(bench):
    return millions(bench, pick("debian-3.11", "pyenv-3.11"))
