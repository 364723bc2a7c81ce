"""How results were made, to be disclosed with them: models, limits, hardware, network, feedback, attempts, cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.core.text import plural
from assay.core.values import format_measured
from assay.results.frame import CONDITIONS, RuleSet, TrialRow, condition_of, group_by

_FEWEST = 2
_NETWORKS = {"none": "none", "models": "model providers only", "host": "open: the whole network"}


@dataclass(frozen=True)
class Disclosure:
    """What a reader must know about the trials of one agent; where trials differ, every value is listed.

    Seconds, tokens and cost are sums over trials, the cost in dollars; None where a price is unknown.
    """

    agent: str
    rules: RuleSet
    models: tuple[str, ...]
    settings: tuple[str, ...]
    dropped: tuple[str, ...]
    tools: tuple[str, ...]
    budget: tuple[str, ...]
    hardware: tuple[str, ...]
    internet: tuple[str, ...]
    sandbox: tuple[str, ...]
    environment: tuple[str, ...]
    description: tuple[str, ...]
    feedback: str
    attempts: str
    versions: tuple[str, ...]
    trials: int
    seconds: float
    tokens: int
    cost: float | None
    first_started: str | None
    last_ended: str | None
    load: float | None

    @property
    def facts(self) -> dict[str, str]:
        """What is said of it, by name."""
        period = " to ".join((time or "–")[:16].replace("T", " ") for time in (self.first_started, self.last_ended))
        cost = "cost unknown" if self.cost is None else f"cost ${self.cost:,.2f}"
        facts = {
            "Models": "; ".join(self.models) or "none",
            "Settings": ", ".join(self.settings) or "default",
            "Settings not sent": "; ".join(self.dropped),
            "Tools": ", ".join(self.tools) or "those of the agent",
            "Budget per trial": "; ".join(self.budget),
            "Hardware per trial": "; ".join(self.hardware),
            "Internet": "; ".join(self.internet),
            "Feedback from the test": self.feedback,
            "Attempts": self.attempts,
            "Sandbox": "; ".join(self.sandbox),
            "Environment": ", ".join(self.environment),
            "Description": ", ".join(self.description),
            "Versions and machine": ", ".join(self.versions) or "not recorded",
            "Used": f"{plural(self.trials, 'trial')}, {format_measured(self.seconds)}"
            + (f", {self.tokens:,} tokens, {cost}" if self.tokens else ""),
            "Period": f"{period} UTC" + (f", load up to {self.load:.1f} per core" if self.load is not None else ""),
        }
        return {name: value for name, value in facts.items() if value}


def find_shared_facts(disclosures: Sequence[Disclosure]) -> dict[str, str]:
    """Return what is the same of all of several agents."""
    if len(disclosures) < _FEWEST:
        return {}
    first, *others = (disclosure.facts for disclosure in disclosures)
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def disclose_agents(rows: Sequence[TrialRow]) -> list[Disclosure]:
    """Return a disclosure for each agent under each set of rules."""
    return [_disclose(trials) for trials in group_by(rows, lambda row: (row.rules, row.agent))]


def _disclose(rows: Sequence[TrialRow]) -> Disclosure:
    records = [row.record for row in rows if row.record]
    files, states = [record.file for record in records], [record.state for record in records]
    conditions = [{name: condition_of(row, name) for name in CONDITIONS} for row in rows]
    costs = [state.cost for state in states]
    return Disclosure(
        agent=rows[0].agent,
        rules=rows[0].rules,
        models=_distinct(f"{role}: {model}" for file in files for role, model in file.models.items()),
        settings=_distinct(
            f"{name}={value}" for file in files for name, value in {**file.settings, **file.model_settings}.items()
        ),
        dropped=_distinct(
            f"{role}: {', '.join(names)}" for file in files for role, names in file.dropped_settings.items()
        ),
        tools=_distinct(file.tools for file in files if file.tools),
        budget=_distinct(each["budget"] for each in conditions),
        hardware=_distinct(each["hardware"] for each in conditions),
        internet=_distinct(
            _NETWORKS[state.sealing.network if state.sealing else file.network]
            for file, state in zip(files, states, strict=True)
        ),
        sandbox=_distinct(
            f"{file.sandbox}, {each['sealing']}" + ("" if file.layout == "workspace" else f", layout {file.layout}")
            for file, each in zip(files, conditions, strict=True)
        ),
        environment=_distinct(file.environment_from or file.environment for file in files),
        description=_distinct(each["description"] for each in conditions),
        feedback=_describe_feedback(rows),
        attempts=_describe_attempts(rows),
        versions=_distinct(f"{name} {version}" for file in files for name, version in file.versions.items()),
        trials=len(rows),
        seconds=sum(state.elapsed for state in states),
        tokens=sum(state.tokens for state in states),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        first_started=min((state.started_at for state in states if state.started_at), default=None),
        last_ended=max((state.ended_at for state in states if state.ended_at), default=None),
        load=max((state.load for state in states if state.load is not None), default=None),
    )


def _describe_feedback(rows: Sequence[TrialRow]) -> str:
    """Return what agents could learn about the hidden test data."""
    if any(row.unsealed for row in rows):
        return "the answers were within reach, because a lab was not sealed"
    selections = sorted({condition_of(row, "selection") for row in rows} - {"own", "unknown"})
    if selections:
        return f"no score on test rows; selection on hidden training rows: {', '.join(selections)}"
    if any(row.imported for row in rows):
        return "unknown"
    checks = fmean(row.validations or 0 for row in rows)
    used = f", used {checks:.1f} times per trial" if checks else ""
    return f"no score; only whether the format of a submission is valid{used}"


def _describe_attempts(rows: Sequence[TrialRow]) -> str:
    """Return how many attempts each task has, and which of them do not count."""
    counts = Counter(row.task for row in rows if row.counts).values()
    fewest, most = min(counts, default=0), max(counts, default=0)
    text = f"{plural(most, 'attempt')} per task" if fewest == most else f"{fewest} to {most} attempts per task"
    rerun, forks = sum(row.replaced or row.repeated for row in rows), sum(row.parent is not None for row in rows)
    text += f", {plural(rerun, 'trial')} rerun" if rerun else ""
    return text + (f", {plural(forks, 'fork')} not counted" if forks else "")


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
