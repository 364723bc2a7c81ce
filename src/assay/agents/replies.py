"""Model replies: reading code blocks from them, and quoting text safely in prompts."""

import re
from typing import Literal

from assay.models import Reply


class UnreadableReply(Exception):
    """A reply that does not follow the requested format; its message says why."""


class NoCodeBlock(UnreadableReply):
    """A reply without exactly one complete code block; `problem` says what is wrong with it."""

    def __init__(self, problem: Literal["cut off", "missing", "unclosed", "several"]) -> None:
        super().__init__(f"The code block is {problem}.")
        self.problem = problem


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


def code_block(text: str, language: str = "") -> str:
    """Return `text` as a code block, with a fence that does not occur in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
