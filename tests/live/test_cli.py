"""What people see of the commands: help, messages, the terminal, files."""
import json
import os
import re
import signal
import subprocess
import threading

from harness import SCRY, TOP, Cannot, check, pick, test, wait_until
from terminal import Terminal

COMMANDS = ("record", "report", "export", "dump", "ps", "doctor")
ESCAPE = b"\x1b"


def run(*args, **more):
    return subprocess.run([SCRY] + [str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30, **more)


@test()
def help_texts(bench):
    for args in ([], ["help"], ["-h"], ["--help"]):
        out = run(*args)
        text = (out.stdout + out.stderr).decode()
        check(out.returncode == (0 if args else 64), "%s: status %d", args, out.returncode)
        check(all("\n  %s " % c in text for c in COMMANDS), "%s does not list all: %s", args, text)
        check(max(map(len, text.split("\n"))) <= 80, "%s: wider than 80", args)
    for command in COMMANDS:
        texts = [run(*args).stdout.decode() for args in ([command, "--help"], [command, "-h"], ["help", command])]
        check(texts[0] == texts[1] == texts[2] and "Usage: scry " + command in texts[0], "%s: %s", command, texts)
        wide = [line for line in texts[0].split("\n") if len(line) > 80]
        check(not wide and "\t" not in texts[0], "%s: wider than 80: %s", command, wide)
        check("%" not in re.sub(r"\d+ ?%", "", texts[0]), "%s: %s", command, texts[0])


@test()
def version(bench):
    for args in (["-V"], ["--version"], *([c, "-V"] for c in COMMANDS)):
        out = run(*args)
        check(re.fullmatch(rb"scry \d+\.\d+\.\d+\n", out.stdout) and out.returncode == 0, "%s: %s", args, out)


@test()
def wrong_commands(bench):
    for args, says in ((["rec"], "did you mean scry record"), (["recrod"], "no command 'recrod'"),
                       (["help", "x"], "no command 'x'"), ([""], "no command ''"), (["--x"], "no command '--x'")):
        out = run(*args)
        check(out.returncode == 64 and not out.stdout, "%s: %s", args, out)
        check(says in out.stderr.decode() and out.stderr.count(b"\n") == 1, "%s: %s", args, out.stderr)


@test()
def closed_or_full_standard_streams(bench):
    """Messages never end up in a file, and what can't be written is an error."""
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    path = os.path.join(bench.folder, "c.data")
    for closed in ((2,), (1, 2), (0, 1, 2)):
        process = subprocess.Popen([SCRY, "record", "-a", "-d", "0.3", "-o", path],
                                   preexec_fn=lambda: [os.close(fd) for fd in closed])
        check(process.wait(20) == 0, "%s closed: status %d", closed, process.returncode)
        with open(path, "rb") as data:
            check(b"wrote" not in data.read(), "%s closed: messages are in the recording", closed)
        check(run("report", "-i", path).returncode == 0, "%s closed: the recording can't be read", closed)
    for args in (["help"], ["record", "-h"], ["-V"], ["report", "-i", path], ["ps"],
                 ["dump", str(target.pid)],
                 ["export", "-f", "folded", "-i", path]):
        with open("/dev/full", "wb") as full:
            out = subprocess.run([SCRY] + args, stdout=full, stderr=subprocess.PIPE)
        check(out.returncode == 74 and out.stderr.count(b"No space left") == 1, "%s: %s", args, out)
        out = subprocess.run([SCRY] + args, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
        check(out.returncode in (73, 74) and out.stderr.count(b"can't write") == 1, "%s, closed: %s", args, out)


@test()
def manual_page(bench):
    page = os.path.join(TOP, "docs/scry.1")
    for argv in (["mandoc", "-T", "lint", "-W", "warning", page], ["groff", "-man", "-ww", "-z", "-T", "utf8", page]):
        try:
            out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except FileNotFoundError:
            continue
        check(not out.stdout.strip(), "%s: %s", argv[0], out.stdout.decode())
        break
    else:
        raise Cannot("neither mandoc nor groff")


@test()
def manual_page_is_complete(bench):
    """Every option that --help names is in it, and every key of --summary."""
    with open(os.path.join(TOP, "docs/scry.1")) as text:
        page = text.read().replace("\\-", "-")
    for command in COMMANDS:
        for option in re.findall(r"(?<=\s)--?[a-zA-Z][a-z-]*", run(command, "--help").stdout.decode()):
            check(option in page, "%s %s is not in the manual page", command, option)
    summary = bench.record("-a", "-d", "0.2").summary
    for key in list(summary) + list(summary["outcomes"]) + list(summary["states"]):
        check(re.search(r"\b%s\b" % key, page), "%s is not in the manual page", key)


@test()
def progress_on_a_terminal_only(bench):
    def args(name, *more):
        return [SCRY, "record", "-a", "-d", "4.2", "-o", os.path.join(bench.folder, name), *more]

    # all at once: it takes seconds until a line has come again and again
    piped = subprocess.Popen(args("piped"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    terminal, quiet = Terminal(args("terminal")), Terminal(args("quiet", "-q"))
    narrow = Terminal(args("narrow"), columns=20)
    errors = piped.communicate(timeout=30)[1]
    check(piped.returncode == 0 and ESCAPE not in errors and b"\r" not in errors, "%r", errors)
    check(terminal.finish() == 0, "%r", terminal.text)
    lines = re.findall(rb"\r(\d+\.\d) s  \d+ samples", terminal.text)
    check(3 <= len(lines) <= 11 and sorted(lines, key=float) == lines, "progress: %s", lines)
    # the last thing on its line is not a rest of it
    last = terminal.text.replace(b"\r\n", b"\n").rpartition(b"\r")[2]
    check(not re.match(rb"\d+\.\d s ", last), "left over: %r", last)
    check(quiet.finish() == 0 and not quiet.text, "%r", quiet.text)
    check(narrow.finish() == 0, "%r", narrow.text)
    for part in re.findall(rb"\r(\d[^\r\n]*)", narrow.text):
        check(len(part) < 20, "wraps: %r", part)


@test()
def interrupt_key_ends_the_recording(bench):
    path = os.path.join(bench.folder, "i.data")
    bench.start(pick("debian-3.11"), "flip.py", "plain")
    terminal = Terminal([SCRY, "record", "-a", "-o", path])
    terminal.wait_for(b" samples")
    terminal.press(b"\x03")
    check(terminal.finish() == 0, "%r", terminal.text)
    check(b"wrote" in terminal.text and b"Next: scry report -i" in terminal.text, "%r", terminal.text)
    check(run("report", "-i", path).returncode == 0, "the recording can't be read")


@test()
def waiting_can_be_interrupted(bench):
    """--wait ends at the first Ctrl-C, and leaves no recording."""
    path = os.path.join(bench.folder, "w.data")
    sleeper = subprocess.Popen(["sleep", "60"])
    terminal = Terminal([SCRY, "record", "-p", sleeper.pid, "--wait", "50", "-o", path])
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path), "it waits")
    terminal.press(b"\x03")
    check(terminal.finish(5) == 68 and b"not Python" in terminal.text, "%r", terminal.text)
    check(not os.path.exists(path), "an empty recording was left")


@test()
def background_jobs(bench):
    """A job of a script ignores the interrupt key, not a signal that it is sent; nohup is respected."""
    def ignore(*numbers):
        return lambda: [signal.signal(n, signal.SIG_IGN) for n in numbers]

    for ignored, sent in (((signal.SIGINT,), (signal.SIGINT,)), ((signal.SIGHUP,), (signal.SIGHUP, signal.SIGTERM))):
        path = os.path.join(bench.folder, "b.data")
        process = subprocess.Popen([SCRY, "record", "-a", "-o", path], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, preexec_fn=ignore(*ignored))
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path), "it records")
        process.send_signal(sent[0])
        if len(sent) > 1:
            check(subprocess.run(["sleep", "0.5"]).returncode == 0 and process.poll() is None, "SIGHUP ended it")
            process.send_signal(sent[1])
        _, errors = process.communicate(timeout=10)
        check(process.returncode == 0 and b"wrote" in errors, "%d %s", process.returncode, errors)


