"""A terminal for programs under test: a pty with an emulator that keeps the screen as a user would see it."""

import fcntl
import html
import os
import pathlib
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

    def drawing(self, path):
        """The screen as a picture that is text (SVG)."""
        self.pump()
        wide, high, rows, columns = 8.43, 18, self.screen.lines, self.screen.columns
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * wide + 16:.0f} {rows * high + 16}" '
               f'width="{columns * wide + 16:.0f}" height="{rows * high + 16}" font-size="14" '
               'font-family="DejaVu Sans Mono, Menlo, monospace">', '<rect width="100%" height="100%" rx="6" fill="#12181f"/>']
        for row in range(rows):
            line = [self.screen.buffer[row][column] for column in range(columns)]
            start = 0
            for end in range(1, columns + 1):
                if end < columns and self._look(line[end]) == self._look(line[start]):
                    continue
                text = "".join(cell.data for cell in line[start:end])
                colour, is_bold, is_reverse = self._look(line[start])
                x, y = 8 + start * wide, 8 + row * high
                if is_reverse:
                    out.append(f'<rect x="{x:.1f}" y="{y}" width="{(end - start) * wide:.1f}" height="{high}" fill="{colour}"/>')
                if text.strip():
                    lead = len(text) - len(text.lstrip())
                    out.append(f'<text x="{x + lead * wide:.1f}" y="{y + 13.5}" fill="{"#12181f" if is_reverse else colour}" '
                               f'textLength="{len(text.strip()) * wide:.1f}" xml:space="preserve"'
                               f'{" font-weight=" + chr(34) + "700" + chr(34) if is_bold else ""}>{html.escape(text.strip())}</text>')
                start = end
        pathlib.Path(path).write_text("\n".join([*out, "</svg>", ""]))

    @staticmethod
    def _look(cell):
        colours = {"green": "#7dbd90", "cyan": "#7cc0ee", "brown": "#f0ad6a", "red": "#e8837a", "default": "#e6ebf0"}
        return colours.get(cell.fg, "#a7b3bf"), cell.bold, cell.reverse

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
