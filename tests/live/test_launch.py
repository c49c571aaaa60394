"""`record -- COMMAND` on a terminal and with signals: the command is as if it ran alone."""
import json
import os
import signal
import subprocess
import sys

from harness import SCRY, check, test, wait_until
from terminal import Terminal

PYTHON = sys.executable
# says each signal that it gets, ends with 7 at SIGTERM
LISTENER = """
import os, signal, sys
def on(number, _):
    print("got %s" % signal.Signals(number).name, flush=True)
    if number == signal.SIGTERM: sys.exit(7)
for n in (1, 2, 3, 10, 12, 15, 18, 28): signal.signal(n, on)
print("ready %d" % os.getpid(), flush=True)
while 1: signal.pause()
"""


def argv(bench, command, *options):
    return [SCRY, "record", "-o", os.path.join(bench.folder, "l.data"), *options, "--", *command]


def start(bench, command, *options, **more):
    streams = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    streams.update(more)
    return subprocess.Popen(argv(bench, command, *options), **streams)


def state(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rpartition(") ")[2][0]


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        return [int(child) for child in children.read().split()]


@test()
def signals_are_forwarded(bench):
    process = start(bench, [PYTHON, "-c", LISTENER])
    check(process.stdout.readline().startswith(b"ready"), "no command")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT,
                   signal.SIGWINCH, signal.SIGTERM):
        process.send_signal(number)
        line = process.stdout.readline()
        check(line == b"got %s\n" % number.name.encode(), "%s: %r", number.name, line)
    _, errors = process.communicate(timeout=20)
    check(process.returncode == 7, "status %d: %s", process.returncode, errors)


@test()
def interrupt_key_reaches_the_command_once(bench):
    """The terminal sends it to both; scry goes on for as long as the command does."""
    terminal = Terminal(argv(bench, [PYTHON, "-c", LISTENER]))
    terminal.wait_for(b"ready")
    terminal.wait_for(b"\n")
    for n in (1, 2, 3):
        terminal.press(b"\x03")
        while terminal.text.count(b"got SIGINT") < n:
            check(terminal.read(10), "no SIGINT: %r", terminal.text)
        check(terminal.process.poll() is None, "scry ended")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.wait_for(b"got SIGTERM")
    check(terminal.finish() == 7, "status %s", terminal.process.returncode)
    check(terminal.text.count(b"got SIGINT") == 3, "not once per key: %r", terminal.text)


@test()
def interrupted_command(bench):
    """A command that knows nothing of SIGINT dies of it; scry says so as a shell does."""
    terminal = Terminal(argv(bench, ["sh", "-c", "echo ready; exec sleep 60"]))
    terminal.wait_for(b"ready")
    terminal.press(b"\x03")
    check(terminal.finish() == 128 + signal.SIGINT, "status %s", terminal.process.returncode)


@test()
def stop_key(bench):
    """^Z stops both (scry is not the leader of its session here, so a shell could go on with it)."""
    script = "set -m; %s; echo status $?; fg; echo ended $?" % " ".join(
        "'%s'" % word for word in argv(bench, ["sh", "-c", "echo ready; read x; echo got $x; exit 5"]))
    terminal = Terminal(["bash", "-i", "-c", script], env={"PS1": ""})
    terminal.wait_for(b"ready")
    terminal.press(b"\x1a")
    terminal.wait_for(b"status 148")
    terminal.press(b"word\n")
    terminal.wait_for(b"got word")
    terminal.wait_for(b"ended 5")
    terminal.finish()


@test()
def terminal_is_the_commands(bench):
    code = "import os, sys; print(sys.stdin.isatty(), os.get_terminal_size().columns, input('name? '))"
    terminal = Terminal(argv(bench, [PYTHON, "-c", code], "-q"), columns=91)
    terminal.wait_for(b"name? ")
    terminal.press(b"scry\n")
    terminal.wait_for(b"True 91 scry")
    check(terminal.finish() == 0, "status %s", terminal.process.returncode)


@test()
def standard_input_is_the_commands(bench):
    process = start(bench, [PYTHON, "-"], stdin=subprocess.PIPE)
    out, errors = process.communicate(b"import sys; print('read'); sys.exit(9)", timeout=20)
    check(out == b"read\n" and process.returncode == 9, "%r %d %s", out, process.returncode, errors)


