"""What tests on a pseudo-terminal share: a program on a terminal of some size, keys, what it shows."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from results import HANGS


class Terminal:
    """A program that runs on a terminal of its own."""

    def __init__(self, words, rows=24, columns=80, environment=None):
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(words[0], words, dict(os.environ, TERM="xterm", INPUTRC="/dev/null", **(environment or {})))
        self.mark = 0

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """What comes in that time, or up to the end: False."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        text = data.decode(errors="replace").replace("\r", "")
        self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", text)
        return bool(data)

    def wait(self, text, seconds=HANGS):
        """What is shown up to the text, after what was waited for before; None: it does not come."""
        return self.wait_for(re.escape(text), seconds)

    def wait_for(self, pattern, seconds=HANGS):
        """The same of a pattern; `found` is what matches."""
        end = time.monotonic() + seconds
        going = True
        while True:
            match = re.compile(pattern, re.MULTILINE).search(self.shown, self.mark)
            if match:
                before = self.shown[self.mark:match.start()]
                self.mark, self.found = match.end(), match.group()
                return before
            if not going or time.monotonic() > end:
                return None
            going = self.read(0.1)

    def all(self, seconds=HANGS):
        """What is shown up to the end of the program, and its exit status; one that goes on is killed."""
        end = time.monotonic() + seconds
        while self.read(0.1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return self.shown, os.waitstatus_to_exitcode(status)
