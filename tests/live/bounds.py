"""Statistics of live tests: how far a number of samples may be from what is known of the time it counts."""
import math
import os

from harness import check


def check_share(what, count, total, share, floor=0.01):
    """count of total samples is `share`, within 5 σ of the binomial (wrong once in a million); ticks are periodic, thus a
    floor."""
    check(total > 0, "%s: no samples", what)
    bound = max(5 * math.sqrt(max(share * (1 - share), 0) / total), floor)
    check(abs(count / total - share) <= bound, "%s: %d of %d samples = %.4f, expected %.4f ± %.4f", what,
          count, total, count / total, share, bound)


def lost_s(recording):
    """Seconds of all CPUs whose ticks never came: the machine stood still, or was late."""
    summary = recording.summary
    return max(0, 1 - summary["rate_reached"] / summary["rate_asked"]) * os.cpu_count() * summary["duration_ns"] / 1e9


def check_cpu(what, count, recording, least, most=None):
    """count samples are CPU time (ns, known as `least` to `most`), as far as the machine had all of its own time. Ticks that
    never came may all have been its ticks. Time that the host took is no CPU time, but the tick at its end is one. Apart from
    that 5 σ of the count, and half a percent of the machine: idle time, of which ticks are not expected, is told by the tick."""
    summary = recording.summary
    rate, machine = summary["rate_asked"], os.cpu_count() * summary["duration_ns"] / 1e9
    least, most = least / 1e9, (least if most is None else most) / 1e9
    lost, stolen = lost_s(recording), recording.stolen / 1e9
    chance = max(5 * math.sqrt(most / rate), 0.02 * most, 0.005 * machine)
    low, high = least - lost - chance, most + stolen + chance
    check(low <= count / rate <= high, "%s: %d samples = %.3f s, expected %.3f - %.3f s: CPU time %.3f - %.3f, ticks lost %.3f, "
          "stolen %.3f, chance %.3f", what, count, count / rate, low, high, least, most, lost, stolen, chance)


def check_ticks(recording):
    """In cpu mode nothing is between what ticks came and what is told of them, whatever the machine does."""
    told = sum(recording.summary[key] for key in ("samples", "other", "idle", "lost"))
    check(told == recording.summary["ticks"], "%d ticks are told: %s", told, recording.summary)
