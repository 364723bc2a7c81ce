"""Long texts, shortened to their beginning and their end."""

from assay.lab.interface import Completed


def shortened(text: str, most: int) -> str:
    """A text of at most about `most` letters: where it is longer, a note stands for its middle."""
    if len(text) <= most:
        return text
    head = most // 2
    tail = most - head
    return f"{text[:head]}\n… {len(text) - most:,} characters left out …\n{text[len(text) - tail :]}"


def both_streams(completed: Completed, most: int) -> str:
    """What a command printed on standard output and on standard error."""
    return streams(completed.stdout.text, completed.stderr.text, most)


def streams(stdout: str, stderr: str, most: int) -> str:
    """Both streams under their names, each shortened to half of `most`."""
    parts = [("Standard output", stdout), ("Standard error", stderr)]
    told = [f"{name}:\n{shortened(text.rstrip(), most // 2)}" for name, text in parts if text.strip()]
    return "\n\n".join(told) or "It printed nothing."
