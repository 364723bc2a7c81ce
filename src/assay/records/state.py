"""How far a trial has come and what it submitted: `state.json` and `submission/manifest.json`."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from assay.core.quantities import BoundedInt, FileName, FiniteFloat, Model, Sha256, Timestamp
from assay.lab.interface import Sealing
from assay.records.budget import BudgetUsed

Status = Literal["waiting", "running", "submitted", "done", "failed", "inapplicable", "stopped"]
Cause = Literal["agent", "infrastructure", "user"]
Failure = Literal[
    "crash",
    "out of time",
    "out of steps",
    "out of tokens",
    "out of money",
    "out of memory",
    "out of disk space",
    "too much output",
    "failed command",
    "no submission",
    "invalid submission",
    "failed rerun",
]
"""What kept an agent from a valid submission."""
AnswerAccess = Literal["withheld", "within reach"]
"""Whether anything derived from the hidden answers could have been read while the agent worked.

Scores are never shown during a trial, so answers are within reach only in a lab that is not sealed.
"""

Selection = Literal["own", "hidden", "report"]
"""Who picks the final submission: the agent; the harness, on hidden rows; the agent, with the harness's recorded."""
Feedback = Literal["nothing", "rank", "score"]
"""What an agent is told about a candidate that it offers."""


Keep = Literal["all", "best", "last"]
"""Which submissions stay in the record of a trial that has ended, besides the final one: all; the best one by the
agent's own metric; or only the final one."""

SubmitMode = Literal["file", "code"]
"""What an agent submits: the file that is graded, or code that the harness runs to make it."""


class State(Model):
    """`state.json`: how far a trial has come. It follows from the log and can be rebuilt from it.

    `cause` says who is responsible for a failure, `failure` is the kind of an agent's failure, `error_type` the class
    of the error, and `reason` explains it. `load` is the maximum number of runnable processes per core of the machine,
    `cores` and `memory` what the lab really had.
    """

    format: Literal["state/2"] = "state/2"
    status: Status = "waiting"
    cause: Cause | None = None
    failure: Failure | None = None
    error_type: str | None = None
    reason: str | None = None
    epoch: int = 0
    elapsed: FiniteFloat = 0.0
    waited: FiniteFloat = 0.0
    steps: BoundedInt = 0
    tokens: BoundedInt = 0
    cost: FiniteFloat | None = 0.0
    validations: BoundedInt = 0
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    sealing: Sealing | None = None
    answers: AnswerAccess | None = None
    load: float | None = None
    processor: str | None = None
    gpu_model: str | None = None
    cores: BoundedInt | None = None
    memory: BoundedInt | None = None

    @property
    def final(self) -> bool:
        """Whether nothing is left to do: done, inapplicable, or failed because of the agent."""
        return self.status in ("done", "inapplicable") or (self.status == "failed" and self.cause == "agent")

    @property
    def used(self) -> BudgetUsed:
        """What the trial has used of its budget."""
        return BudgetUsed(
            elapsed=self.elapsed, waited=self.waited, steps=self.steps, tokens=self.tokens, cost=self.cost
        )


class SubmissionEntry(Model):
    """`submission/manifest.json`: the file that was submitted, or the reason why there is none."""

    format: Literal["submission/2"] = "submission/2"
    at: Timestamp
    file: FileName | None = None
    size: Annotated[int, Field(ge=0)] | None = None
    sha256: Sha256 | None = None
    reason: str | None = None


def now() -> str:
    """Return the current date and time with its time zone, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