@test()
def second_interrupt_aborts(bench):
    """At once, also when the first one can't be obeyed: here the file is a pipe that nobody reads."""
    fifo = os.path.join(bench.folder, "fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with open(fifo, "wb", buffering=0) as full:
        os.set_blocking(full.fileno(), False)
        try:
            while full.write(b"x" * 4096):
                pass
        except BlockingIOError:
            pass
        process = subprocess.Popen([SCRY, "record", "-a", "-o", fifo], stderr=subprocess.PIPE)
        wait_until(lambda: b"pipe" in open("/proc/%d/wchan" % process.pid, "rb").read(), "it is stuck", 20)
        process.send_signal(signal.SIGINT)
        check(subprocess.run(["sleep", "0.5"]).returncode == 0 and process.poll() is None, "it was not stuck")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
    os.close(reader)
    check(process.returncode == -signal.SIGINT, "status %d", process.returncode)


@test()
def failed_start_keeps_the_last_recording(bench):
    path = os.path.join(bench.folder, "k.data")
    for name, content in (("", "last"), (".old", "one before")):
        with open(path + name, "w") as out:
            out.write(content)
    out = run("record", "-e", "frobnicate", "-o", path, "--summary", path + ".json")
    check(out.returncode == 76, "status %d", out.returncode)
    with open(path) as data:
        check(data.read() == "last", "it is gone")
    check(not os.path.exists(path + ".json"), "an empty summary was left")


@test()
def pipes(bench):
    """To a pipe and from it; a reader that goes away is no reason for words."""
    recorder = subprocess.Popen([SCRY, "record", "-q", "-a", "-d", "0.5", "-o", "-"], stdout=subprocess.PIPE)
    report = subprocess.run([SCRY, "report", "-i", "-"], stdin=recorder.stdout, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    check(recorder.wait() == 0 and report.returncode == 0, "%d %d %s", recorder.returncode, report.returncode,
          report.stderr)
    gone = subprocess.Popen([SCRY, "record", "-a", "-d", "10", "-o", "-"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    gone.stdout.close()
    errors = gone.stderr.read()
    check(gone.wait(timeout=10) == 74 and not errors, "status %d: %r", gone.returncode, errors)


@test()
def fifo(bench):
    path = os.path.join(bench.folder, "fifo")
    os.mkfifo(path)
    data = []
    reader = threading.Thread(target=lambda: data.append(open(path, "rb").read()))
    reader.start()
    out = run("record", "-q", "-a", "-d", "0.5", "-o", path)
    reader.join()
    check(out.returncode == 0 and data[0], "%s", out)
    report = subprocess.run([SCRY, "report", "-i", "-"], input=data[0], stdout=subprocess.PIPE)
    check(report.returncode == 0, "status %d", report.returncode)


@test()
def binary_is_not_for_a_terminal(bench):
    recording = bench.record("-a", "-d", "0.2")
    for args in (["record", "-a", "-d", "1", "-o", "-"], ["export", "-f", "pprof", "-i", recording.path, "-o", "-"]):
        terminal = Terminal([SCRY] + args)
        check(terminal.finish() == 64 and b"not for a terminal" in terminal.text, "%s: %r", args, terminal.text)


@test()
def colours(bench):
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    recording = bench.record("-p", target.pid, "-F", "999", "-d", "1")
    args = ["report", "-i", recording.path]
    check(ESCAPE not in run(*args).stdout, "colours in a pipe")
    check(ESCAPE in run(*args, "--color", "always").stdout, "no colours with always")
    for env, more, wanted in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True),
                              ({"TERM": "dumb"}, [], False), ({}, ["--color", "never"], False),
                              ({"NO_COLOR": "1"}, ["--color", "always"], True)):
        terminal = Terminal([SCRY] + args + more, env=env)
        check(terminal.finish() == 0, "%r", terminal.text)
        check((ESCAPE in terminal.text) == wanted, "%s %s: %r", env, more, terminal.text[:300])


@test()
def rows_fit_the_terminal(bench):
    target = bench.start(pick("sid-3.14", "debian-3.11"), "names.py", "odd")
    recording = bench.record("-p", target.pid, "-F", "499", "-d", "1")
    for columns in (60, 80, 120):
        terminal = Terminal([SCRY, "report", "-i", recording.path, "--color", "never"], columns=columns)
        check(terminal.finish() == 0 and ESCAPE not in terminal.text, "%r", terminal.text)
        rows = [r for r in terminal.text.decode(errors="replace").split("\r\n") if re.match(r" *\d+\.\d\d ", r)]
        check(rows, "no rows: %r", terminal.text)
        wide = [r for r in rows if len(r) > columns]
        check(not wide, "wider than %d: %s", columns, wide)


@test()
def exports_are_whole_or_not_there(bench):
    target = bench.start(pick("debian-3.11"), "flip.py", "plain")
    recording = bench.record("-p", target.pid, "-F", "999", "-d", "1")
    folder = os.path.join(bench.folder, "out")
    os.mkdir(folder)
    for name, default in (("flamegraph", "flamegraph.html"), ("pprof", "profile.pb.gz")):
        out = run("export", "-f", name, "-i", recording.path, cwd=folder)
        check(out.returncode == 0 and os.listdir(folder) == [default], "%s: %s %s", name, out, os.listdir(folder))
        with open(os.path.join(folder, default), "rb") as data:
            good = data.read()
        # a file size limit stands for a full disk: what was there stays, nothing is left beside it
        out = subprocess.run(["prlimit", "--fsize=10", SCRY, "export", "-f", name, "-i", recording.path], cwd=folder,
                             stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        check(out.returncode == 74 and out.stderr.count(b"\n") == 1, "%s: %s", name, out)
        check(os.listdir(folder) == [default], "%s: left %s", name, os.listdir(folder))
        with open(os.path.join(folder, default), "rb") as data:
            check(data.read() == good, "%s: what was there is gone", name)
        os.unlink(os.path.join(folder, default))
    for name in ("folded", "flamegraph", "pprof"):
        out = run("export", "-f", name, "-i", recording.path, "-o", "/dev/full")
        check(out.returncode == 74 and b"No space" in out.stderr, "%s: %s", name, out)
    os.symlink("/dev/null", os.path.join(folder, "link"))
    out = run("export", "-f", "pprof", "-i", recording.path, "-o", "link", cwd=folder)
    check(out.returncode == 73 and b"symbolic link" in out.stderr, "%s", out)


@test()
def summary_is_json(bench):
    path = os.path.join(bench.folder, "s.json")
    out = run("record", "-a", "-d", "0.5", "-o", "/dev/null", "--summary", "-")
    summary = json.loads(out.stdout)
    check(summary["samples"] == sum(summary["outcomes"].values()), "%s", summary)
    out = run("record", "-a", "-d", "0.2", "-o", "/dev/null", "--summary", "/dev/full")
    check(out.returncode == 74, "status %d", out.returncode)
    out = run("record", "-a", "-d", "0.2", "-o", "/dev/null", "--summary", path)
    check(out.returncode == 0 and os.stat(path).st_mode & 0o777 == 0o600, "%s", out)
