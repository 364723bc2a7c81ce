"""What came of an action: what the agent is told, and for the record why it failed if it did."""

from dataclasses import dataclass
from typing import Literal

Cause = Literal[
    "format", "arguments", "refused", "crash", "time", "memory", "disk", "output", "connection", "too long", "budget"
]
"""Why an action failed.

`format` is a reply nobody can read, `arguments` an action that does not exist or is called wrongly, `refused` one that
is not allowed or has nothing to act on, `crash` a script's own fault; `time`, `memory`, `disk` and `output` are limits
of the lab, `connection` a model that could not be asked, `too long` more text than a model can take in or give out, and
`budget` the end of the trial in the middle of an action.
"""


@dataclass(frozen=True)
class Observation:
    """What an action led to; `cause` is None where it succeeded."""

    text: str
    cause: Cause | None = None


class ActionFailed(Exception):
    """An action came to nothing, for a cause that an agent is told and may do something about."""

    def __init__(self, cause: Cause, text: str) -> None:
        super().__init__(text)
        self.observation = Observation(text, cause)
