"""Deep recursion: complete as far as documented, beyond that proven or cut, never invented."""
from harness import check, check_true, name_of, same_frames, test

LEAST = 20  # samples


def same(seen, truth):
    """The hundred hot frames have their names."""
    return same_frames(seen, truth) and seen[-100:] == truth[-100:]


def recorded(bench, target, rate, seconds):
    """For longer where a busy machine has let the target run too little."""
    for times in (1, 3, 10):
        recording = bench.record("-p", target.pid, "-F", rate, "-d", times * seconds)
        if recording.summary["samples"] >= LEAST:
            break
    return recording


def depth(bench, py, how, levels, complete, rate=1997):
    target = bench.start(py, "depth.py", how, levels)
    truth = tuple(target.ready)
    spin = "spin (%s)" % target.path
    recording = recorded(bench, target, rate, 1)
    whole = total = 0
    for stack, count in recording.folded():
        total += count
        if same(stack, truth + (spin,)):
            whole += count
            continue
        check_true(stack[0] == "[truncated]", "%d samples of a stack that never was, %d deep: %s … %s", count,
                   len(stack), stack[0], "; ".join(name_of(frame) for frame in stack[-4:]))
        hot = stack[1:]
        check_true(hot and same(hot, (truth + (spin,))[-len(hot):]), "%d samples whose hot end is wrong: %s", count,
                   "; ".join(name_of(frame) for frame in hot[-8:]))
        check(len(hot) >= 100, "only %d frames of %d", len(hot), levels)
    check(total >= LEAST, "only %d samples", total)
    outcomes = recording.outcomes()
    if complete:
        check(whole >= 0.999 * total, "%d of %d complete: %s", whole, total, outcomes)
        check(outcomes["exact"] >= 0.999 * total, "outcomes: %s", outcomes)
    else:
        proven = outcomes["exact"] + outcomes["joined"] + outcomes["read"]
        check(proven == whole, "%d proven, %d complete: %s", proven, whole, outcomes)
        check(proven + outcomes["cut"] == total, "outcomes: %s", outcomes)


@test(each=True, limit=120)
def plain(bench, py):
    for levels in (5, 60, 200):
        depth(bench, py, "plain", levels, complete=True)


@test(each=True, limit=120)
def through_c(bench, py):
    for levels in (5, 60, 200):
        depth(bench, py, "sorted", levels, complete=True)


@test(each=True, only=lambda py: py.minor >= (3, 11), limit=120)
def a_thousand(bench, py):
    """A running thread, at the default rate: all of it, in the tick. Tells what a tick took."""
    target = bench.start(py, "depth.py", "plain", 1000)
    truth = tuple(target.ready) + ("spin (%s)" % target.path,)
    recording = recorded(bench, target, 99, 3)
    whole = sum(count for stack, count in recording.folded("--outcome", "exact,joined") if same(stack, truth))
    total = recording.summary["samples"]
    check(total >= LEAST, "only %d samples", total)
    check(whole >= 0.99 * total, "%d of %d whole: %s", whole, total, recording.outcomes())
    return "%d of %d whole, %.1f µs a tick" % (whole, total, recording.summary["bpf_ns"] / 1e3 / total)


@test(each=True, limit=120)
def very_deep(bench, py):
    if py.minor < (3, 11):
        depth(bench, py, "plain", 1000, complete=False, rate=499)
    depth(bench, py, "plain", 5000, complete=False, rate=499)
