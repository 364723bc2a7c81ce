"""Long texts made short by a model: block by block, and the results merged."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench

BLOCK = 10_000
FAST = "fast"


@dataclass(frozen=True)
class Block:
    """A part of a text, from the letter number `start` up to but not including `end`, both counted from 0."""

    start: int
    end: int
    text: str


def blocks(text: str, most: int = BLOCK) -> list[Block]:
    """A text in parts of less than `most` letters, cut between lines; a line that is longer is cut where it must be."""
    found: list[Block] = []
    start = 0
    while start < len(text):
        limit = start + most - 1
        end = len(text)
        if limit < len(text):
            line_end = text.rfind("\n", start, limit)
            end = line_end + 1 if line_end >= 0 else limit
        found.append(Block(start, end, text[start:end]))
        start = end
    return found


async def digest(bench: Workbench, templates: Templates, text: str, each: str, merged: str, **about: object) -> str:
    """What the fast model makes of a text with the templates `each`, for every block, and `merged`, for the results."""
    parts = blocks(text)
    digests: list[str] = []
    for number, part in enumerate(parts, 1):
        told = templates.fill(
            each,
            block=part.text,
            number=number,
            count=len(parts),
            first=f"{part.start + 1:,}",
            last=f"{part.end:,}",
            total=f"{len(text):,}",
            **about,
        )
        digests.append(await ask(bench, FAST, told))
    if len(digests) == 1:
        return digests[0]
    return await ask(bench, FAST, templates.fill(merged, digests=_numbered(digests), count=len(digests), **about))


async def ask(bench: Workbench, role: str, told: str) -> str:
    """One question to a model in a role, and its answer as text; a model that cannot be reached is a `ModelError`."""
    from assay.models import Message

    reply = await bench.ask(role, [Message(role="user", text=told)], faults_count=True)
    return reply.message.text.strip()


def _numbered(texts: Sequence[str]) -> str:
    return "\n\n".join(f"Part {number}:\n{text}" for number, text in enumerate(texts, 1))
