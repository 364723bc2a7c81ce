"""Reviews of script output by a model in the role `review`, in a fixed form."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from assay.agents.aide.execute import Attempt, Review, describe_execution, is_usable_metric, lane_of, run_all
from assay.agents.prompts import Templates
from assay.agents.replies import code_block
from assay.agents.workbench import Workbench
from assay.core.errors import ModelError, PromptTooLong
from assay.models import Message, Tool
from assay.records import OutOfBudget
from assay.records.events import CommandResult, SearchNode

REVIEW = "review"
REVIEW_TOOL = Tool(
    name="submit_review",
    description="Submit a review of the execution of the script.",
    parameters={
        "type": "object",
        "properties": {
            "is_bug": {
                "type": "boolean",
                "description": "whether the execution failed, or its validation metric cannot be trusted",
            },
            "summary": {
                "type": "string",
                "description": "the findings and what follows from them, in two sentences",
            },
            "metric": {
                "type": ["number", "null"],
                "description": "the validation metric that the script printed; null if it printed none",
            },
        },
        "required": ["is_bug", "summary", "metric"],
    },
)


async def review_attempts(
    bench: Workbench, templates: Templates, attempts: Sequence[tuple[SearchNode, Attempt]]
) -> dict[int, Review | None]:
    """Return the review of each executed script by the id of its node."""
    # A reply becomes durable only with a snapshot of the workspace that it is about.
    await bench.snapshot()
    jobs = [partial(_review, bench, templates, node, attempt.execution.output) for node, attempt in attempts]
    return dict(zip((node.id for node, _ in attempts), await run_all(jobs), strict=True))


async def review_output(
    bench: Workbench, templates: Templates, node: SearchNode, result: CommandResult
) -> Review | None:
    """Return the review of a script that was executed in a lab of its own."""
    return await _review(bench, templates, node, describe_execution(result).output)


async def _review(bench: Workbench, templates: Templates, node: SearchNode, output: str) -> Review | None:
    """Return the review of a node; None if the model gives no usable reply or is unavailable."""
    prompt = templates.fill(
        "review",
        task=bench.description.strip(),
        submission=bench.task.submission.file,
        code=code_block(node.code, "python"),
        output=code_block(output),
    )
    messages = [Message(role="user", text=prompt)]
    try:
        reply = await bench.ask(
            REVIEW,
            messages,
            [REVIEW_TOOL],
            lane=lane_of(node),
            record_failures=True,
            tool_choice=REVIEW_TOOL.name,
        )
    except (ModelError, PromptTooLong, OutOfBudget):
        return None  # the record contains the error, and a node does not need a review
    calls = [call.arguments for call in reply.message.tool_calls if call.parse_error is None]
    return _parse_review(calls[0]) if calls else None


def _parse_review(arguments: Mapping[str, Any]) -> Review | None:
    buggy, summary, metric = (arguments.get(name) for name in ("is_bug", "summary", "metric"))
    if not isinstance(buggy, bool) or not isinstance(summary, str):
        return None
    usable = isinstance(metric, int | float) and not isinstance(metric, bool) and is_usable_metric(metric)
    return Review(buggy, summary, float(metric) if usable and metric is not None else None)
