"""Counters of the engine, and what threads were doing: in the summary, and in the recording."""
import re

from harness import check, pick, test


def add_up(items):
    """The sum of objects of numbers, one level down too."""
    total = {}
    for item in items:
        for key, value in item.items():
            if isinstance(value, dict):
                total[key] = add_up([total.get(key, {}), value])
            elif isinstance(value, int) and key != "pid":
                total[key] = total.get(key, 0) + value
    return total


def report(bench, recording, *args):
    return bench.scry("report", "-i", recording.path, *args).stdout.decode()


@test()
def counters(bench):
    first, second = (bench.start(pick(name), "shares.py", "functions") for name in ("debian-3.11", "pyenv-3.13"))
    recording = bench.record("-p", first.pid, "-p", second.pid, "-d", 1, "--stats")
    summary, stats = recording.summary, recording.summary["stats"]
    total, processes = stats["total"], stats["processes"]
    first.stop()
    second.stop()
    check({first.pid, second.pid} <= {p["pid"] for p in processes}, "processes: %s", processes)
    check(add_up(processes) == total, "the sum of all is %s, not %s", add_up(processes), total)
    check(total["outcomes"] == summary["outcomes"], "outcomes: %s", stats)
    check(total["ticks"] == summary["samples"] and total["calls"] == summary["reads"]
          and total["bytes"] == summary["read_bytes"], "total: %s, summary: %s", total, summary)
    check(total["witness_interrupt"] == summary["outcomes"]["exact"] + summary["outcomes"]["cut"], "%s", stats)
    check(total["code_misses"] > 0 and total["code_hits"] > 0, "%s", total)
    # the same from the recording, and from what was said at the end
    for text in (report(bench, recording, "--stats"), recording.errors):
        shown = re.search(r"^all\n((?:  .*\n)+)", text, re.M)
        check(shown, "no counters in: %s", text)
        found = {key: int(value) for key, value in re.findall(r"(\w+) +(\d+)", shown.group(1))}
        want = dict(total, **total["outcomes"])
        check(found == {key: value for key, value in want.items() if value and key != "outcomes"},
              "%s, not %s", found, want)
    plain = bench.record("-p", bench.start(pick("pyenv-3.13"), "shares.py", "functions").pid, "-d", 0.2)
    check("stats" not in plain.summary, "not asked for: %s", plain.summary)
    check("without --stats" in report(bench, plain, "--stats"), "nothing was counted")


@test()
def garbage(bench):
    """Samples of the collector are told apart."""
    target = bench.start(pick("pyenv-3.13"), "garbage.py")
    recording = bench.record("-p", target.pid, "-F", 499, "-d", 1)
    target.stop()
    states, samples = recording.summary["states"], recording.summary["samples"]
    check(states["gc"] + states["on_cpu"] == samples, "states: %s", states)
    check(states["gc"] > 0.5 * samples, "a program that only collects: %s", states)
    check(states["on_cpu"] > 0, "states: %s", states)
    collecting = recording.folded("--state", "gc")
    check(sum(count for _, count in collecting) == states["gc"], "%s: %s", states, collecting)
    rows = report(bench, recording, "--by", "state")
    check(re.search(r"%d  gc " % states["gc"], rows), "report: %s", rows)


@test()
def wall_counters(bench):
    target = bench.start(pick("debian-3.11"), "waits.py", "idle", "20")
    recording = bench.record("--mode", "wall", "-p", target.pid, "-d", 1, "--stats")
    target.stop()
    total, samples = recording.summary["stats"]["total"], recording.summary["samples"]
    check(total["unchanged"] > 0 and samples == total["unchanged"] + total["witness_interrupt"]
          + total["witness_gil"] + total["witness_sched"], "of %d samples: %s", samples, total)
    # 21 threads that do nothing: a sample of each at each wall tick
    check(total["ticks"] >= samples // 21 > 0, "of %d samples: %s", samples, total)
