"""The nodes of a search: the metric that each one claims, and the score of its submission."""

from pydantic import BaseModel, ConfigDict

from assay.core.home import Home
from assay.records import TrialFolder, read_events, read_journal
from assay.results.score_curve import SnapshotGrader
from assay.tasks import Task


class NodeScore(BaseModel):
    """One node: `metric` is what its script claimed, `score` what its submission scores."""

    model_config = ConfigDict(frozen=True)

    id: int
    operator: str
    parents: tuple[int, ...]
    metric: float | None
    score: float | None
    best: bool
    why: str


def grade_nodes(folder: TrialFolder, task: Task, home: Home) -> list[NodeScore]:
    """Grade the valid submission of every node of a search; equal submissions are graded once.

    The agent never sees these grades: they are computed after the trial has ended.
    """
    grader = SnapshotGrader(folder, task, home)
    journal = read_journal(read_events(folder.events), task.metric.direction)
    return [
        NodeScore(
            id=node.id,
            operator=node.operator,
            parents=node.parents,
            metric=node.metric,
            score=grader.grade(node.submission).score if node.submission else None,
            best=node is journal.best,
            why=node.reason,
        )
        for node in journal.nodes
    ]
