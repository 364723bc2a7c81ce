"""A shell with a terminal of its own, for a person. Lives inside the lab and speaks frames with the host.

A frame is a letter, the length of what follows in four bytes, and that. To the host go `o` output, `r` a request (its
number, a space, the command's name) and `x` the shell's end; from the host come `i` input, `w` the window's rows and
columns, and `a` an answer (a request's number, a space, and JSON with `text` and `code`).

The person's commands `submit`, `validate` and `time-left` are one small program that asks through a socket here.
"""

import contextlib
import fcntl
import os
import pty
import select
import socket
import struct
import sys
import tempfile
import termios
from pathlib import Path

COMMANDS = ("submit", "validate", "time-left")
PROGRAM = """#!{python}
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect({door!r})
    door.sendall(os.path.basename(sys.argv[0]).encode())
    door.shutdown(socket.SHUT_WR)
    answer = json.loads(b"".join(iter(lambda: door.recv(65536), b"")))
print(answer["text"])
sys.exit(answer["code"])
"""
# The lab is held still now and then while the host looks at the submission. A shell that controls jobs would take that
# for a Ctrl-Z and put the running command into the background, so it must not; bash heeds that only once it has read
# its settings, which is before its first prompt.
SETTINGS = """PROMPT_COMMAND='set +m; unset PROMPT_COMMAND'
PS1='lab:\\w\\$ '
unset HISTFILE
"""
CHUNK = 65_536


def main() -> None:
    """Carry bytes to and fro until the shell ends."""
    folder = Path(tempfile.mkdtemp())
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(folder / "door"))
    door.listen()
    (folder / "settings").write_text(SETTINGS)
    for name in COMMANDS:
        command = folder / "commands" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(PROGRAM.format(python=sys.executable, door=str(folder / "door")))
        command.chmod(0o755)
    shell, screen = pty.fork()
    if shell == 0:
        os.environ["PATH"] = f"{folder / 'commands'}:{os.environ['PATH']}"
        os.environ.setdefault("TERM", "xterm-256color")
        os.execvp("bash", ["bash", "--noprofile", "--rcfile", str(folder / "settings"), "-i"])
    os.set_blocking(screen, False)
    Relay(door, screen).serve()
    os.waitpid(shell, 0)
    send(b"x", b"")


class Relay:
    """Between the host, the shell's terminal, and the person's commands."""

    def __init__(self, door: socket.socket, screen: int) -> None:
        self.door = door
        self.screen = screen
        self.typed = b""
        self.heard = b""
        self.asking: dict[int, socket.socket] = {}
        self.asked: dict[int, bytes] = {}

    def serve(self) -> None:
        """Go on until the terminal is closed, which is when the shell and all it started have gone."""
        while True:
            writable = [self.screen] if self.typed else []
            waiting = [0, self.screen, self.door, *self.asked]
            ready, free, _ = select.select(waiting, writable, [])
            if free:
                self.typed = self.typed[os.write(self.screen, self.typed[:CHUNK]) :]
            if self.screen in ready and not self.show():
                return
            if 0 in ready and not self.hear():
                return
            if self.door in ready:
                connection = self.door.accept()[0]
                self.asking[connection.fileno()], self.asked[connection.fileno()] = connection, b""
            for number in [each for each in ready if each in self.asked]:
                self.listen(number)

    def show(self) -> bool:
        """Send on what the terminal shows; False once nobody holds its other end."""
        try:
            shown = os.read(self.screen, CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        send(b"o", shown)
        return bool(shown)

    def hear(self) -> bool:
        """Do what the host says; False once it has gone."""
        said = os.read(0, CHUNK)
        self.heard += said
        while len(self.heard) >= 5:
            kind, size = self.heard[:1], int.from_bytes(self.heard[1:5], "big")
            if len(self.heard) < 5 + size:
                break
            content, self.heard = self.heard[5 : 5 + size], self.heard[5 + size :]
            if kind == b"i":
                self.typed += content
            elif kind == b"w":
                rows, columns = map(int, content.split())
                fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            elif kind == b"a":
                number, _, answer = content.partition(b" ")
                self.answer(int(number), answer)
        return bool(said)

    def listen(self, number: int) -> None:
        """Take in what one of the person's commands asks for, and ask the host when it is all there."""
        said = self.asking[number].recv(CHUNK)
        self.asked[number] += said
        if not said:
            send(b"r", b"%d %s" % (number, self.asked.pop(number)[:100]))

    def answer(self, number: int, answer: bytes) -> None:
        """Tell one of the person's commands what the host says."""
        connection = self.asking.pop(number, None)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.sendall(answer)
            connection.close()


def send(kind: bytes, content: bytes) -> None:
    """Send a frame to the host."""
    frame = kind + len(content).to_bytes(4, "big") + content
    while frame:
        frame = frame[os.write(1, frame) :]


main()
