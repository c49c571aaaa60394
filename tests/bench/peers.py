"""The others that make bench-engine measures beside scry, each run from outside of its target's root.

CPython's own RemoteUnwinder in a loop and its program profiling.sampling (python3.15 reads 3.15 only), py-spy, austin.
"""
import functools
import json
import os
import re
import tempfile

from bench import HERE, cpu_of, harness

PY_SPY = os.path.join(harness.CACHE, "bin/py-spy-0.4.3")
AUSTIN = os.path.join(harness.CACHE, "bin/austin-4.0.0")


class PeerFailed(Exception):
    """Not scry: one of the others."""


def peer(function):
    """What another program does wrong is PeerFailed."""

    @functools.wraps(function)
    def measure(*args, **more):
        try:
            return function(*args, **more)
        except (Exception, SystemExit) as e:
            raise PeerFailed("%s: %s" % (type(e).__name__, e)) from e

    return measure


def environment(**more):
    # RUST_BACKTRACE would slow py-spy down
    return {**{k: v for k, v in os.environ.items() if k != "RUST_BACKTRACE"}, **more}


def of_root(py, program, *args):
    """A program with the loader and libraries of the interpreter's root, but not in it: files of the target, as
    /proc shows them, are where they are."""
    return [py.root + "/lib64/ld-linux-x86-64.so.2", "--library-path", py.root + "/usr/lib/x86_64-linux-gnu", program,
            *map(str, args)]


def python(py, *args):
    return of_root(py, py.root + py.command[-1], *args)


def run(command, py=None, status=0):
    """(CPU seconds of it and its children, what it printed)"""
    env = environment(PYTHONHOME=py.root + "/usr") if py else environment()
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        cpu, ended = cpu_of(command, env=env, stdout=out, stderr=out)
        out.seek(0)
        text = out.read()
    if ended != status:
        raise SystemExit("%s: status %d: %s" % (" ".join(map(str, command[-12:])), ended, text[-800:]))
    return cpu, text


@peer
def unwinder(py, pid, seconds, calls=0, pause=0, stacks=False, prefix=()):
    """What unwinder.py prints."""
    with open(os.path.join(HERE, "unwinder.py")) as script:
        args = ["-c", script.read(), pid, seconds, calls, pause, int(stacks)]
    result = json.loads(run([*prefix, *python(py, *args)], py)[1])
    if not result["samples"]:
        raise PeerFailed("no samples")
    return result


@peer
def unwinder_calls(py, pid, calls, pause=0):
    """process_vm_readv calls that one get_stack_trace() makes: of a run, less those of a run half as long."""

    def count(n):
        with tempfile.NamedTemporaryFile("r") as f:
            unwinder(py, pid, 600, n, pause, prefix=["strace", "-f", "-c", "-e", "trace=process_vm_readv", "-o", f.name])
            return sum(int(line.split()[3]) for line in f if line.rstrip().endswith(" process_vm_readv"))

    return (count(2 * calls) - count(calls)) / calls


@peer
def sampling(py, pid, rate, seconds):
    """python3.15 -m profiling.sampling: CPU seconds, samples a second, share that failed."""
    with tempfile.NamedTemporaryFile() as f:
        cpu, text = run(python(py, "-m", "profiling.sampling", "attach", "-a", "-r", rate, "-d", seconds, "--collapsed", "-o",
                               f.name, pid), py)
    number = r": ([\d.,]+)"
    return cpu, *(float(re.search(name + number, text).group(1).replace(",", "")) for name in ("Sample rate", "Error rate"))


@peer
def py_spy(pid, rate, seconds):
    """CPU seconds, and its stacks: [(function names, root first, how often)...]."""
    with tempfile.NamedTemporaryFile("r") as f:
        cpu, _ = run([PY_SPY, "record", "--nonblocking", "--idle", "-p", str(pid), "-r", str(rate), "-d", str(seconds), "-f",
                      "raw", "-F", "-o", f.name])
        return cpu, [([harness.name_of(frame) for frame in frames], n) for frames, n in harness.parse_folded(f.read())]


@peer
def austin(root_of, pid, rate, seconds):
    """CPU seconds, samples a second, and its stacks. root_of: an interpreter whose root has the C library
    that it needs."""
    with tempfile.NamedTemporaryFile() as f:
        cpu, text = run(of_root(root_of, AUSTIN, "-i", "%dus" % (1000000 / rate), "-x", seconds, "-o", f.name, "-p", pid),
                        status=254)  # it ends itself by SIGINT
        taken = re.search(r"Error rate.*/(\d+)", text)
        if not taken:
            raise SystemExit("austin: " + text[-800:])
        return cpu, int(taken.group(1)) / seconds, mojo(f.read())


def mojo(data):
    """The stacks of a MOJO file, version 3, as py_spy() gives them."""
    at = 4
    strings, frames, stacks = {}, {}, []

    def number():
        nonlocal at
        value, shift = data[at] & 0x3F, 6
        while data[at] & 0x80:
            at += 1
            value |= (data[at] & 0x7F) << shift
            shift += 7
        at += 1
        return value

    def text():
        nonlocal at
        end = data.index(0, at)
        start, at = at, end + 1
        return data[start:end].decode("utf-8", "replace")

    while at < len(data):
        event = data[at]
        at += 1
        if event == 1:  # metadata
            text(), text()
        elif event == 2:  # a stack begins: pid, interpreter, thread
            number(), number(), text()
            stacks.append([])
        elif event == 3:  # a new frame: key, file, scope, line, end, column, end
            key, _, scope = number(), number(), number()
            number(), number(), number(), number()
            frames[key] = strings.get(scope, "?")
        elif event == 4:  # invalid
            stacks[-1].append("[invalid]")
        elif event == 5:  # a frame by its key
            stacks[-1].append(frames[number()])
        elif event in (7, 8):  # garbage collection, idle
            pass
        elif event in (9, 10):  # time, memory
            number()
        elif event == 11:
            key = number()
            strings[key] = text()
        else:
            raise ValueError("MOJO: event %d at %d" % (event, at))
    return [(stack, 1) for stack in stacks]
