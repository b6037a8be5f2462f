"""A terminal for programs under test: a pty with an emulator that keeps the screen as a user would see it."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

from cluster import wait_for


class Terminal:
    """Runs a command in a pty of its own; `argv` and `env` as of subprocess."""

    def __init__(self, argv, env, cwd, rows=24, columns=80):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.status = None
        self.seen = b""  # all bytes that came
        self.fd, inside = pty.openpty()
        self.resize(rows, columns)  # before the command is there: it never sees another size
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.fd)
                os.login_tty(inside)
                os.chdir(cwd)
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(127)
        os.close(inside)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def pump(self, limit=0.05):
        """Takes in what the programs print, for so long at most after the last of it."""
        while select.select([self.fd], [], [], limit)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # EIO: nobody has the other side open any more
                data = b""
            if not data:
                return False
            self.seen += data
            self.stream.feed(data)
        return True

    def text(self):
        self.pump()
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def wait(self, text, count=1):
        """Until the screen shows `text` so many times."""
        wait_for(lambda: self.text().count(text) >= count, lambda: f"{text!r} on the screen:\n{self.text()}")

    def wait_exit(self):
        """The exit code, once the command has ended; of one that a signal ended 128 and its number."""
        def has_ended():
            self.pump()
            if self.status is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.status = os.waitstatus_to_exitcode(status)
            return self.status is not None
        wait_for(has_ended, lambda: f"the end of the command; the screen:\n{self.text()}")
        return self.status if self.status >= 0 else 128 - self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            end = time.monotonic() + 10
            while os.waitpid(self.pid, os.WNOHANG)[0] == 0 and time.monotonic() < end:
                time.sleep(0.01)
        os.close(self.fd)
