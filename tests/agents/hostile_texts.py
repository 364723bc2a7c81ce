"""Parse texts that are made to take forever; runs in a process of its own, which a test can kill.

A regular expression holds the lock of the interpreter: while it backtracks, no thread can end anything.
"""

import sys
from collections.abc import Callable
from contextlib import suppress

from assay.agents.mlagentbench.research import Research, strip_marks
from assay.agents.mlagentbench.text_protocol import parse_text
from assay.agents.replies import UnreadableReply, extract_python
from assay.agents.shell.bash_protocol import parse_commands
from assay.core.diff import unified_diff
from assay.core.errors import RecordError
from assay.core.untrusted import parse_json
from assay.models import Message, Reply, Usage
from assay.studies.submission_origin import strip_here_documents

FIELDS = [field.name for field in Research.thoughts]
KEYS = [f'"k{number}":0' for number in range(300_000)]


def reply(text: str) -> Reply:
    message = Message(role="assistant", text=text)
    return Reply(message=message, stop="stop", usage=Usage(), model="m", number=0, seconds=0, waited=0)


def lines(mark: str) -> list[str]:
    """Every second line is the same in all such texts, and each of these lines occurs many times."""
    return [f"{number % 500}\n" if number % 2 else f"{mark}{number}\n" for number in range(50_000)]


ATTACKS: dict[str, Callable[[], object]] = {
    "fields again and again, without the last": lambda: parse_text(
        "".join(f"{name}:" * 300 for name in (*FIELDS, "Action")), Research.thoughts
    ),
    "a line of blanks": lambda: parse_text(f"x\n{' ' * 10**6}y", Research.thoughts),
    "blanks between marks": lambda: parse_text(f"x\n{' #' * 10**6}y", Research.thoughts),
    "code fences in front of the arguments": lambda: parse_text(
        "".join(f"{name}: x\n" for name in (*FIELDS, "Action")) + f"Action Input: {'`' * 10**6}", Research.thoughts
    ),
    "blank lines in a plan": lambda: strip_marks("\n" * 10**6),
    "code blocks that do not end": lambda: parse_commands(reply("```bash\n" * 10**6), "text"),
    "blanks after the start of a code block": lambda: parse_commands(reply("```bash" + " " * 10**6), "text"),
    "millions of statements": lambda: extract_python(reply(f"```python\n{'a;' * 10**6}\n```\n" * 2)),
    "two texts of which every second line is the same": lambda: list(unified_diff(lines("x"), lines("y"), "a", "b")),
    "here-documents that do not end": lambda: [strip_here_documents("<<A" * 7_000) for _ in range(20)],
    "a here-document with an endless name": lambda: [strip_here_documents("<<" + "A" * 20_000) for _ in range(100)],
    "many keys and the last one twice": lambda: parse_json(f"{{{','.join([*KEYS, KEYS[-1]])}}}".encode(), "x"),
}

if __name__ == "__main__":
    for name, attack in ATTACKS.items():
        print(name, flush=True)
        with suppress(UnreadableReply, RecordError):
            attack()
    sys.exit(0)
