"""Lines, against what the interpreter says about itself (f_lineno, co_lines, findlinestarts)."""
from capture import samples
from harness import check, check_true, line_of, name_of, test

DOUBT = 10**9  # ns


def could_be(chain, truth):
    """Is it `truth`, but for frames without a name?"""
    return len(chain) == len(truth) and all(a == b or a[0] == "[unreadable]" for a, b in zip(chain, truth))


@test(each=True)
def as_the_interpreter_says(bench, py):
    target = bench.start(py, "lines.py")
    recording = bench.record("-p", target.pid, "-F", 997, "-d", 3)
    truth = target.stop()
    chains = {tuple((name, line) for name, line in chain) for chain in truth["chains"]}
    check(len(chains) > 40, "the target knows only %d chains", len(chains))
    seen, loop_lines, total, unknown = set(), {}, 0, 0
    for stack, count in recording.folded("--lines"):
        frames = [line_of(frame) for frame in stack]
        total += count
        unknown += sum(count for _, line in frames[-1:] if line == 0)
        names = [name for name, _ in frames]
        if "burn" in names:
            at = names.index("burn")
            chain = tuple(frames[:at])
            check_true(any(could_be(chain, one) for one in chains), "no such chain, %d samples: %s", count, frames)
            check_true(frames[at][1] in truth["burn"] + [0], "burn has no line %d", frames[at][1])
            seen.add(chain)
        elif names[-1] == "loop":
            loop_lines[frames[-1][1]] = loop_lines.get(frames[-1][1], 0) + count
    missing = chains - seen
    check(len(missing) <= len(chains) // 20, "not seen: %s", sorted(missing))
    wrong = set(loop_lines) - set(truth["loop"]) - {0}
    check_true(not wrong, "loop has no lines %s", sorted(wrong))
    # the body's lines take about the same time: each must be there
    check(sum(n > 0.01 * sum(loop_lines.values()) for n in loop_lines.values()) >= 6,
          "lines of loop: %s", loop_lines)
    check(unknown <= 0.01 * total, "%d of %d samples without a line", unknown, total)
    # code objects that nothing holds but another one's constants are doubted at first (3.12, 3.13)
    begin = min(sample.time for sample in samples(recording.path)) + (DOUBT if py.minor in ((3, 12), (3, 13)) else 0)
    later = [sample for sample in samples(recording.path) if sample.time >= begin]
    unnamed = sum("[unreadable]" in sample.stack for sample in later if any(name_of(f) == "burn" for f in sample.stack))
    check(unnamed <= 0.01 * len(later), "%d of %d samples without a name", unnamed, len(later))
