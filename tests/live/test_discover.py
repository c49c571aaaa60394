"""CPython is found by fact, not by name; and what can't be profiled is refused with its reason."""
import json
import os
import re
import shutil
import struct
import subprocess
import time

from harness import HERE, SCRY, Cannot, Skip, check, interpreters, pick, test, wait_until

SPIN = """
import sys, threading, time
def spin():
    while True:
        sum(range(100))
for _ in range(2):
    t = threading.Thread(target=spin)
    t.daemon = True
    t.start()
sys.stdout.write('ready\\n')
sys.stdout.flush()
sys.stdin.read()
"""


def ps(prefix=()):
    out = subprocess.run(list(prefix) + [SCRY, "ps", "--json"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(out.returncode == 0, "ps: status %d: %s", out.returncode, out.stderr.decode(errors="replace"))
    listed = json.loads(out.stdout.decode("utf-8"))
    return {p["pid"]: p for p in listed["processes"]}


def start(argv, **options):
    """A program that says ready; it ends with its input."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    line = process.stdout.readline()
    check(line == b"ready\n", "%s said %r", argv, line)
    return process


def spin(python, **options):
    return start(list(python) + ["-c", SPIN], **options)


def end(process):
    process.stdin.close()
    process.kill()
    process.wait()


def check_found(process, minor, threads=3, how=("symbol", "section")):
    """It is listed as what it is."""
    p = ps().get(process.pid)
    check(p, "%s is not listed", process.args)
    check(p["profilable"], "%s: %s", process.args, p["reason"])
    check(re.match(r"3\.%d\.\d+" % minor, p["version"]), "%s: version %s", process.args, p["version"])
    check(p["threads"] == threads, "%s: %d threads", process.args, p["threads"])
    check(p["how"] in how, "%s: found by %s", process.args, p["how"])
    check(not p["debug"] and not p["free_threaded"], "%s: %s", process.args, p)
    return p


def static_python():
    py = pick("debian-3.11")
    if py.name != "debian-3.11":
        raise Skip("no debian-3.11: it is the one that is a static program")
    return py


@test(each=True)
def every_interpreter(bench, py):
    process = spin(py.command)
    p = check_found(process, py.minor[1])
    told = subprocess.run(py.command + ["-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
                          stdout=subprocess.PIPE, check=True)
    check(p["version"] == told.stdout.decode().strip(), "%s is called %s", told.stdout, p["version"])
    end(process)


@test()
def renamed_and_deleted(bench):
    """Its name says nothing, and its file is gone, or another one stands in its place."""
    python = static_python().command[0]
    path = os.path.join(bench.folder, "worker (1)\t\\x")

    def replace():
        shutil.copy("/bin/true", path + ".new")
        os.rename(path + ".new", path)

    for after in (lambda: None, lambda: os.unlink(path), replace):
        shutil.copy(python, path)
        process = spin([path])
        after()
        check_found(process, 11)
        end(process)
        if os.path.exists(path):
            os.unlink(path)


@test()
def without_section_headers(bench):
    """As some packers leave a program: nothing but what the loader needs."""
    path = os.path.join(bench.folder, "bare")
    shutil.copy(static_python().command[0], path)
    with open(path, "r+b") as elf:
        elf.seek(0x28)  # e_shoff
        elf.write(struct.pack("<Q", 0))
        elf.seek(0x3a)  # e_shentsize, e_shnum, e_shstrndx
        elf.write(struct.pack("<HHH", 0, 0, 0))
    process = spin([path])
    check_found(process, 11, how=("symbol",))
    end(process)


@test()
def files_that_cant_be_opened(bench):
    """Deleted or replaced, and no right to /proc/PID/map_files: the mappings are read instead."""
    path = os.path.join(bench.folder, "python")
    other = pick("standalone-3.14", "debian-3.11").command[0]

    def replace():
        shutil.copy(other, path + ".new")
        os.rename(path + ".new", path)

    for after in (lambda: os.unlink(path), replace):
        shutil.copy(static_python().command[0], path)
        process = spin([path])
        after()
        drop = "-checkpoint_restore,-sys_admin"
        p = ps(["setpriv", "--bounding-set", drop, "--inh-caps", drop]).get(process.pid)
        check(p and p["profilable"], "%s", p)
        check(p["version"].startswith("3.11."), "%s", p)
        check(p["how"] == "memory", "%s", p)
        end(process)


@test()
def old_versions_are_refused(bench):
    known = [py for py in interpreters() if py.name.startswith("pyenv") and not py.missing]
    if not known:
        raise Cannot("no pyenv")
    versions = os.path.dirname(os.path.dirname(os.path.dirname(known[0].command[0])))
    old = [v for v in os.listdir(versions) if re.match(r"(2\.7|3\.[0-7])\.\d+$", v)]
    if not old:
        raise Cannot("no old Python")
    for version in old:
        process = spin([os.path.join(versions, version, "bin/python")])
        p = ps().get(process.pid)
        check(p and not p["profilable"], "%s: %s", version, p)
        check(p["version"] == version, "%s: %s", version, p)
        check("not supported" in p["reason"], "%s: %s", version, p)
        end(process)


def embedder(bench):
    """The C program that maps libpython, and a libpython with its minor version."""
    libraries = []
    for py in interpreters():
        if py.missing or py.root:
            continue
        folder = os.path.join(os.path.dirname(os.path.dirname(py.command[0])), "lib")
        path = os.path.join(folder, "libpython%d.%d.so.1.0" % py.minor)
        if os.path.exists(path):
            libraries.append((path, py))
    if not libraries:
        raise Cannot("no libpython as a library")
    program = os.path.join(bench.folder, "embed")
    subprocess.run(["gcc", "-o", program, os.path.join(HERE, "fixtures/embed.c"), "-ldl"], check=True)
    return program, libraries


@test()
def embedded(bench):
    program, libraries = embedder(bench)
    for library, py in libraries:
        home = os.path.dirname(os.path.dirname(library))
        for what in ("init", "second"):
            process = start([program, library, what], env={"PYTHONHOME": home})
            p = check_found(process, py.minor[1], threads=2)
            check(p["path"] == library, "%s: found in %s", what, p["path"])
            end(process)


@test()
def mapped_but_never_used(bench):
    program, libraries = embedder(bench)
    for library, py in libraries:
        process = start([program, library, "map"])
        p = ps().get(process.pid)
        check(p and not p["profilable"], "%s: %s", library, p)
        check("not initialised" in p["reason"], "%s: %s", library, p)
        end(process)


@test()
def first_thread_has_ended(bench):
    code = SPIN.replace("sys.stdin.read()", "import ctypes; ctypes.CDLL(None).pthread_exit(None)")
    process = start(pick("debian-3.11", "pyenv-3.11").command + ["-c", code])

    def ended():
        with open("/proc/%d/stat" % process.pid) as stat:
            return stat.read().rpartition(") ")[2][0] == "Z"

    wait_until(ended, "the first thread has ended")
    check_found(process, 11)
    end(process)


@test()
def zombies_and_others_are_left_out(bench):
    zombie = subprocess.Popen(["/bin/true"])
    sleeper = subprocess.Popen(["/bin/sleep", "100"])

    def ended():
        with open("/proc/%d/stat" % zombie.pid) as stat:
            return stat.read().rpartition(") ")[2][0] == "Z"

    wait_until(ended, "a zombie")
    listed = ps()
    for pid in (zombie.pid, sleeper.pid, 1, 2):
        check(pid not in listed, "%s", listed.get(pid))
    zombie.wait()
    sleeper.kill()
    sleeper.wait()


@test()
def programs_that_exec_all_the_time(bench):
    """Whatever moment it is looked at: it is one of the two, whole."""
    pythons = [pick("debian-3.11"), pick("pyenv-3.13", "standalone-3.14", "debian-3.11")]
    a, b = (py.command[0] for py in pythons)
    code = ("import os, sys\n"
            "a, b, code = sys.argv[1:]\n"
            "os.execv(b, [b, '-IS', '-c', code, b, a, code])\n")
    process = subprocess.Popen([a, "-IS", "-c", code, a, b, code])
    minors = {"%d.%d" % py.minor for py in pythons}
    seen, looks, unfit, end = set(), 0, False, time.monotonic() + 20
    while looks < 40 or (not seen and time.monotonic() < end):
        looks += 1
        p = ps().get(process.pid)
        check(process.poll() is None, "the program ended")
        if p and p["profilable"]:
            seen.add(p["version"].rpartition(".")[0])
        elif p:
            # one that execs between two looks at it; it is not so twice
            check("not initialised" in p["reason"] or ("do not fit" in p["reason"] and not unfit), "%s", p)
        unfit = bool(p) and "do not fit" in p.get("reason", "")
    check(seen and seen <= minors, "seen: %s", seen)
    process.kill()
    process.wait()


@test()
def doctor_names_what_is_missing(bench):
    out = bench.scry("doctor")
    check(out.returncode == 0, "status %d: %s", out.returncode, out.stdout.decode())
    check(b"missing" not in out.stdout or b"limits" in out.stdout, "%s", out.stdout.decode())
    for capability in ("bpf", "perfmon", "sys_ptrace"):
        drop = "-%s,-sys_admin" % capability
        out = subprocess.run(["setpriv", "--bounding-set", drop, "--inh-caps", drop, SCRY, "doctor"],
                             stdout=subprocess.PIPE)
        text = out.stdout.decode()
        check(out.returncode == 69, "without %s: status %d: %s", capability, out.returncode, text)
        check(re.search("missing +CAP_%s" % capability.upper(), text), "without %s: %s", capability, text)
