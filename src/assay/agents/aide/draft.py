"""Scripts written by the main model: it is asked for one until its answer can be read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.agents.aide.answers import read_answer
from assay.agents.aide.execute import lane_of
from assay.agents.aide.journal import Journal, Node
from assay.agents.aide.operators import Left, Prompts, question
from assay.agents.aide.outcomes import unanswered
from assay.agents.briefing import left_for_models
from assay.agents.mlagentbench.turns import Unreadable
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong
from assay.core.quantities import format_duration
from assay.records import OutOfBudget

if TYPE_CHECKING:
    from assay.models import Reply

MAIN = "main"
SQUEEZES = 3


@dataclass(frozen=True)
class DraftConfig:
    """How scripts are written: what the model is told, how often it is asked, and how long a script may run."""

    bench: Workbench
    prompts: Prompts
    tries: int
    limit: Callable[[], float]


@dataclass(frozen=True)
class Written:
    """A node with its plan and script, without a script where the model gave none; and what was wrong with answers."""

    node: Node
    faults: tuple[str, ...] = ()


async def write_script(terms: DraftConfig, journal: Journal, node: Node) -> Written:
    """Have the script of a node that was chosen written."""
    faults: list[str] = []
    try:
        while len(faults) < terms.tries:
            reply = await _ask(terms, journal, node, faults)
            try:
                answer = read_answer(reply)
            except Unreadable as fault:
                faults.append(str(fault))
            else:
                return Written(node.model_copy(update={"plan": answer.plan, "code": answer.code}), tuple(faults))
        why = f"none of {terms.tries} answers could be read"
    except OutOfBudget as spent:
        why = f"the budget ended before there was an answer: {spent}"
    except PromptTooLong:
        why = "what the model would have to be told is too long for it"
    return Written(unanswered(node, why), tuple(faults))


async def _ask(terms: DraftConfig, journal: Journal, node: Node, faults: list[str]) -> "Reply":
    """One reply of the main model, told what was wrong with the last one, and as much of the past as it can take in."""
    texts, squeezed = terms.prompts.texts, 0
    complaint = f"\n\n{texts.fill('aide_complaint', fault=faults[-1])}" if faults else ""
    left = _left(terms)
    while True:
        messages = question(terms.prompts, journal, node, left, complaint, squeezed=squeezed)
        try:
            return await terms.bench.ask(MAIN, messages, lane=lane_of(node))
        except PromptTooLong:
            squeezed += 1
            if squeezed > SQUEEZES:
                raise


def _left(terms: DraftConfig) -> Left:
    clock, more = terms.bench.clock, left_for_models(terms.bench)
    return Left(
        steps_left=clock.steps_left + 1,
        time_left=format_duration(clock.seconds_left),
        limit=format_duration(terms.limit()),
        models=f" and with {' and '.join(more)} for models" if more else "",
    )
