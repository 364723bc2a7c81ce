"""How far a run has come: each trial's state, and what they have used up together."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from assay.records import RunFolder, TrialFolder
from assay.records.lease import seems_held
from assay.records.trial import Cause, Status
from assay.runs.spent import events_backwards, used_so_far

Stage = Status | Literal["interrupted"]

_OVER = ("done", "failed", "inapplicable")


@dataclass(frozen=True)
class TrialStatus:
    """How far one trial has come. `interrupted` is one whose process is gone; `assay resume` goes on with it."""

    trial: str
    task: str
    agent: str
    seed: int
    stage: Stage
    cause: Cause | None
    why: str | None
    elapsed: float
    time: float
    steps: int
    tokens: int
    cost: float | None
    attempts: int

    @property
    def left(self) -> float:
        """Seconds it may still take, if it uses all of its budget."""
        return 0.0 if self.stage in (*_OVER, "submitted") else max(0.0, self.time - self.elapsed)


@dataclass(frozen=True)
class RunStatus:
    """How far all trials of a run have come."""

    name: str
    trials: tuple[TrialStatus, ...]

    @property
    def stages(self) -> dict[str, int]:
        """How many trials are at each stage."""
        return dict(Counter(trial.stage for trial in self.trials))

    @property
    def failed(self) -> dict[str, int]:
        """How many failed, by whose fault."""
        return dict(Counter(str(trial.cause) for trial in self.trials if trial.stage == "failed"))

    @property
    def over(self) -> bool:
        """Whether no trial is running or waiting."""
        return all(trial.stage in (*_OVER, "stopped") for trial in self.trials)

    @property
    def elapsed(self) -> float:
        """Seconds that all trials have worked, added up."""
        return sum(trial.elapsed for trial in self.trials)

    @property
    def left(self) -> float:
        """Seconds until the end, at most, if as many trials go on at once as do now."""
        return sum(trial.left for trial in self.trials) / max(1, self.stages.get("running", 0))

    @property
    def tokens(self) -> int:
        """Tokens that all models have used."""
        return sum(trial.tokens for trial in self.trials)

    @property
    def cost(self) -> float:
        """Dollars spent, as far as prices are known."""
        return sum(trial.cost or 0.0 for trial in self.trials)

    @property
    def unpriced(self) -> int:
        """How many trials asked a model whose price is not known."""
        return sum(trial.cost is None for trial in self.trials)


def read_status(run: RunFolder, now: datetime, known: dict[str, TrialStatus] | None = None) -> RunStatus:
    """The status of a run; trials in `known` are over and not read again, and those found to be over join them."""
    known = {} if known is None else known
    trials = []
    for folder in run.trials():
        name = folder.path.name
        status = known.get(name) or _status_of(folder, now)
        if status.stage in ("done", "inapplicable"):
            known[name] = status
        trials.append(status)
    return RunStatus(run.name, tuple(trials))


def tail_log(folder: TrialFolder, count: int) -> list[str]:
    """The last events of a trial, a line each and in order; what agents wrote is in them as it is."""
    found = []
    for event in events_backwards(folder):
        found.append(f"{event['time']}  {event['kind']}  {_told(event)}".rstrip())
        if len(found) == count:
            break
    return found[::-1]


def _status_of(folder: TrialFolder, now: datetime) -> TrialStatus:
    file, state = folder.file, folder.state
    stage: Stage = state.status
    elapsed, steps, tokens, cost = state.elapsed, state.steps, state.tokens, state.cost
    if not state.final and folder.events.exists():
        used = used_so_far(folder)
        elapsed, steps, tokens, cost = used.elapsed, used.steps, used.tokens, used.cost
        if seems_held(folder.path):
            stage = "running"
            elapsed += (now - used.at).total_seconds() if used.at else 0.0
        elif stage in ("running", "waiting"):
            stage = "interrupted"
    return TrialStatus(
        trial=folder.path.name,
        task=file.task,
        agent=file.label,
        seed=file.seed,
        stage=stage,
        cause=state.cause if stage in ("failed", "stopped") else None,
        why=state.why if stage in ("failed", "stopped", "inapplicable") else None,
        elapsed=round(max(0.0, elapsed), 1),
        time=file.budget.time,
        steps=steps,
        tokens=tokens,
        cost=cost,
        attempts=folder.attempts,
    )


def _told(event: dict[str, Any]) -> str:
    """What an event says, as far as a line has room for it."""
    result, request = event.get("result") or {}, event.get("request") or {}
    command = request.get("command", "")
    parts = [
        event.get("what"),
        request.get("name") or request.get("path"),
        command if isinstance(command, str) else " ".join(map(str, command)),
        f"exit code {result['code']}" if "code" in result else None,
        result.get("observation") or result.get("stdout") or result.get("stderr"),
        (result.get("message") or {}).get("text") if isinstance(result.get("message"), dict) else None,
        event.get("why"),
        str((event.get("grade") or {}).get("score")) if event["kind"] == "graded" else None,
    ]
    return "  ".join(str(part).strip() for part in parts if part)


def utc_now() -> datetime:
    """The time on this machine's clock."""
    return datetime.now(UTC)
