"""How long comparing ten agents takes: 10,500 trials on 75 tasks, by success and by a continuous measure.

The trials are made up in memory, so that only the comparison is measured: all 45 pairs on these tasks and on tasks like
these, with intervals, ranks and the probability of being best. Measured is the CPU time.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
from collections.abc import Iterator

import numpy as np
from figures import report

from assay.grading.result import Grade
from assay.results.frame import CONDITIONS, Frame, TrialRow
from assay.results.measures import Measure
from assay.results.paired import compare_agents, select_trials

AGENTS, TASKS, SEEDS = 10, 75, 14
GOAL = 2.0


def make_trials(random: np.random.Generator) -> Iterator[TrialRow]:
    """Trials with the success rates by task of a published row of MLE-bench, and scores around them."""
    conditions = dict.fromkeys(CONDITIONS, "the same")
    for task, rate in enumerate(random.beta(0.125, 0.16, TASKS)):
        for agent in range(AGENTS):
            for seed in range(SEEDS):
                score = float(np.clip(rate + random.normal(0, 0.1), 0, 1))
                grade = Grade.model_construct(
                    score=score, valid_submission=True, is_lower_better=False, baseline=0.5,
                    success=bool(random.random() < rate),
                )  # fmt: skip
                yield TrialRow(
                    task=f"bench/{task}",
                    title=str(task),
                    metric="accuracy",
                    direction="higher",
                    agent=f"agent {agent}",
                    seed=seed,
                    edition="v1",
                    variant="real",
                    status="done",
                    cause=None,
                    why=None,
                    grade=grade,
                    elapsed=1.0,
                    steps=1,
                    sealed=True,
                    trial=f"{task}-{agent}-{seed}",
                    conditions=conditions,
                )


def main() -> None:
    """Compare and report."""
    trials = select_trials(Frame(make_trials(np.random.default_rng(0))))
    measures: tuple[Measure, ...] = ("success", "improvement")
    for measure in measures:
        start = time.process_time()
        (comparison,) = compare_agents(trials, measure=measure)
        seconds = time.process_time() - start
        assert len(comparison.pairs) == AGENTS * (AGENTS - 1) // 2
        name = f"{len(trials):,} trials of {AGENTS} agents compared by {measure}"
        report(name, f"{seconds:.2f} s of CPU", seconds / GOAL, f"{GOAL:g} s", 1.0)


if __name__ == "__main__":
    main()
