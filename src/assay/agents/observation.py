"""The result of an action: what the agent is shown and, for the record, why the action failed if it did."""

from dataclasses import dataclass

from assay.records.events import FailureCause


@dataclass(frozen=True)
class Observation:
    """What an action led to; `cause` is None if it succeeded."""

    text: str
    cause: FailureCause | None = None


class ActionFailed(Exception):
    """An action failed for a cause that the agent is shown and can react to."""

    def __init__(self, cause: FailureCause, text: str) -> None:
        super().__init__(text)
        self.observation = Observation(text, cause)
