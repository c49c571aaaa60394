"""Bad input: one clear line each, the documented exit status, no crash."""
import os
import random
import re
import subprocess

from harness import SCRY, TOP, Cannot, Skip, check, interpreters, pick, test

USAGE, DATA, NO_INPUT, NO_PROCESS, NOT_PYTHON = 64, 65, 66, 67, 68
KERNEL, UNSUPPORTED, CREATE, WRITE, EVENT, PERMISSION = 69, 71, 73, 74, 76, 77


def refuse(status, argv, says="", prefix=(), cwd=None, statuses=()):
    """scry fails with this status and one line that says why."""
    out = subprocess.run(list(prefix) + [SCRY] + [str(a) for a in argv], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, timeout=20)
    what = "%s: " % " ".join(str(a) for a in argv)
    text = out.stderr.decode(errors="replace")
    check(out.returncode in (statuses or (status,)), "%sstatus %d, not %d: %s", what, out.returncode, status,
          text[-500:])
    lines = [line for line in text.split("\n") if line]
    check(len(lines) == 1, "%s%d lines: %s", what, len(lines), text[-500:])
    check(lines[0].startswith("scry"), "%sdoes not begin with scry: %s", what, lines[0])
    check(re.search(says, lines[0]), "%sdoes not say %r: %s", what, says, lines[0])
    check(10 < len(lines[0]) < 400, "%s%d characters", what, len(lines[0]))


def record(bench, *args):
    return ["record", "-o", os.path.join(bench.folder, "bad.data"), "-d", "1"] + list(args)


def sleeper(bench):
    """A process that is no Python."""
    return subprocess.Popen(["/bin/sleep", "60"], cwd=bench.folder)


@test()
def command_line(bench):
    refuse(USAGE, ["frobnicate"], "frobnicate")
    refuse(USAGE, ["record", "--frobnicate"], "frobnicate")
    refuse(USAGE, ["export", "-f", "frobnicate"], "frobnicate")
    refuse(USAGE, ["report", "--sort", "frobnicate"], "frobnicate")
    refuse(USAGE, ["report", "frobnicate"], "frobnicate")
    refuse(USAGE, ["export", "-f", "folded", "--group", "x"], "x")
    refuse(USAGE, ["export", "-f", "folded", "--outcome", "x"], "x")
    for option in ("-F", "-c", "-d", "-p", "--max-frames", "--wait"):
        refuse(USAGE, ["record", option])


@test()
def absurd_numbers(bench):
    for option in ("-F", "-c", "-d", "-p", "--max-frames"):
        for number in ("-1", "x", "1x", "", "99999999999999999999", "nan", "0x"):
            refuse(USAGE, record(bench, option, number))
    for option in ("-F", "-c", "-p", "--max-frames"):
        refuse(USAGE, record(bench, option, "0"))
    for pids in ("1,,2", ",", "1,", "1,x"):
        refuse(USAGE, record(bench, "-p", pids))
    refuse(USAGE, record(bench, "-F", 1000000000))
    refuse(USAGE, record(bench, "-a", "-p", os.getpid()))
    refuse(USAGE, record(bench, "-F", 99, "-c", 1000))


@test()
def processes(bench):
    gone = sleeper(bench)
    gone.kill()
    gone.wait()
    refuse(NO_PROCESS, record(bench, "-p", gone.pid), str(gone.pid))
    refuse(NO_PROCESS, record(bench, "-p", 2 ** 22 - 1), "4194303", statuses=(NO_PROCESS, USAGE))
    alive = sleeper(bench)
    refuse(NOT_PYTHON, record(bench, "-p", alive.pid), str(alive.pid))
    refuse(NOT_PYTHON, record(bench, "-p", alive.pid, "--wait", 1), str(alive.pid))


@test()
def unsupported_version(bench):
    """An older Python than we know, where the machine has one; else this can't be tried here."""
    known = [py for py in interpreters() if py.name.startswith("pyenv") and not py.missing]
    if not known:
        raise Cannot("no pyenv")
    versions = os.path.dirname(os.path.dirname(os.path.dirname(known[0].command[0])))
    old = [v for v in os.listdir(versions) if re.match(r"(2\.7|3\.[0-7])\.\d+$", v)]
    if not old:
        raise Cannot("no old Python")
    for version in old:
        python = os.path.join(versions, version, "bin/python")
        target = subprocess.Popen([python, "-c", "print('ready'); import sys; sys.stdout.flush()\nwhile 1: pass"],
                                  stdout=subprocess.PIPE)
        target.stdout.readline()
        refuse(UNSUPPORTED, record(bench, "-p", target.pid), r"(?i)version|python %s" % version[:3])
        target.kill()


@test()
def no_proc(bench):
    """A root directory without /proc, as of a careless container."""
    without = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    refuse(KERNEL, record(bench, "-a"), "/proc", prefix=without)


@test()
def privileges(bench):
    os.chmod(bench.folder, 0o777)
    scry = os.path.join(bench.folder, "scry")
    subprocess.run(["cp", SCRY, scry], check=True)
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    argv = ["record", "-o", "/dev/null", "-d", "1", "-p", target.pid]
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    refuse(PERMISSION, argv, "(?i)root|capabilit|CAP_", prefix=nobody)
    for capability in ("bpf", "perfmon", "sys_ptrace"):
        # CAP_SYS_ADMIN holds what CAP_BPF and CAP_PERFMON hold
        drop = ["setpriv", "--bounding-set", "-%s,-sys_admin" % capability,
                "--inh-caps", "-%s,-sys_admin" % capability]
        refuse(PERMISSION, argv, "(?i)" + capability, prefix=drop)
        refuse(PERMISSION, argv[:-2], "(?i)" + capability, prefix=drop)  # the whole machine


