"""A second look at what scripts printed, by a model in the role `review`, in a fixed form."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.agents.aide.concurrency import side_by_side
from assay.agents.aide.execute import lane_of
from assay.agents.aide.journal import Node
from assay.agents.aide.operators import fenced_off
from assay.agents.aide.outcomes import Review, Tried, comparable
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.errors import ModelError, PromptTooLong
from assay.records import OutOfBudget

if TYPE_CHECKING:
    from assay.models import Tool

REVIEW = "review"
FORM = {
    "type": "object",
    "properties": {
        "is_bug": {"type": "boolean", "description": "whether the run failed, or what it measured cannot be trusted"},
        "summary": {"type": "string", "description": "what came of it and what follows from that, in two sentences"},
        "metric": {
            "type": ["number", "null"],
            "description": "the validation metric that it printed; null if it printed none",
        },
    },
    "required": ["is_bug", "summary", "metric"],
}


async def reviewed(bench: Workbench, texts: Templates, ran: Sequence[tuple[Node, Tried]]) -> dict[int, Review | None]:
    """What the reviewing model makes of each script that ran, by the number of its node."""
    # Replies are kept for good only when the workspace they are about is.
    await bench.snapshot()
    reviews = await side_by_side([partial(_reviewed, bench, texts, node, tried) for node, tried in ran])
    return dict(zip((node.id for node, _ in ran), reviews, strict=True))


async def _reviewed(bench: Workbench, texts: Templates, node: Node, tried: Tried) -> Review | None:
    """What the reviewing model makes of a node; None where it gives no usable answer or cannot be asked."""
    from assay.models import Message

    task = bench.task
    told = texts.fill(
        "aide_review",
        task=bench.description.strip(),
        submission=task.submission.file,
        code=fenced_off(node.code, "python"),
        output=fenced_off(tried.ran.output),
    )
    try:
        reply = await bench.ask(
            REVIEW, [Message(role="user", text=told)], [_tool()], lane=lane_of(node), faults_count=True
        )
    except (ModelError, PromptTooLong, OutOfBudget):
        return None  # the record has it; a node can do without
    calls = [call.arguments for call in reply.message.tool_calls if call.parse_error is None]
    return _read(calls[0]) if calls else None


def _tool() -> "Tool":
    from assay.models import Tool

    return Tool(name="submit_review", description="Say what came of running the script.", parameters=FORM)


def _read(arguments: dict[str, Any]) -> Review | None:
    broken, summary, metric = (arguments.get(name) for name in ("is_bug", "summary", "metric"))
    if not isinstance(broken, bool) or not isinstance(summary, str):
        return None
    number = metric if isinstance(metric, int | float) and not isinstance(metric, bool) else None
    return Review(broken, summary, float(number) if number is not None and comparable(number) else None)
