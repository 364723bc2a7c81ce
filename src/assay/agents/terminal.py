"""Questions to a person at the terminal, for agents that may request help."""

from pathlib import Path

TERMINAL = Path("/dev/tty")


def ask_person(request: str, terminal: Path = TERMINAL) -> str | None:
    """Show a request on a terminal and return the line typed in reply; None if there is no terminal or no reply."""
    try:
        with terminal.open("r+b", buffering=0) as screen:
            screen.write(f"\nThe agent requests help:\n{request}\nYour answer: ".encode())
            answer = bytearray()
            while (key := screen.read(1)) not in (b"", b"\n", None):
                answer += key
            # An empty line is an answer; a closed terminal is not.
            return answer.decode(errors="replace").strip() if answer or key else None
    except OSError:
        return None