@test()
def events(bench):
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    refuse(EVENT, record(bench, "-p", target.pid, "-e", "frobnicate"), "frobnicate")
    refuse(EVENT, record(bench, "-p", target.pid, "-e", ""), statuses=(EVENT, USAGE))
    if not os.path.exists("/sys/bus/event_source/devices/cpu"):
        for event in ("cycles", "instructions", "cache-misses"):
            refuse(EVENT, record(bench, "-p", target.pid, "-e", event), event)


@test()
def output(bench):
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    argv = ["record", "-d", "1", "-p", target.pid, "-o"]
    folder = bench.folder
    refuse(CREATE, argv + [os.path.join(folder, "none/x.data")], "none/x.data")
    refuse(CREATE, argv + [folder])
    os.symlink(os.path.join(folder, "elsewhere"), os.path.join(folder, "link"))
    refuse(CREATE, argv + [os.path.join(folder, "link")], "link")
    check(not os.path.exists(os.path.join(folder, "elsewhere")), "a symbolic link was followed")
    refuse(CREATE, argv + ["/proc/nothing"], "/proc/nothing")
    refuse(WRITE, argv + ["/dev/full"], "(?i)no space")


@test()
def full_disk(bench):
    target = bench.start(pick("debian-3.11"), "names.py", "exec")
    small = os.path.join(bench.folder, "small")
    os.mkdir(small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small], check=True)
    try:
        refuse(WRITE, ["record", "-F", "2000", "-d", "40", "-p", target.pid, "-o", os.path.join(small, "x.data")],
               "(?i)no space")
    finally:
        subprocess.run(["umount", "-l", small], check=True)


@test()
def file_size_limit(bench):
    target = bench.start(pick("debian-3.11"), "names.py", "exec")
    refuse(WRITE, ["record", "-F", "2000", "-d", "15", "-p", target.pid, "-o", os.path.join(bench.folder, "x.data")],
           "(?i)too large", prefix=("prlimit", "--fsize=16384"))


@test()
def existing_output(bench):
    """A regular file is kept as .old; the new one is private."""
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    path = os.path.join(bench.folder, "bad.data")
    with open(path, "w") as old:
        old.write("precious")
    out = bench.scry(*record(bench, "-p", target.pid))
    check(out.returncode == 0, "status %d: %s", out.returncode, out.stderr.decode())
    with open(path + ".old") as old:
        check(old.read() == "precious", "the old file is not what it was")
    check(os.stat(path).st_mode & 0o777 == 0o600, "mode %o", os.stat(path).st_mode)


def folded(path):
    return ["export", "-f", "folded", "-i", path, "-o", "-"]


@test()
def recordings(bench):
    refuse(NO_INPUT, folded(os.path.join(bench.folder, "none.data")), "none.data")
    refuse(NO_INPUT, ["report", "-i", os.path.join(bench.folder, "none.data")], "none.data")
    foreign = os.path.join(bench.folder, "foreign.data")
    for content in (b"", b"x", b"PERFILE2" + bytes(200), b"\x7fELF" + bytes(4000), b"a;b;c 12\n" * 100,
                    bytes(100000), os.urandom(5000)):
        with open(foreign, "wb") as out:
            out.write(content)
        refuse(DATA, folded(foreign), "foreign.data")
        refuse(DATA, ["report", "-i", foreign], "foreign.data")
    refuse(DATA, folded(bench.folder), statuses=(DATA, NO_INPUT, WRITE))


def survives(bench, data, path, whole):
    """Exported or refused, but never a crash, and never more than was recorded."""
    with open(path, "wb") as out:
        out.write(data)
    for argv in (folded(path), ["report", "-i", path]):
        out = bench.scry(*argv, timeout=20)
        check(out.returncode in (0, DATA), "%s: status %d: %s", argv[0], out.returncode, out.stderr.decode()[-500:])
        check(len(out.stderr) < 2000, "%s: %d bytes of messages", argv[0], len(out.stderr))


@test(limit=120)
def damaged_recording(bench):
    target = bench.start(pick("sid-3.14", "pyenv-3.12"), "names.py", "odd")
    recording = bench.record("-p", target.pid, "-F", 499, "-d", 1)
    with open(recording.path, "rb") as data:
        good = data.read()
    whole = sum(count for _, count in recording.folded())
    rng = random.Random(3)
    path = os.path.join(bench.folder, "damaged.data")
    for _ in range(60):
        data = bytearray(good)
        for _ in range(rng.choice((1, 1, 4, 64))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            at = rng.randrange(len(data))
            data[at:at + rng.randrange(1, 200)] = b"\xff" * rng.randrange(0, 200)
        survives(bench, bytes(data), path, whole)


@test()
def statuses_documented(bench):
    """Each status that these tests expect is in the manual page."""
    page = os.path.join(TOP, "docs/scry.1")
    if not os.path.exists(page):
        raise Skip("no manual page yet")
    with open(page) as text:
        text = text.read()
    found = set(re.findall(r"\b(6[4-9]|7\d|12[5-7])\b", text.partition("EXIT STATUS")[2]))
    for status in (USAGE, DATA, NO_INPUT, NO_PROCESS, NOT_PYTHON, UNSUPPORTED, CREATE, WRITE, EVENT, PERMISSION,
                   125, 126, 127):
        check(str(status) in found, "exit status %d is not in the manual page", status)
