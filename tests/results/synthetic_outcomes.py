"""Synthetic outcomes that look like real ones."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from assay.grading.result import Grade
from assay.results.frame import TrialRow
from assay.tasks.model import Measured, Solution

MADE_AT = datetime(2026, 10, 26, 14, 3, tzinfo=UTC)

TASKS = {
    "pocket/digits": ("Handwritten digits", "accuracy", "higher", 0.9167),
    "pocket/house-price": ("House prices", "rmsle", "lower", 0.1873),
    "pocket/spaceship-titanic": ("Spaceship Titanic", "accuracy", "higher", 0.7712),
    "pocket/vectorization": ("Vectorization", "speedup", "higher", 1.0),
}
PANELS = {
    "pocket/digits": (0.101, 0.842, 0.889, 0.917, 0.936, 0.947, 0.956, 0.961, 0.969, 0.972, 0.975, 0.983, 0.989),
    "pocket/house-price": (0.398, 0.241, 0.214, 0.187, 0.166, 0.158, 0.151, 0.147, 0.143, 0.140, 0.136, 0.132, 0.128),
    "pocket/spaceship-titanic": (0.503, 0.73, 0.759, 0.771, 0.779, 0.785, 0.789, 0.793, 0.796, 0.8, 0.803, 0.807, 0.81),
    "pocket/vectorization": (0.71, 1.0, 1.9, 3.2, 5.8, 8.4, 11.0, 14.5, 19.0, 23.0, 31.0, 42.0, 55.0),
}
SKILL = {"starter": 0.0, "automl": 0.8}


def grade(task: str, score: float | None, **fields: object) -> Grade:
    """A grade as the grader would give it: rank in the panel, improvement over the starter, success above 10%."""
    _, _, direction, baseline = TASKS[task]
    lower = direction == "lower"
    graded = Grade(
        competition_id=task.partition("/")[2],
        score=score,
        gold_threshold=None,
        silver_threshold=None,
        bronze_threshold=None,
        median_threshold=None,
        any_medal=False,
        gold_medal=False,
        silver_medal=False,
        bronze_medal=False,
        above_median=False,
        submission_exists=True,
        valid_submission=score is not None,
        is_lower_better=lower,
        created_at=MADE_AT.isoformat(),
        submission_path="submission.csv",
        task=task,
        edition="v1",
        variant="real",
        baseline=baseline,
        success=False,
        success_published=False,
        sealed=True,
    )
    if score is not None:
        improvement = (baseline - score if lower else score - baseline) / baseline
        better = sum(other < score if lower else other > score for other in PANELS[task])
        graded = graded.model_copy(
            update={
                "rank": better + 1,
                "panel_size": len(PANELS[task]),
                "improvement": improvement,
                "success": improvement > 0.1,
                "success_published": improvement > 0.1,
            }
        )
    return graded.model_copy(update=fields)


def outcome(
    task: str = "pocket/digits", agent: str = "starter", seed: int = 0, score: float | None = 0.9, **fields: object
) -> TrialRow:
    """A valid trial, unless `fields` say otherwise."""
    title, metric, direction, _ = TASKS[task]
    row = TrialRow(
        task=task,
        title=title,
        metric=metric,
        direction=direction,  # type: ignore[arg-type]
        agent=agent,
        seed=seed,
        edition="v1",
        variant="real",
        status="done",
        cause=None,
        why=None,
        grade=grade(task, score),
        elapsed=12.0 + 7 * seed,
        steps=2,
        sealed=True,
    )
    return replace(row, **fields)  # type: ignore[arg-type]


def inapplicable(task: str, agent: str, seed: int = 0) -> TrialRow:
    """A trial of an agent that cannot work on the task."""
    why = "automl reads tables and images, and this task hands it code"
    return outcome(task, agent, seed, status="inapplicable", why=why, grade=None, elapsed=0.0, steps=0)


def failed(
    task: str, agent: str, seed: int, cause: str = "agent", why: str = "python train.py ended with exit code 1"
) -> TrialRow:
    """A trial that crashed."""
    return outcome(task, agent, seed, status="failed", cause=cause, why=why, grade=None)


def run(agents: Sequence[str] = ("starter", "automl"), seeds: int = 3) -> list[TrialRow]:
    """A whole run of the pocket suite; `automl` does not apply to vectorization."""
    chance = random.Random(7)
    rows = []
    for task in TASKS:
        for number, agent in enumerate(agents):
            for seed in range(seeds):
                if (task, agent) == ("pocket/vectorization", "automl"):
                    rows.append(inapplicable(task, agent, seed))
                else:
                    skill = SKILL.get(agent, 0.15 + 0.8 * ((number * 5) % 8) / 8)
                    rows.append(outcome(task, agent, seed, _score(task, skill, chance)))
    return rows


def changed(outcomes: Sequence[TrialRow], where: Callable[[TrialRow], bool], **fields: object) -> list[TrialRow]:
    """The same outcomes with some of them changed."""
    return [replace(row, **fields) if where(row) else row for row in outcomes]  # type: ignore[arg-type]


def panels() -> dict[str, Measured]:
    """The measured figures of every task."""
    return {
        task: Measured(
            date=date(2026, 10, 1),
            edition="v1",
            versions={"python": "3.11"},
            baseline=TASKS[task][3],
            baseline_spread=0.001,
            baseline_seeds=5,
            panel=tuple(Solution(name=f"solution {n}", score=score, seconds=3.0) for n, score in enumerate(scores)),
        )
        for task, scores in PANELS.items()
    }


def _score(task: str, skill: float, chance: random.Random) -> float:
    _, _, _, baseline = TASKS[task]
    best = PANELS[task][-1]
    if task == "pocket/vectorization":
        return baseline * (best / baseline) ** skill * chance.uniform(0.9, 1.12)
    return baseline + (best - baseline) * (skill + chance.uniform(-0.09, 0.09))
