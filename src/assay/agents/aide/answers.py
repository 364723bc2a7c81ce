"""A model's answer to what is asked of it in a search: a short plan, and one script."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.agents.mlagentbench.actions.edits import fenced
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.mlagentbench.turns import Unreadable
from assay.agents.observation import ActionFailed

if TYPE_CHECKING:
    from assay.models import Reply

_PLAN = 2_000
FORM = (
    "It must be a short plan in plain words and then exactly one block of code, between a line ```python and a line "
    "``` (use four backticks if the script itself has such lines)."
)


@dataclass(frozen=True)
class Answer:
    """What a model wants to try: in words, and as a script."""

    plan: str
    code: str


def read_answer(reply: "Reply") -> Answer:
    """The plan and the script of a reply; `Unreadable` says what the reply should have been."""
    try:
        code = fenced(reply)
    except ActionFailed as failure:
        cut = failure.observation.cause == "too long"
        raise Unreadable("It was cut off because it was too long; write a shorter script." if cut else FORM) from None
    if not code.strip():
        raise Unreadable(f"The block of code is empty. {FORM}")
    plan = re.split(r"^[ \t]*`{3,}", reply.message.text, maxsplit=1, flags=re.MULTILINE)[0].strip()
    return Answer(shortened(plan, _PLAN) or "(no plan was given)", code)
