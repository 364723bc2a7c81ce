"""What the nodes of a search were worth: what each said of itself, and what its submission scores on the answers."""

from pydantic import BaseModel, ConfigDict

from assay.agents.aide import read_journal
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading.result import Grade
from assay.records import TrialFolder, read_events
from assay.results.score_curve import grade_kept
from assay.tasks import Task


class NodeScore(BaseModel):
    """One node: `metric` is what its script claimed, `score` what it was worth; the gap between them is the point."""

    model_config = ConfigDict(frozen=True)

    id: int
    operator: str
    parents: tuple[int, ...]
    metric: float | None
    score: float | None
    best: bool
    why: str


def node_scores(folder: TrialFolder, task: Task, home: Home) -> list[NodeScore]:
    """Grade the submission of every node of a search that has a valid one; equal submissions are graded once.

    Nothing of it ever reaches the agent: it is done when the trial is over, and only for the record.
    """
    if task.timed:
        raise UsageError(f"{task.id} is judged by running what is handed in; its nodes cannot be graded afterwards")
    file, grades = folder.file, dict[str, Grade]()
    data = load_prepared(home, task, file.edition, file.variant)
    journal = read_journal(read_events(folder.events), task.metric.direction)
    scores = []
    for node in journal.nodes:
        if node.sha256 and node.sha256 not in grades:
            grades[node.sha256] = grade_kept(folder, node.sha256, task, data, home)
        scores.append(
            NodeScore(
                id=node.id,
                operator=node.operator,
                parents=node.parents,
                metric=node.metric,
                score=grades[node.sha256].score if node.sha256 else None,
                best=node is journal.best,
                why=node.failure,
            )
        )
    return scores