@test()
def command_gets_nothing_of_ours(bench):
    """No descriptor, no blocked or ignored signal, no variable but what was there."""
    code = "import json, os; print(json.dumps([sorted(int(f) for f in os.listdir('/proc/self/fd')), " \
           "[l for l in open('/proc/self/status') if l[:6] in ('SigBlk', 'SigIgn')], dict(os.environ)]))"
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    alone = json.loads(subprocess.run([PYTHON, "-c", code], env=env, stdout=subprocess.PIPE, check=True).stdout)
    out, _ = start(bench, [PYTHON, "-c", code], env=env).communicate(timeout=20)
    check(json.loads(out) == alone, "%s, alone %s", out, alone)


@test()
def never_python(bench):
    process = start(bench, ["sh", "-c", "exit 4"])
    _, errors = process.communicate(timeout=20)
    check(process.returncode == 4, "status %d", process.returncode)
    check(b"o Python process was seen" in errors, "not said: %s", errors)


@test()
def command_outlives_the_duration(bench):
    """It lives on, scry waits for it and forwards signals all the same."""
    process = start(bench, [PYTHON, "-c", LISTENER], "-d", "0.3")
    line = process.stdout.readline()
    pid = int(line.split()[1])
    said = b""
    while b"wrote" not in said:
        line = process.stderr.readline()
        check(line, "ended: %s", said)
        said += line
    wait_until(lambda: state(pid) == "S", "the command waits")
    check(process.poll() is None, "scry ended: %s", process.poll())
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    check(out == b"got SIGTERM\n" and process.returncode == 7, "%r %d", out, process.returncode)


@test()
def killed_recorder_leaves_the_command_alone(bench):
    process = start(bench, [PYTHON, "-c", LISTENER])
    pid = int(process.stdout.readline().split()[1])
    process.kill()
    process.wait()
    os.kill(pid, signal.SIGUSR1)
    check(process.stdout.readline() == b"got SIGUSR1\n", "the command is gone")
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not os.path.exists("/proc/%d" % pid) or state(pid) == "Z", "the command ends")


@test()
def failing_start_runs_nothing(bench):
    mark = os.path.join(bench.folder, "ran")
    process = start(bench, ["touch", mark], "-e", "frobnicate")
    _, errors = process.communicate(timeout=20)
    check(process.returncode == 125, "status %d: %s", process.returncode, errors)
    check(not os.path.exists(mark), "the command ran")


@test()
def recording_to_a_pipe_keeps_apart(bench):
    """With -o - the command's output goes where messages go, not into the recording."""
    process = subprocess.Popen([SCRY, "record", "-q", "-o", "-", "--", "echo", "words"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    out, errors = process.communicate(timeout=20)
    check(process.returncode == 0 and errors == b"words\n", "%d %r", process.returncode, errors)
    check(out and b"words\n" not in out[:64], "%r", out[:64])


@test()
def sudo_user_has_nothing_of_root(bench):
    os.chmod(bench.folder, 0o777)
    env = dict(os.environ, SUDO_UID="1000", SUDO_GID="1000", SUDO_USER="x", SUDO_COMMAND="scry")
    code = "import json, os; print(json.dumps([os.getresuid(), os.getresgid(), os.getgroups(), " \
           "[l.split()[1] for l in open('/proc/self/status') if l[:3] == 'Cap' and l[3:6] in ('Prm', 'Eff', 'Inh', " \
           "'Amb')], sorted(k for k in os.environ if k.startswith('SUDO_'))]))"
    out, errors = start(bench, ["/usr/bin/python3", "-c", code], env=env).communicate(timeout=20)
    uids, gids, groups, caps, sudo = json.loads(out or "[0, 0, 0, 0, 0]")
    check(uids == gids == [1000] * 3, "%s %s %s", uids, gids, errors)
    check(0 not in groups and set(caps) == {"0" * 16} and not sudo, "%s %s %s", groups, caps, sudo)


@test()
def sudo_user_is_nonsense(bench):
    """Then it is not run at all: as root least of all."""
    for name, value in (("SUDO_UID", "root"), ("SUDO_UID", "-1"), ("SUDO_GID", "4294967296")):
        env = dict(os.environ, SUDO_UID="1000", SUDO_GID="1000")
        env[name] = value
        out, errors = start(bench, ["id"], env=env).communicate(timeout=20)
        check(not out and name.encode() in errors, "%r %r", out, errors)


@test()
def terminal_goes_away(bench):
    """It tells the leader of the session only; the command hears of it from scry."""
    mark = os.path.join(bench.folder, "mark")
    terminal = Terminal(argv(bench, ["sh", "-c", "trap 'echo hangup > %s; exit' HUP; echo ready; "
                                     "while :; do sleep 0.05; done" % mark]))
    terminal.wait_for(b"ready")
    os.close(terminal.master)
    wait_until(lambda: os.path.exists(mark), "the command hears of it")
    check(terminal.process.wait(10) == 0, "status %s", terminal.process.returncode)
