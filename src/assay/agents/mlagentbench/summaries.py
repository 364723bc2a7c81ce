"""Summaries of long texts by the fast model: block by block, then merged."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.models import Message

BLOCK_SIZE = 10_000
FAST = "fast"


@dataclass(frozen=True)
class TextBlock:
    """Part of a text, from character `start` up to but not including `end`, both counted from 0."""

    start: int
    end: int
    text: str


def split_blocks(text: str, max_size: int = BLOCK_SIZE) -> list[TextBlock]:
    """Split a text into blocks of less than `max_size` characters, at line ends wherever possible."""
    blocks: list[TextBlock] = []
    start = 0
    while start < len(text):
        limit = start + max_size - 1
        end = len(text)
        if limit < len(text):
            line_end = text.rfind("\n", start, limit)
            end = line_end + 1 if line_end >= 0 else limit
        blocks.append(TextBlock(start, end, text[start:end]))
        start = end
    return blocks


async def summarize(
    bench: Workbench, templates: Templates, text: str, block_template: str, merge_template: str, **values: object
) -> str:
    """Have the fast model process each block of a text, and merge the results if there is more than one block."""
    blocks = split_blocks(text)
    summaries: list[str] = []
    for number, block in enumerate(blocks, 1):
        prompt = templates.fill(
            block_template,
            block=block.text,
            number=number,
            count=len(blocks),
            first=f"{block.start + 1:,}",
            last=f"{block.end:,}",
            total=f"{len(text):,}",
            **values,
        )
        summaries.append(await ask_for_text(bench, FAST, prompt))
    if len(summaries) == 1:
        return summaries[0]
    prompt = templates.fill(merge_template, summaries=_number(summaries), count=len(summaries), **values)
    return await ask_for_text(bench, FAST, prompt)


async def ask_for_text(bench: Workbench, role: str, prompt: str) -> str:
    """Ask a model one question and return its reply as text; raise `ModelError` if it cannot be reached."""
    reply = await bench.ask(role, [Message(role="user", text=prompt)], record_failures=True)
    return reply.message.text.strip()


def _number(texts: Sequence[str]) -> str:
    return "\n\n".join(f"Part {number}:\n{text}" for number, text in enumerate(texts, 1))
