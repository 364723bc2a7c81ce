"""A shell with its own terminal for a person. Runs inside the lab and exchanges frames with the host.

A frame is one letter, the length of the content in four bytes, and the content. To the host: `o` output, `r` a request
(its number, a space, the command's name) and `x` the end of the shell. From the host: `i` input, `w` the rows and
columns of the window, and `a` an answer (the request's number, a space, and JSON with `text` and `code`).

The commands `submit`, `validate` and `time-left` are one small program that sends its name through a socket.
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
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({socket!r})
    connection.sendall(os.path.basename(sys.argv[0]).encode())
    connection.shutdown(socket.SHUT_WR)
    answer = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
print(answer["text"])
sys.exit(answer["code"])
"""
# The lab is paused now and then while the host reads the submission. A shell with job control would take that for a
# Ctrl-Z and put the running command into the background. Bash only honors `set +m` after it has read its startup files,
# so it is set at the first prompt.
BASHRC = """PROMPT_COMMAND='set +m; unset PROMPT_COMMAND'
PS1='lab:\\w\\$ '
unset HISTFILE
"""
CHUNK = 65_536


def main() -> None:
    """Start the shell and forward bytes until it ends."""
    folder = Path(tempfile.mkdtemp())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    (folder / "bashrc").write_text(BASHRC)
    for name in COMMANDS:
        command = folder / "commands" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(PROGRAM.format(python=sys.executable, socket=str(folder / "socket")))
        command.chmod(0o755)
    shell, terminal = pty.fork()
    if shell == 0:
        os.environ["PATH"] = f"{folder / 'commands'}:{os.environ['PATH']}"
        os.environ.setdefault("TERM", "xterm-256color")
        os.execvp("bash", ["bash", "--noprofile", "--rcfile", str(folder / "bashrc"), "-i"])
    os.set_blocking(terminal, False)
    ShellRelay(listener, terminal).serve()
    os.waitpid(shell, 0)
    send(b"x", b"")


class ShellRelay:
    """Connects the host, the shell's terminal, and the person's commands."""

    def __init__(self, listener: socket.socket, terminal: int) -> None:
        self.listener = listener
        self.terminal = terminal
        self.input = b""
        self.received = b""
        self.connections: dict[int, socket.socket] = {}
        self.incomplete_requests: dict[int, bytes] = {}

    def serve(self) -> None:
        """Forward bytes until the terminal is closed, when the shell and everything it started have ended."""
        while True:
            writable = [self.terminal] if self.input else []
            readable = [0, self.terminal, self.listener.fileno(), *self.incomplete_requests]
            ready, free, _ = select.select(readable, writable, [])
            if free:
                self.input = self.input[os.write(self.terminal, self.input[:CHUNK]) :]
            if self.terminal in ready and not self.forward_output():
                return
            if 0 in ready and not self.receive():
                return
            if self.listener.fileno() in ready:
                connection = self.listener.accept()[0]
                number = connection.fileno()
                self.connections[number], self.incomplete_requests[number] = connection, b""
            for number in [each for each in ready if each in self.incomplete_requests]:
                self.read_request(number)

    def forward_output(self) -> bool:
        """Send what the terminal shows to the host; return False once its other end is closed."""
        try:
            output = os.read(self.terminal, CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        send(b"o", output)
        return bool(output)

    def receive(self) -> bool:
        """Handle frames from the host; return False once it has disconnected."""
        data = os.read(0, CHUNK)
        self.received += data
        while len(self.received) >= 5:
            kind, size = self.received[:1], int.from_bytes(self.received[1:5], "big")
            if len(self.received) < 5 + size:
                break
            content, self.received = self.received[5 : 5 + size], self.received[5 + size :]
            if kind == b"i":
                self.input += content
            elif kind == b"w":
                rows, columns = map(int, content.split())
                fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            elif kind == b"a":
                number, _, answer = content.partition(b" ")
                self.answer(int(number), answer)
        return bool(data)

    def read_request(self, number: int) -> None:
        """Read the request of one of the person's commands, and forward it to the host when it is complete."""
        data = self.connections[number].recv(CHUNK)
        self.incomplete_requests[number] += data
        if not data:
            send(b"r", b"%d %s" % (number, self.incomplete_requests.pop(number)[:100]))

    def answer(self, number: int, answer: bytes) -> None:
        """Forward the host's answer to one of the person's commands."""
        connection = self.connections.pop(number, None)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.sendall(answer)
            connection.close()


def send(kind: bytes, content: bytes) -> None:
    """Send a frame to the host."""
    frame = kind + len(content).to_bytes(4, "big") + content
    while frame:
        frame = frame[os.write(1, frame) :]


if __name__ == "__main__":
    main()
