"""Model replies: reading code blocks from them, and quoting text safely in prompts."""

import ast
import re
from dataclasses import dataclass
from typing import Literal

from assay.models import Reply

MAX_CODE = 200_000
"""Characters of a script beyond which it is not parsed: Python's parser takes seconds for unusual code of that length,
which blocks everything else."""


class UnreadableReply(Exception):
    """A reply that does not follow the requested format; its message says why."""


class NoCodeBlock(UnreadableReply):
    """A reply without exactly one complete code block; `reason` says what is wrong with it."""

    def __init__(self, reason: Literal["cut off", "missing", "unclosed", "several"]) -> None:
        super().__init__(f"The code block is {reason}.")
        self.reason = reason


def extract_code_block(reply: Reply) -> str:
    """Return the content of the only code block of a reply; raise `NoCodeBlock` if there is not exactly one."""
    lines = reply.message.text.splitlines(keepends=True)
    matches = ((number, re.match(r"\s*(`{3,})[\w+-]*\s*$", line)) for number, line in enumerate(lines))
    fences = [(number, match[1]) for number, match in matches if match]
    if reply.stop in ("length", "too_long"):
        raise NoCodeBlock("cut off")
    if not fences:
        raise NoCodeBlock("missing")
    start, ticks = fences[0]
    closing = [number for number, fence in fences[1:] if fence == ticks and lines[number].strip() == ticks]
    if not closing:
        raise NoCodeBlock("unclosed")
    # A longer fence may contain blocks of three backticks.
    if len(ticks) == 3 and len(fences) > 2:
        raise NoCodeBlock("several")
    return "".join(lines[start + 1 : closing[-1]])


def extract_first_block(reply: Reply) -> str:
    """Return the first Python block of a reply, also if it was cut off, as MLAgentBench does."""
    _, fence, rest = reply.message.text.partition("```python")
    if not fence:
        raise NoCodeBlock("missing")
    return rest.partition("```")[0].strip()


def extract_python(reply: Reply) -> str:
    """Return the script of a reply that may have several code blocks; raise `NoCodeBlock` if it contains none.

    As in AIDE, the Python blocks that compile are joined: replies often have a shell command before the script or its
    expected output after it. A single block counts even if it does not compile, because that can be debugged.
    """
    if reply.stop in ("length", "too_long"):
        raise NoCodeBlock("cut off")
    text = reply.message.text
    blocks = _split_blocks(text)
    if not blocks:
        if "```" not in text and re.search(r"^(?:import|from)\s", text, re.M) and _compiles(text):
            return text
        raise NoCodeBlock("missing")
    if any(not block.closed for block in blocks):
        raise NoCodeBlock("unclosed")
    python = [block.text for block in blocks if block.language in ("python", "python3", "py")]
    candidates = python or [block.text for block in blocks if not block.language]
    if len(blocks) == 1 or len(python) == 1:
        return python[0] if python else blocks[0].text
    compiling = [candidate for candidate in candidates if candidate.strip() and _compiles(candidate)]
    if not compiling:
        raise NoCodeBlock("several")
    return "\n\n".join(compiling)


@dataclass(frozen=True)
class _Block:
    language: str
    text: str
    closed: bool


def _split_blocks(text: str) -> list[_Block]:
    """Return the code blocks of a text; a fence is closed by a line with the same number of backticks."""
    blocks: list[_Block] = []
    ticks, language, content = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        fence = re.match(r"\s*(`{3,})([\w+-]*)\s*$", line)
        if not ticks and fence:
            ticks, language, content = fence[1], fence[2].lower(), []
        elif ticks and line.strip() == ticks:
            blocks.append(_Block(language, "".join(content), closed=True))
            ticks = ""
        elif ticks:
            content.append(line)
    if ticks:
        blocks.append(_Block(language, "".join(content), closed=False))
    return blocks


def _compiles(code: str) -> bool:
    if len(code) > MAX_CODE:
        return False
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def code_block(text: str, language: str = "") -> str:
    """Return `text` as a code block, with a fence that does not occur in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
