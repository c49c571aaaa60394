"""A process whose memory can't be read to an end: it costs itself, never the others."""
import os
import subprocess
import time

from harness import HANG, SCRY, Cannot, Failed, Skip, check, interpreters, pick, test, wait_until


def start_stuck(bench):
    for py in interpreters():
        if py.minor in ((3, 8), (3, 9)) and not py.missing:
            try:
                target = bench.start(py, "stuck.py")
            except Failed as failed:
                if "refused" in str(failed):
                    raise Cannot("userfaultfd: " + str(failed))
                raise
            return target.pid
    raise Skip("no interpreter whose runtime lies in memory of no file")


@test()
def it_is_named_and_the_others_are_listed(bench):
    stuck, busy = start_stuck(bench), bench.start(pick("pyenv-3.13"), "flip.py", "plain")
    began = time.monotonic()
    out = bench.scry("ps", timeout=HANG + 10)
    check(time.monotonic() - began < HANG, "scry ps took %g s", time.monotonic() - began)
    lines = {line.split()[0]: line for line in out.stdout.decode().split("\n") if line.strip()}
    check(str(busy.pid) in lines, "%d is not listed: %s", busy.pid, out.stdout)
    check("does not come back" in lines.get(str(stuck), ""), "%d is not named: %s", stuck, out.stdout)


@test()
def the_others_are_sampled(bench):
    stuck, busy = start_stuck(bench), bench.start(pick("pyenv-3.13"), "flip.py", "plain")
    recording = bench.record("-a", "-F", 199, "-d", 3, "-v")
    samples = sum(count for stack, count in recording.folded("--group", "process")
                  if stack[0].endswith("[%d]" % busy.pid))
    check(samples > 199 * 3 * 0.2, "%d samples of the busy process: %s", samples, recording.errors)
    check(os.path.exists("/proc/%d" % stuck), "the process that hangs has ended")


@test()
def alone_it_is_an_error(bench):
    stuck = start_stuck(bench)
    began = time.monotonic()
    out = bench.scry("record", "-p", stuck, "-d", 1, "-o", os.path.join(bench.folder, "x"), timeout=HANG + 10)
    check(time.monotonic() - began < HANG, "it took %g s", time.monotonic() - began)
    check(out.returncode != 0 and b"does not come back" in out.stderr, "status %d: %s", out.returncode,
          out.stderr)


@test()
def a_file_system_that_does_not_answer_is_not_asked(bench):
    folder = os.path.join(bench.folder, "mount")
    os.mkdir(folder)
    try:
        target = bench.start(pick("pyenv-3.13"), "stuckfuse.py", folder)
    except Failed as failed:
        if "refused" in str(failed):
            raise Cannot("FUSE: " + str(failed))
        raise
    ps = subprocess.Popen([SCRY, "ps"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    # not by its time limit: who waits for the server can't be killed, and so not be waited for either
    wait_until(lambda: ps.poll() is not None, "scry ps ends", HANG)
    check(ps.returncode == 0, "status %d", ps.returncode)
    with open("/proc/%d/maps" % target.ready) as maps:
        check(" %s/libother.so" % folder in maps.read(), "the library is not mapped any more")
