"""A program on a terminal of its own: what it prints, and keys pressed."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from harness import check


class Terminal:
    """argv is the leader of a session, in the foreground of a new terminal."""

    def __init__(self, argv, columns=80, env=None, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        full = {**os.environ, "TERM": "xterm", **(env or {})}

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        streams = dict(stdin=slave, stdout=slave, stderr=slave)
        streams.update(more)
        self.process = subprocess.Popen([str(a) for a in argv], env=full, preexec_fn=own_terminal, **streams)
        os.close(slave)
        self.pid = self.process.pid
        self.text = b""

    def press(self, keys):
        os.write(self.master, keys)

    def read(self, seconds):
        """Some more output, or False at its end or when there is none in time."""
        if not select.select([self.master], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the last program closed it
            return False
        self.text += data
        return bool(data)

    def wait_for(self, text, seconds=10.0):
        """Until the output has this (after `mark`)."""
        end = time.monotonic() + seconds
        while text not in self.text:
            check(self.read(end - time.monotonic()) or text in self.text, "no %r in %r", text, self.text[-800:])

    def finish(self, seconds=20.0):
        """Its exit status, negative when a signal killed it."""
        end = time.monotonic() + seconds
        while self.read(end - time.monotonic()):
            pass
        self.process.wait(timeout=max(end - time.monotonic(), 1))
        os.close(self.master)
        return self.process.returncode
