"""Writing scripts: the main model is asked for one until its reply is readable."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.agents.aide.execute import lane_of
from assay.agents.aide.operators import OperatorPrompts, RemainingBudget, make_messages
from assay.agents.briefing import remaining_model_budget
from assay.agents.replies import NoCodeBlock, UnreadableReply, extract_python
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong
from assay.core.quantities import format_duration
from assay.core.text import cut_middle
from assay.models import MAIN, Reply
from assay.records import Journal, OutOfBudget
from assay.records.events import SearchNode

MAX_COMPRESSION = 3
_MAX_PLAN = 2_000
_FORMAT = (
    "It must be a short plan in plain words followed by the complete script in one code block, between a line "
    "```python and a line ``` (use four backticks if the script itself contains such lines)."
)


@dataclass(frozen=True)
class DraftConfig:
    """How scripts are written: the prompts, the attempts per script, and the time limit a script will have."""

    bench: Workbench
    prompts: OperatorPrompts
    max_attempts: int
    time_limit: Callable[[], float]


@dataclass(frozen=True)
class Draft:
    """A node with its plan and script, if the model wrote one, and the reasons why replies were unreadable."""

    node: SearchNode
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """The plan and the script of a reply."""

    plan: str
    code: str


async def write_script(config: DraftConfig, journal: Journal, node: SearchNode) -> Draft:
    """Have the main model write the script of a node."""
    reasons: list[str] = []
    try:
        while len(reasons) < config.max_attempts:
            reply = await _ask(config, journal, node, reasons)
            try:
                proposal = parse_proposal(reply)
            except UnreadableReply as unreadable:
                reasons.append(str(unreadable))
            else:
                return Draft(node.model_copy(update={"plan": proposal.plan, "code": proposal.code}), tuple(reasons))
        reason = f"none of {config.max_attempts} replies was readable"
    except OutOfBudget as error:
        reason = f"the budget ran out before there was a reply: {error}"
    except PromptTooLong:
        reason = "the prompt is too long for the model"
    return Draft(node.model_copy(update={"status": "buggy", "reason": reason}), tuple(reasons))


def parse_proposal(reply: Reply) -> Proposal:
    """Return the plan and the script of a reply; raise `UnreadableReply` if it has another form."""
    try:
        code = extract_python(reply)
    except NoCodeBlock as error:
        cut_off = "It was cut off because it was too long; write a shorter script."
        raise UnreadableReply(cut_off if error.reason == "cut off" else _FORMAT) from None
    if not code.strip():
        raise UnreadableReply(f"The code block is empty. {_FORMAT}")
    text = reply.message.text
    plan = re.split(r"^[ \t]*`{3,}", text, maxsplit=1, flags=re.MULTILINE)[0].strip() if "```" in text else ""
    return Proposal(cut_middle(plan, _MAX_PLAN) or "(no plan)", code)


async def _ask(config: DraftConfig, journal: Journal, node: SearchNode, reasons: list[str]) -> Reply:
    """Return one reply of the main model, including as much of the past in the prompt as fits."""
    complaint = f"\n\n{config.prompts.templates.fill('retry', fault=reasons[-1])}" if reasons else ""
    budget = _remaining_budget(config)
    compression = 0
    while True:
        messages = make_messages(config.prompts, journal, node, budget, complaint, compression=compression)
        try:
            return await config.bench.ask(MAIN, messages, lane=lane_of(node))
        except PromptTooLong:
            compression += 1
            if compression > MAX_COMPRESSION:
                raise


def _remaining_budget(config: DraftConfig) -> RemainingBudget:
    clock, models = config.bench.clock, remaining_model_budget(config.bench)
    return RemainingBudget(
        steps_left=clock.steps_left + 1,
        time_left=format_duration(clock.seconds_left),
        limit=format_duration(config.time_limit()),
        models=f" and with {' and '.join(models)} for models" if models else "",
    )
