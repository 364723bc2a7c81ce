"""Any agent can record a search: `examples/random_search.py` gets a tree, scores of nodes and an oracle curve."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.records import RunFolder, TrialFolder, read_events, read_journal
from assay.records.events import CallFinished, CallStarted, NodeRequest, Restarted, SearchNode
from assay.records.search import find_submissions
from assay.results.progress import reach, read_progress
from assay.results.search_tree import collect_trees
from assay.runs.plan import Plan
from assay.runs.trial import run_trial
from assay.tasks import Registry

AGENT = f"{Path(__file__).parents[2] / 'examples' / 'random_search.py'}:RandomSearch"
HOUSES = Registry().task("pocket/house-price")


@pytest.fixture(scope="module")
def search(pocket_home, tmp_path_factory) -> RunFolder:
    """A finished run of the random search with three pipelines."""
    plan = Plan(tasks=(HOUSES,), agents=((AGENT, {"steps": 3}),), budget={"steps": 3, "time": 300.0})
    run = RunFolder(tmp_path_factory.mktemp("search") / "run")
    run.add(plan.trials(pocket_home))
    (trial,) = run.trials()
    run_trial(trial.path, pocket_home)
    assert trial.state.status == "done", trial.state.reason
    return run


def journal(trial: TrialFolder):
    return read_journal(read_events(trial.events), HOUSES.metric.direction)


@pytest.mark.slow
def test_the_report_has_the_tree_of_any_agent_that_records_nodes(search):
    (tree,) = collect_trees(search)
    assert [(entry.node.id, entry.node.operator, entry.depth) for entry in tree.nodes] == [
        (0, "draft", 0), (1, "draft", 0), (2, "draft", 0),
    ]  # fmt: skip
    assert sum(entry.kind == "best-node" for entry in tree.nodes) == 1


@pytest.mark.slow
def test_its_nodes_can_be_graded_and_its_own_best_is_what_it_submitted(search, pocket_home):
    (trial,) = search.trials()
    nodes = journal(trial)
    scores = {row.node: row.score for row in read_progress(trial, HOUSES, pocket_home)}
    assert sorted(scores) == [0, 1, 2] and len(set(scores.values())) == 3
    assert nodes.best.metric == min(node.metric for node in nodes.nodes)
    assert scores[nodes.best.id] == trial.grade.score


@pytest.mark.slow
def test_its_oracle_is_the_best_of_all_nodes_after_each_step(search, pocket_home):
    (trial,) = search.trials()
    rows = read_progress(trial, HOUSES, pocket_home)
    scores = {row.node: row.score for row in rows}
    # A lower error is better.
    expected = [min(scores[node] for node in range(step)) for step in (1, 2, 3)]
    assert [best.score for _, best in reach(rows, "steps", [1, 2, 3])] == expected


@pytest.mark.slow
def test_an_interrupted_search_resumes_to_the_same_nodes(search, pocket_home):
    (trial,) = search.trials()
    before, score = journal(trial), trial.grade.score
    events = read_events(trial.events)
    second = [event.number for event in events if isinstance(event, CallStarted) and event.request.type == "node"][1]
    lines = trial.events.read_bytes().splitlines(keepends=True)
    trial.events.write_bytes(b"".join(lines[: second + 1]))
    for derived in ("state.json", "grade.json", "submission/manifest.json"):
        (trial.path / derived).unlink()
    run_trial(trial.path, pocket_home)
    after = read_events(trial.events)
    assert not any(isinstance(event, Restarted) for event in after)
    assert journal(trial) == before and trial.grade.score == score


def recorded(*nodes: SearchNode) -> list[CallStarted]:
    return [CallStarted(step=1, request=NodeRequest(node=node), number=n) for n, node in enumerate(nodes)]


def test_a_node_recorded_again_replaces_the_earlier_one():
    draft = SearchNode(id=0, operator="draft", status="good", metric=0.5)
    rerun = draft.model_copy(update={"rerun_metric": 0.7})
    assert read_journal(recorded(draft, rerun), "higher").nodes == (rerun,)
    # (0.5 + 0.7) / 2
    assert read_journal(recorded(draft, rerun), "higher").value(rerun) == pytest.approx(0.6)


def test_nodes_after_a_gap_and_before_a_restart_do_not_count():
    first, third = SearchNode(id=0, operator="draft"), SearchNode(id=2, operator="improve", parents=(0,))
    assert read_journal(recorded(first, third), "higher").nodes == (first,)
    assert read_journal([*recorded(first), Restarted(reason="it diverged")], "higher").nodes == ()


def test_submissions_are_dated_by_the_last_call_that_ended():
    used = {"elapsed": 7.0, "steps": 1}
    before = CallFinished.model_validate({"call": 0, "result": {"type": "note"}, "used": used})
    node = SearchNode(id=0, operator="draft", submission="0" * 64)
    assert find_submissions([before, *recorded(node)]) == [(7.0, "0" * 64)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"id": 1, "parents": (1,)}, "smaller numbers"),
        ({"id": 1, "parents": (-1,)}, "smaller numbers"),
        ({"id": -1}, "greater than or equal to 0"),
        ({"id": 0, "status": "good"}, "no metric"),
        ({"id": 0, "metric": float("nan")}, "finite number"),
        ({"id": 0, "submission": "x"}, "match pattern"),
    ],
)
def test_what_cannot_be_a_node_is_rejected(fields, reason):
    with pytest.raises(ValidationError, match=reason):
        SearchNode(operator="draft", **fields)
