"""The parity file of a Harbor adapter: the rewards of jobs beside the scores of `assay grade` for the same submissions.

`python -m assay.interop.harbor.parity JOBS… > parity_experiment.json` grades the submissions that Harbor collected once
more, outside of Harbor. Scores that are measurements of time differ by noise, and are listed apart.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from assay import __version__
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.untrusted import read_json, read_plain
from assay.data.store import load_prepared
from assay.grading.grade import grade_submission
from assay.grading.result import Grade
from assay.tasks import Registry

TOLERANCE = 1e-9


@dataclass(frozen=True)
class GradedTwice:
    """A trial with its score under Harbor and that of `assay grade`; None where there is no finite one."""

    task: str
    suite: str
    agent: str
    reward: float
    harbor: float | None
    own: float | None
    timed: bool

    @property
    def agrees(self) -> bool:
        """Whether both scores are equal, to within rounding."""
        if self.harbor is None or self.own is None:
            return self.harbor is self.own
        return self.timed or abs(self.harbor - self.own) <= TOLERANCE * max(1.0, abs(self.own))


def grade_again(jobs: Sequence[Path], home: Home) -> Iterator[GradedTwice]:
    """Grade the submissions of all finished trials of jobs once more."""
    registry = Registry()
    for path in sorted(result for job in jobs for result in job.rglob("result.json")):
        result = read_json(path)
        rewards = (result.get("verifier_result") or {}).get("rewards")
        if not rewards or not (path.parent / "verifier" / "grade.json").is_file():
            continue
        before = Grade.model_validate(read_json(path.parent / "verifier" / "grade.json"))
        task = registry.task(before.task)
        file = path.parent / "artifacts" / "workspace" / task.submission.file
        content = read_plain(file, task.submission.max_size) if file.is_file() else None
        prepared = load_prepared(home, task, before.edition, before.variant)
        again = grade_submission(content, prepared, home=home)
        yield GradedTwice(
            task.id, task.suite, result["agent_info"]["name"], rewards["reward"], rewards.get("score"), again.score,
            timed=not again.deterministic,
        )  # fmt: skip


def make_parity(trials: Sequence[GradedTwice]) -> list[dict[str, Any]]:
    """Return the content of the parity file: an experiment for each agent, a metric for each suite."""
    by_agent: dict[str, list[GradedTwice]] = defaultdict(list)
    for trial in trials:
        by_agent[trial.agent].append(trial)
    return [
        {
            "adapter_name": "assay",
            "agent": agent,
            "model": None,
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "adapted_benchmark_size": len({trial.task for trial in trials}),
            "parity_benchmark_size": len(own),
            "number_of_runs": 1,
            "notes": _describe(own),
            "original_parity_repo": None,
            "adapter_pr": [],
            "dataset_pr": [],
            "parity_pr": [],
            "metrics": [_metric(suite, own) for suite in sorted({trial.suite for trial in own})],
        }
        for agent, own in by_agent.items()
    ]


def _metric(suite: str, trials: Sequence[GradedTwice]) -> dict[str, Any]:
    """Return the mean score of a suite on both sides, over the tasks with a score that is not a measured time."""
    both = [t for t in trials if t.suite == suite and t.own is not None and t.harbor is not None and not t.timed]
    original, harbor = [t.own for t in both if t.own is not None], [t.harbor for t in both if t.harbor is not None]
    return {
        "benchmark_name": suite,
        "metric": "score of assay grade",
        "original": _mean(original),
        "harbor": _mean(harbor),
        "original_runs": original,
        "harbor_runs": harbor,
        "tasks": [trial.task for trial in both],
    }


def _mean(scores: Sequence[float]) -> str | None:
    if not scores:
        return None
    error = stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
    return f"{fmean(scores):.6g} +/- {error:.3g}"


def _describe(trials: Sequence[GradedTwice]) -> str:
    different = [trial.task for trial in trials if not trial.agrees]
    timed = sum(trial.timed for trial in trials)
    text = f"Assay {__version__}: {len(trials) - len(different)} of {len(trials)} submissions have the score of "
    text += f"assay grade to {TOLERANCE:g}" + (f"; {timed} are measured times" if timed else "")
    return text + (f"; different: {', '.join(different)}" if different else "")


def main(jobs: Sequence[str]) -> int:
    """Print the parity file of jobs; 1 if a score differs."""
    if not jobs:
        raise UsageError("No job folder; pass one or more")
    trials = list(grade_again([Path(job) for job in jobs], Home.default()))
    sys.stdout.write(json.dumps(make_parity(trials), indent=2) + "\n")
    return 0 if trials and all(trial.agrees for trial in trials) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
