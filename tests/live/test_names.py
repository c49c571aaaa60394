"""Names of every kind of string, and names of code objects whose addresses others take over."""
import re
import time

from harness import MARKER, check, check_true, name_of, path_of, test

DYNAMIC = re.compile(r"dyn_(\d+)$")
STATIC = re.compile(r"static_(\d)$")


@test(each=True)
def odd(bench, py):
    target = bench.start(py, "names.py", "odd")
    recording = bench.record("-p", target.pid, "-F", 997, "-d", 2)
    expected = target.ready
    seen = {}
    for stack, count in recording.folded():
        for frame in stack:
            seen[frame] = seen.get(frame, 0) + count
    for kind, frame in expected.items():
        check(frame in seen, "%s: no %r; seen: %r", kind, frame[:200],
              sorted(f[:80] for f in seen if f not in expected.values()))
    unexpected = {frame for frame in seen if frame not in expected.values()}
    unexpected = {name_of(frame) for frame in unexpected} - {"<module>", "odd", "burn", "<lambda>"}
    check_true(not unexpected, "names that do not exist: %r", unexpected)
    check(recording.summary.get("unnamed", 0) == 0, "unnamed: %s", recording.summary)


def recorded(bench, target, rate, wanted):
    """Recordings, one after the other, until there are so many samples: a busy machine gives a target little time."""
    end, samples = time.monotonic() + 30, 0
    while samples < wanted and time.monotonic() < end:
        recording = bench.record("-p", target.pid, "-F", rate, "-d", 2)
        samples += recording.summary["samples"]
        yield recording


def reuse(bench, py, how):
    """Not one wrong name, not one wrong file."""
    target = bench.start(py, "names.py", how)
    named = dynamic = failed = total = 0
    for recording in recorded(bench, target, 2000, 12000 if bench.full else 4000):
        total += recording.summary["samples"]
        failed += recording.failures() * recording.summary["samples"]
        some = check_reuse(recording)
        named, dynamic = named + some[0], dynamic + some[1]
    check(dynamic > 0.25 * total, "only %d of %d samples of interest", dynamic, total)
    check(named > 0.05 * dynamic, "only %d of %d named", named, dynamic)
    check(failed <= 0.001 * total + 1, "%d of %d failed", failed, total)


def check_reuse(recording):
    named = dynamic = 0
    for stack, count in recording.folded():
        names = [name_of(frame) for frame in stack]
        for i, name in enumerate(names):
            match = DYNAMIC.match(name)
            if match:
                k = int(match.group(1))
                named += count
                check_true(path_of(stack[i]) == "/gen/%d.py" % k, "%s has the file %s", name, path_of(stack[i]))
                below = STATIC.match(names[i + 1]) if i + 1 < len(names) else None
                check_true(not below or int(below.group(1)) == k % 8, "%d samples: %s stands above %s", count,
                           name, names[i + 1] if below else "")
            elif STATIC.match(name):
                dynamic += count
                above = names[i - 1]
                check_true(DYNAMIC.match(above) or MARKER.match(above) or above == "replaced",
                           "%d samples: %s stands below %r", count, name, above)
    return named, dynamic


@test(each=True, when="both")
def reuse_exec(bench, py):
    reuse(bench, py, "exec")


@test(each=True, when="both")
def reuse_replace(bench, py):
    reuse(bench, py, "replace")


@test(each=True, when="both")
def reuse_subinterpreter(bench, py):
    reuse(bench, py, "subinterpreter")


def reuse_caller(bench, py, how, number_of):
    """Whoever calls static_N is number k, N = k % 8, or has no name."""
    target = bench.start(py, "names.py", how)
    named = total = samples = 0
    for recording in recorded(bench, target, 4000, 20000 if bench.full else 8000):
        samples += recording.summary["samples"]
        for stack, count in recording.folded():
            names = [name_of(frame) for frame in stack]
            for i, name in enumerate(names):
                match = STATIC.match(name)
                if not match:
                    continue
                total += count
                if MARKER.match(names[i - 1]):
                    continue
                k = number_of(stack[i - 1])
                check_true(k is not None and k % 8 == int(match.group(1)), "%d samples: %s stands below %s", count, name,
                           stack[i - 1])
                named += count
    check(total > 0.06 * samples, "only %d of %d samples of interest", total, samples)
    check(named > 0.05 * total, "only %d of %d named", named, total)


def number(pattern, text):
    match = re.match(pattern, text)
    return int(match.group(1)) if match else None


@test(each=True, when="both")
def reuse_module(bench, py):
    reuse_caller(bench, py, "module", lambda frame: number(r"/gen/(\d+)\.py$", path_of(frame)))


@test(each=True, only=lambda py: py.minor >= (3, 11), when="full")
def reuse_method(bench, py):
    reuse_caller(bench, py, "method", lambda frame: number(r"dyn_(\d+)\.method$", name_of(frame)))
