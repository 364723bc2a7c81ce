"""A person at the terminal, for agents that may ask for help."""

from pathlib import Path

TERMINAL = Path("/dev/tty")


def ask_person(request: str, terminal: Path = TERMINAL) -> str | None:
    """Show a request on a terminal and return the line that is typed; None where there is no terminal or nobody."""
    try:
        with terminal.open("r+b", buffering=0) as screen:
            screen.write(f"\nThe agent asks for help:\n{request}\nYour answer: ".encode())
            answer = bytearray()
            while (letter := screen.read(1)) not in (b"", b"\n", None):
                answer += letter
            return answer.decode(errors="replace").strip() if answer or letter else None
    except OSError:
        return None
