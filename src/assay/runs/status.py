"""The progress of a run: the state of each trial, and their total usage."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from assay.records import RunFolder, TrialFolder, TrialSummary, name_agents, read_trials
from assay.records.events import describe_event
from assay.records.lease import appears_held, newest_claim
from assay.records.log import read_events_backwards
from assay.records.state import Cause, Status
from assay.runs.spent import read_budget_used

Stage = Status | Literal["interrupted", "grading"]

_OVER = ("done", "failed", "inapplicable")


@dataclass(frozen=True)
class TrialStatus:
    """The state of one trial. `interrupted` means that its process is gone; `assay resume` continues it.

    `failure` is what it failed by, such as `out of time`, if that is the agent's part. `node` is the machine that it is
    running on.
    """

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
    score: float | None = None
    doing: str = ""
    failure: str | None = None
    node: str | None = None

    @property
    def time_left(self) -> float:
        """Seconds left of its time budget."""
        return 0.0 if self.stage in (*_OVER, "submitted", "grading") else max(0.0, self.time - self.elapsed)


@dataclass(frozen=True)
class RunStatus:
    """The states of all trials of a run."""

    name: str
    trials: tuple[TrialStatus, ...]

    @property
    def stages(self) -> dict[str, int]:
        """The number of trials at each stage."""
        return dict(Counter(trial.stage for trial in self.trials))

    @property
    def failed(self) -> dict[str, int]:
        """The number of failed trials by cause."""
        return dict(Counter(str(trial.cause) for trial in self.trials if trial.stage == "failed"))

    @property
    def over(self) -> bool:
        """Whether no trial is running or queued."""
        return all(trial.stage in (*_OVER, "stopped") for trial in self.trials)

    @property
    def elapsed(self) -> float:
        """Total seconds that trials have run."""
        return sum(trial.elapsed for trial in self.trials)

    @property
    def time_left(self) -> float:
        """Maximum seconds until the end, if as many trials keep running at once as now."""
        return sum(trial.time_left for trial in self.trials) / max(1, self.stages.get("running", 0))

    @property
    def tokens(self) -> int:
        """Total tokens used."""
        return sum(trial.tokens for trial in self.trials)

    @property
    def cost(self) -> float:
        """Total cost in dollars, as far as prices are known."""
        return sum(trial.cost or 0.0 for trial in self.trials)

    @property
    def unpriced(self) -> int:
        """The number of trials that used a model without a known price."""
        return sum(trial.cost is None for trial in self.trials)


def read_status(run: RunFolder, now: datetime, known: dict[str, TrialStatus] | None = None) -> RunStatus:
    """Read the status of a run. Finished trials are added to `known`, and not read again if they are in it.

    Agents have the labels of their plans; `read_named_status` tells their versions apart.
    """
    known = {} if known is None else known
    folders = list(run.trials())
    statuses = dict(known)
    for trial in read_trials(run, [folder for folder in folders if folder.path.name not in known]):
        status = describe_trial(trial, now)
        if status.stage in ("done", "inapplicable"):
            known[status.trial] = status
        statuses[status.trial] = status
    return RunStatus(run.name, tuple(statuses[folder.path.name] for folder in folders))


def read_named_status(run: RunFolder, now: datetime) -> RunStatus:
    """Read the status of a run, with the names that reports use, which tell versions of an agent apart."""
    trials = read_trials(run)
    labels = name_agents(trials)
    return RunStatus(run.name, tuple(describe_trial(trial, now, labels[trial.plan]) for trial in trials))


def tail_log(folder: TrialFolder, count: int) -> list[str]:
    """Return the last events of a trial, one line each; text written by agents is not escaped."""
    lines = []
    for event in read_events_backwards(folder.events):
        time = event.time.isoformat(timespec="milliseconds")
        lines.append(f"{time}  {event.kind}  {describe_event(event)}".rstrip())
        if len(lines) == count:
            break
    return lines[::-1]


def describe_trial(trial: TrialSummary, now: datetime, agent: str | None = None) -> TrialStatus:
    """Return the state of a trial; `agent` is its name where that is not its label."""
    folder, file, state = trial.folder, trial.file, trial.state
    stage: Stage = state.status
    doing = ""
    elapsed, steps, tokens, cost = state.elapsed, state.steps, state.tokens, state.cost
    if not state.final and folder.has_log:
        so_far = read_budget_used(folder)
        used = so_far.used
        elapsed, steps, tokens, cost = used.elapsed, used.steps, used.tokens, used.cost
        if appears_held(folder.path) and folder.submission_entry:
            stage = "grading"  # the agent's clock has stopped
        elif appears_held(folder.path):
            stage = "running"
            elapsed += (now - so_far.at).total_seconds() if so_far.at else 0.0
            doing = state.reason or next((line.split("  ", 2)[-1] for line in tail_log(folder, 1)), "")
        elif stage in ("running", "waiting"):
            stage = "interrupted"
    return TrialStatus(
        trial=folder.path.name,
        task=file.task,
        agent=agent or file.label,
        seed=file.seed,
        stage=stage,
        cause=state.cause if stage in ("failed", "stopped") else None,
        why=state.reason if stage in ("failed", "stopped", "inapplicable") else None,
        elapsed=round(max(0.0, elapsed), 1),
        time=file.budget.time,
        steps=steps,
        tokens=tokens,
        cost=cost,
        attempts=folder.attempts,
        score=trial.grade.score if stage == "done" and trial.grade else None,
        doing=doing,
        failure=state.failure if stage == "failed" and state.cause == "agent" else None,
        node=_find_node(folder) if stage in ("running", "grading") else None,
    )


def _find_node(folder: TrialFolder) -> str | None:
    claim = newest_claim(folder.path)
    return claim.machine.split()[0] if claim and claim.machine else None


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)
