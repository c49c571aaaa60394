"""CPython 3.15's own RemoteUnwinder in a loop on a process: unwinder.py PID SECONDS CALLS PAUSE STACKS.

Calls it until SECONDS are over, or CALLS times when that is not 0, with PAUSE seconds of sleep between calls. With
STACKS 1 it notes what it saw, which takes time. Prints JSON: calls, failed ones by reason, CPU time of the loop, threads
in the answers, its own statistics, and [[function names, root first, how often]...].
"""
import _remote_debugging
import collections
import json
import re
import sys
import time


def loop(unwinder, seconds, calls, pause, stacks):
    count = threads = 0
    failed = collections.Counter()
    seen = collections.Counter()
    cpu, start = time.process_time_ns(), time.monotonic()
    end = start + seconds
    while (not calls or count < calls) and time.monotonic() < end:
        count += 1
        try:
            answer = unwinder.get_stack_trace()
        except (RuntimeError, OSError, UnicodeDecodeError, MemoryError) as error:  # as its own profiler counts them
            failed[re.split(r"[(\d]", "%s: %s" % (type(error).__name__, error))[0]] += 1
        else:
            for interpreter in answer:
                threads += len(interpreter.threads)
                if stacks:
                    seen.update(tuple(f.funcname for f in t.frame_info) for t in interpreter.threads)
        if pause:
            time.sleep(pause)
    return {
        "samples": count,
        "cpu_ns": time.process_time_ns() - cpu,
        "seconds": time.monotonic() - start,
        "failed": sum(failed.values()),
        "threads": threads,
        "reasons": failed,
        "stacks": [[stack[::-1], n] for stack, n in seen.items()],
    }


def main():
    pid, seconds, calls, pause, stacks = sys.argv[1:6]
    unwinder = _remote_debugging.RemoteUnwinder(int(pid), all_threads=True, cache_frames=True, stats=True)
    result = loop(unwinder, float(seconds), int(calls), float(pause), int(stacks))
    result["stats"] = unwinder.get_stats()
    print(json.dumps(result))


main()
