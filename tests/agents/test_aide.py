"""The agent `aide` in real sealed labs, with scripted models."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scripted_searcher import COINS, proposal, script

from assay.agents.aide import POLICIES, Aide
from assay.agents.aide.agent import SearchState
from assay.lab.snapshots import load_snapshot
from assay.models import Models, Prices
from assay.records import Journal, TrialFolder, read_events, read_journal
from assay.records.events import SearchNode
from assay.records.log import compressed_log, read_log_lines
from assay.records.prompts import Prompts
from assay.results.progress import read_progress
from assay.results.search_tree import make_tree, place_nodes
from assay.runs.plan import Plan
from assay.runs.trial import run_trial
from assay.tasks import Budget, Registry
from assay.web.report import render_page

TESTS = Path(__file__).parent.parent
SEARCHER = f"scripted/{TESTS / 'agents' / 'scripted_searcher.py'}:answer"
COIN = Registry([TESTS / "tiny"]).task("tiny/coin")


class Trials:
    """Real trials of `aide` on one task, each in its own folder."""

    def __init__(self, home, folder, task=COIN, model=SEARCHER):
        self.home, self.folder, self.task, self.model = home, folder, task, model
        self.count = 0

    def make(self, *scripts, replies=(), reviews=(), budget=None, plan=None, **settings):
        """Create a trial whose model gives these scripts or replies in order, or else those of the searcher."""
        self.count += 1
        written = replies or [proposal(each) for each in scripts]
        models = {"main": self._model("main", written) if written else self.model}
        if reviews:
            models["review"] = self._model("review", reviews)
        limits = {"steps": len(scripts) or 8, "time": 60.0, **(budget or {})}
        agents = (("aide", settings),)
        planned = Plan((self.task,), agents, (models,), budget=limits, tasks_folder=TESTS / "tiny", **(plan or {}))
        (file,) = planned.trials(self.home)
        folder = TrialFolder(self.folder / f"trial-{self.count}")
        folder.create(file)
        return folder

    def run(self, *scripts, **more):
        """Create a trial and run it to its end."""
        folder = self.make(*scripts, **more)
        run_trial(folder.path, self.home)
        return folder

    def _model(self, role, replies):
        path = self.folder / f"{role}-{self.count}.json"
        path.write_text(json.dumps(list(replies)))
        return f"scripted/{path}"


@pytest.fixture
def trials(coin_home, tmp_path):
    return Trials(coin_home, tmp_path)


def coins(right):
    """Return the score for `right` correct coins; grades have five decimals."""
    return pytest.approx(right / COINS, abs=1e-5)


def journal(trial: TrialFolder) -> Journal:
    return read_journal(read_events(trial.events), COIN.metric.direction)


def tree(trial):
    """Return everything about a search that must not depend on the machine."""
    return [
        node.model_dump(exclude={"execution"})
        | {"output": node.execution and (node.execution.ended, node.execution.code)}
        for node in journal(trial).nodes
    ]


def shape(trial):
    return [(node.operator, node.parents) for node in journal(trial).nodes]


def questions(trial):
    """Return all prompts of the main model."""
    events = read_events(trial.events)
    prompts = Prompts(events)
    requests = [event for event in events if event.kind == "call_started" and event.request.type == "model"]
    return [prompts.messages(event.number)[-1].text for event in requests if event.request.role == "main"]


@pytest.mark.parametrize(
    ("policy", "settings", "score"),
    [
        ("greedy", {"drafts": 2}, 22),
        ("mcts", {"width": 2}, None),
        ("evolution", {"population": 2}, None),
        ("random", {"drafts": 2}, None),
    ],
)
def test_every_policy_ends_in_a_grade_and_is_deterministic(trials, policy, settings, score):
    first, second = (trials.run(policy=policy, debug_prob=1, **settings) for _ in range(2))
    assert first.state.status == "done", first.state.reason
    assert tree(first) == tree(second)
    search = journal(first)
    assert len(search.nodes) == 8 == first.state.steps
    assert {"draft", "debug", "improve"} <= {node.operator for node in search.nodes}
    # Scripts are honest, so the grade is the best node's own metric.
    assert first.grade.score == coins(round(search.best.metric * COINS))
    assert first.grade.score >= 12 / COINS
    if score:
        assert first.grade.score == coins(score)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES.names())
def test_every_policy_beats_the_starter_on_house_prices(pocket_home, tmp_path, policy):
    task = Registry([]).task("pocket/house-price")
    trials = Trials(pocket_home, tmp_path, task, model=SEARCHER.replace(":answer", ":houses"))
    trial = trials.run(policy=policy, drafts=2, width=2, population=2, debug_prob=1, budget={"steps": 5, "time": 300.0})
    assert trial.state.status == "done", trial.state.reason
    search = read_journal(read_events(trial.events), "lower")
    operators = {node.operator for node in search.nodes}
    assert operators >= {"draft", "debug"} and operators & {"improve", "ablate"}
    assert "Beauty" in search.nodes[0].execution.output
    assert search.best.metric == min(node.metric for node in search.good) and "all numbers" in search.best.plan
    assert trial.grade.score < task.measured.baseline
    last = [row for row in read_progress(trial, task, pocket_home) if row.picked][-1]
    assert (last.node, last.own_metric) == (search.best.id, search.best.metric)
    assert last.score == trial.grade.score != last.own_metric


def test_greedy_drafts_debugs_and_improves(trials):
    trial = trials.run(drafts=2, debug_prob=1, budget={"steps": 6})
    assert shape(trial) == [("draft", ()), ("draft", ()), ("debug", (0,)), *(("improve", (n,)) for n in (2, 3, 4))]
    broken, second, fixed, *better = journal(trial).nodes
    assert (
        broken.buggy and broken.reason == "it ended with exit code 1" and "a stupid mistake" in broken.execution.output
    )
    assert (second.metric, fixed.metric) == (9 / COINS, 12 / COINS)
    assert [node.metric for node in better] == [14 / COINS, 16 / COINS, 18 / COINS]


def test_prompts_are_scoped_to_the_operator_and_state_the_remaining_budget(trials):
    trial = trials.run(drafts=2, debug_prob=1, budget={"steps": 4})
    draft, another, debug, improve = questions(trial)
    assert "None; this is the first solution" in draft and "4 more scripts, including this one" in draft
    assert "- 0 (draft), failed: it ended with exit code 1" in another and "ValueError: a stupid mistake" in another
    assert "raise ValueError('a stupid mistake')" in debug and "None so far." in debug
    assert "I will start from scratch" not in debug and "Previous solutions" not in debug
    assert "This is solution 2, with a metric of 0.4." in improve and "- 1 (draft), metric 0.3" in improve
    assert "1 more scripts, including this one" in improve
    prompts = Prompts(read_events(trial.events))
    (system,) = {prompts.messages(call)[0].text for call in prompts.calls}
    assert "data/train.csv: 30 rows, 2 columns" in system and "scikit-learn 1." in system
    assert "accuracy" in system and "higher is better" in system and "Guesses tails" in system


def test_prompts_state_the_remaining_model_budget_if_it_is_limited(trials):
    trial = trials.run(budget={"steps": 1, "tokens": 90_000, "cost": 2.0})
    assert " and with 90,000 tokens and 2 dollars for models. This script may run" in questions(trial)[0]


@pytest.mark.parametrize("claim", ["'inf'", "'nan'", "'-inf'", "'very good'", "1e308", "''"])
def test_a_metric_that_is_not_a_comparable_number_makes_a_node_buggy(trials, claim):
    trial = trials.run(script(20), script(30, claim), debug_prob=0, drafts=2)
    honest, liar = journal(trial).nodes
    assert liar.buggy and "METRIC" in liar.reason.upper() and liar.submission
    assert journal(trial).best == honest
    assert trial.grade.score == coins(20)


def test_a_false_metric_misleads_the_search_but_not_the_grade(trials):
    trial = trials.run(script(20), script(3, "1e9"), drafts=2)
    assert journal(trial).best.metric == 1e9
    assert trial.grade.score == coins(3)
    picks = [row for row in read_progress(trial, COIN, trials.home) if row.picked]
    assert [(row.own_metric, row.score, row.best) for row in picks] == [
        (20 / COINS, coins(20), True),
        (1e9, coins(3), False),
    ]


@pytest.mark.parametrize(
    ("printed", "metric"),
    [
        ("'METRIC: 1'", 1.0),
        ("'METRIC: 8.5e-3'", 0.0085),
        ("'METRIC: 5', '\\nMETRIC: -2'", -2.0),
        ("'  METRIC:+.5 '", 0.5),
    ],
)
def test_the_last_metric_line_counts_in_any_notation(trials, printed, metric):
    trial = trials.run(script(20).replace(f'"METRIC:", 20 / {COINS}', printed))
    (node,) = journal(trial).nodes
    assert node.good and node.metric == metric


def test_every_node_and_step_can_be_scored_after_the_trial(trials):
    trial = trials.run(script(10), script(20), script(15), drafts=3)
    rows = read_progress(trial, COIN, trials.home)
    assert [(row.step, row.node, row.score, row.picked) for row in rows] == [
        (1, 0, coins(10), True),
        (2, 1, coins(20), True),
        (3, 1, coins(20), True),
        (3, 2, coins(15), False),
    ]
    assert [row.best for row in rows] == [True, True, False, False]


def test_a_node_with_an_invalid_submission_cannot_be_best(trials):
    wrong = script(30).replace("coin,side", "coin,edge")
    trial = trials.run(wrong, script(5), script(6), drafts=1, debug_prob=1)
    broken, fixed, _ = journal(trial).nodes
    assert broken.buggy and not broken.submission and broken.metric == 1.0
    assert "Format check of submission.csv: " in questions(trial)[1] and broken.reason in questions(trial)[1]
    assert shape(trial)[1] == ("debug", (0,)) and fixed.good
    assert trial.grade.score == coins(6)


def test_a_search_without_any_submission_is_an_agent_failure(trials):
    trial = trials.run(*["print('METRIC: 1')"] * 4)
    assert all(node.buggy and "nothing was submitted" in node.reason for node in journal(trial).nodes)
    assert (trial.state.status, trial.state.cause) == ("failed", "agent")
    assert trial.grade.score is None


def test_a_script_is_killed_at_its_time_limit_and_the_next_prompt_says_so(trials):
    slow = script(30) + "import time\ntime.sleep(1000)\n"
    trial = trials.run(slow, script(7), drafts=1, debug_prob=1, exec_seconds=10)
    late, fixed = journal(trial).nodes
    assert late.buggy and late.execution.ended == "time" and late.reason.startswith("it exceeded its time limit")
    assert "it exceeded" in questions(trial)[1]
    assert fixed.good and trial.grade.score == coins(7)


def test_a_script_that_prints_endlessly_is_killed(trials):
    loud = script(30) + "import sys\nwhile True:\n    sys.stdout.write('x' * 10**6)\n"
    trial = trials.run(loud, script(7), drafts=2)
    noisy, _ = journal(trial).nodes
    assert noisy.buggy and noisy.reason == "it printed too much"
    assert len(noisy.execution.output) < 20_000 and sum(map(len, read_log_lines(trial.events))) < 10**6
    assert trial.grade.score == coins(7)


def test_the_best_submission_is_restored_whatever_a_script_does_to_the_workspace(trials):
    vandal = "print('METRIC: 1')\nimport subprocess\nsubprocess.run('cd ../..; rm -rf * .??*; {}', shell=True)\n"
    more = ["true", "mkdir -p submission.csv/x", "ln -s /etc/passwd submission.csv", "touch nodes", "ln -s / nodes"]
    trial = trials.run(script(20), *(vandal.format(each) for each in more), script(19), drafts=9)
    assert trial.state.status == "done", trial.state.reason
    assert [node.good for node in journal(trial).nodes] == [True, *[False] * len(more), True]
    assert trial.grade.score == coins(20)
    picks = [row for row in read_progress(trial, COIN, trials.home) if row.picked]
    assert [row.score for row in picks] == [coins(20)] * (len(more) + 2)


def test_a_reply_without_a_script_is_rejected_and_retried(trials):
    two = proposal("print(1") + proposal("print(2")
    cut = {"text": "```python\nprint(1)", "stop": "length"}
    replies = ["I would rather not.", two, proposal(script(9)), "no", cut, "no", proposal(script(10))]
    trial = trials.run(replies=replies, budget={"steps": 3}, drafts=3)
    assert [node.good for node in journal(trial).nodes] == [True, False, True]
    assert journal(trial).nodes[1].reason == "none of 3 replies was readable" and not journal(trial).nodes[1].code
    prompts = questions(trial)
    assert len(prompts) == 7
    assert "could not be used" not in prompts[0] and "in one code block" in prompts[1]
    assert "cut off" in prompts[5]
    assert trial.grade.score == coins(10)


def test_a_prompt_that_is_too_long_is_retried_with_less_of_the_past(trials):
    too_long = {"error": "too long"}
    replies = [proposal(script(9)), too_long, too_long, proposal(script(12)), *[too_long] * 4]
    trial = trials.run(replies=replies, budget={"steps": 3}, drafts=1, memory=100)
    lengths = [len(prompt) for prompt in questions(trial)]
    assert lengths[1] > lengths[2] >= lengths[3]
    assert [node.good for node in journal(trial).nodes] == [True, True, False]
    assert "too long" in journal(trial).nodes[2].reason


ENDLESS = script(30) + "import time\ntime.sleep(1000)\n"


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["time", "working"])
def test_the_best_submission_counts_when_time_runs_out_during_a_script(trials, limit):
    trial = trials.run(script(11), *[ENDLESS] * 8, drafts=10, exec_share=1.0, budget={limit: 10.0})
    good, cut_short = journal(trial).nodes
    assert trial.state.status == "done", trial.state.reason
    assert good.good and cut_short.execution.ended == "time"
    assert trial.grade.score == coins(11)


def test_the_best_submission_counts_when_tokens_run_out_during_a_node(trials):
    usage = {"input_tokens": 90_000, "output_tokens": 10_000}
    texts = [proposal(script(11)), proposal(script(12)), "I would rather not.", proposal(script(30))]
    replies = [{"text": text, "usage": usage} for text in texts]
    trial = trials.run(replies=replies, drafts=10, budget={"tokens": 250_000})
    # After the third reply 300,000 tokens are used, so the unreadable reply is not retried.
    assert trial.state.tokens == 300_000
    assert [node.good for node in journal(trial).nodes] == [True, True, False]
    assert "all 250,000 tokens are used" in journal(trial).nodes[2].reason
    assert trial.grade.score == coins(12)


def test_parallel_nodes_count_when_tokens_run_out_for_one_of_them(trials):
    usage = {"input_tokens": 90_000, "output_tokens": 10_000}
    texts = [proposal(script(11)), "I would rather not.", proposal(script(12)), *["I would rather not."] * 3]
    replies = [{"text": text, "usage": usage} for text in texts]
    trial = trials.run(replies=replies, drafts=10, parallel=3, budget={"tokens": 250_000})
    assert sorted(node.good for node in journal(trial).nodes) == [False, True, True]
    assert trial.grade.score == coins(12)


@pytest.mark.anyio
async def test_the_best_submission_counts_when_the_cost_limit_is_reached(trial):
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    path = trial.folder / "replies.json"
    path.write_text(json.dumps([{"text": proposal(script(right)), "usage": usage} for right in (11, 12, 30)]))
    prices = Prices(models={"scripted/*": {"input": 2.0, "output": 0.0}})
    trial.budget = Budget(time=60, steps=9, cost=3.0)
    workspace = await trial.work(Aide(drafts=9), models=Models({"main": f"scripted/{path}"}, prices=prices))
    # A million tokens cost 2 dollars: the second question is still allowed, the third is not.
    assert workspace["best_solution.py"].decode().startswith("import csv\nright = 12\n")
    assert workspace["submission.csv"] == workspace["nodes/1/submission.csv"]
    assert "nodes/2/solution.py" not in workspace


def test_a_review_can_reject_a_node_and_supply_a_missing_metric_but_not_rescue_a_node(trials):
    def review(**arguments):
        return {"tool_calls": [{"name": "submit_review", "arguments": {"summary": "So it is.", **arguments}}]}

    silent = script(13).replace("METRIC:", "accuracy")
    scripts = [script(10), silent, script(30), "raise ValueError", script(11), script(12), silent]
    reviews = [
        review(is_bug=False, metric=0.99),  # the metric that the script printed counts
        review(is_bug=False, metric=13 / COINS),
        review(is_bug=True, metric=1.0),
        review(is_bug=False, metric=1.0),
        "I have no opinion.",
        review(is_bug="yes", metric=None),
        review(is_bug=False, metric=10**400),
    ]
    trial = trials.run(*scripts, reviews=reviews, review=True, drafts=7, debug_prob=0)
    first, unsaid, suspect, crashed, fifth, sixth, boundless = journal(trial).nodes
    assert (first.metric, unsaid.metric) == (10 / COINS, 13 / COINS) and unsaid.good
    assert first.review == "So it is." and "Review: So it is." in questions(trial)[1]
    assert suspect.buggy and suspect.reason == "a review found it buggy: So it is."
    assert crashed.buggy and fifth.good and sixth.good and not fifth.review
    assert boundless.buggy and boundless.metric is None and boundless.submission
    assert trial.grade.score == coins(13)


def test_the_best_nodes_can_be_confirmed_with_another_seed(trials):
    lucky = script(5, "0.9 if os.environ['SEED'] == '1' else 0.1").replace("import csv", "import csv, os")
    steady = script(20, "0.8")
    trial = trials.run(lucky, steady, script(1), drafts=3, confirm=2, budget={"steps": 5})
    assert trial.state.steps == 5
    first, second, third = journal(trial).nodes
    assert (first.metric, first.rerun_metric, second.rerun_metric, third.rerun_metric) == (0.9, 0.1, 0.8, None)
    assert trial.grade.score == coins(20)


def test_scripts_of_a_batch_run_in_parallel(trials):
    meet = """import os, pathlib, time
here, folder = pathlib.Path(os.getcwd()).name, pathlib.Path("..")
(folder / f"met-{here}").touch()
while len(list(folder.glob("met-*"))) < 3:
    time.sleep(0.01)
"""
    trial = trials.run(*(meet + script(right) for right in (9, 12, 10)), parallel=3, drafts=3)
    # None of them comes to its end before all three have begun.
    assert sorted(node.metric for node in journal(trial).nodes) == [9 / COINS, 10 / COINS, 12 / COINS]
    assert trial.grade.score == coins(12)
    assert trial.state.steps == 3


def test_a_script_is_not_blamed_for_the_memory_of_a_parallel_one(trials):
    small = COIN.resources.model_copy(update={"memory": 300 * 10**6})
    trials.task = COIN.model_copy(update={"resources": small})
    greedy = """import pathlib, subprocess, sys
subprocess.run([sys.executable, "-c", "b'x' * 10**9"])
pathlib.Path("../over").touch()
raise SystemExit(1)
"""
    modest = """import pathlib, time
while not pathlib.Path("../over").exists():
    time.sleep(0.01)
"""
    trial = trials.run(greedy, modest + script(20), parallel=2, drafts=2)
    hog, neighbour = journal(trial).nodes
    assert hog.buggy and neighbour.good
    assert trial.grade.score == coins(20)


def test_as_many_scripts_run_in_parallel_as_the_lab_has_cores(trials):
    trials.task = COIN.model_copy(update={"resources": COIN.resources.model_copy(update={"cores": 2})})
    trial = trials.run(budget={"steps": 4}, drafts=4)
    calls = [event for event in read_events(trial.events) if event.kind in ("call_started", "call_finished")]
    started = {event.number: event for event in calls if event.kind == "call_started"}
    runs = []
    for event in calls:
        start = started[event.call] if event.kind == "call_finished" else event
        if start.request.type == "command":
            runs.append((event.kind, start.lane))
    # First comes the preview of the data, which has no lane.
    assert runs[2:4] == [("call_started", "node 0"), ("call_started", "node 1")]


def cut(trial, kept, lines):
    """Restore the record to the state after a kill that came after `kept` events."""
    compressed_log(trial.events).unlink(missing_ok=True)
    trial.events.write_bytes(b"".join(lines[:kept]))
    for derived in ("state.json", "grade.json", "submission/manifest.json"):
        (trial.path / derived).unlink(missing_ok=True)


@pytest.mark.slow
def test_a_trial_killed_during_a_batch_resumes_to_the_same_tree_without_repeating_requests(trials):
    whole = trials.run(policy="mcts", width=2, parallel=2, budget={"steps": 6})
    expected, grade = tree(whole), whole.grade.score
    lines = list(read_log_lines(whole.events))
    events = read_events(whole.events)
    # In the middle of the second batch: after each of its events.
    snapshots = [event.number for event in events if event.kind == "snapshot_taken"]
    for kept in range(snapshots[0] + 1, snapshots[1] + 2, 3):
        answered = sum(event.kind == "call_finished" and event.result.type == "model" for event in events[:kept])
        cut(whole, kept, lines)
        run_trial(whole.path, trials.home)
        assert whole.state.status == "done", (kept, whole.state.reason)
        after = read_events(whole.events)
        assert not any(event.kind == "restarted" for event in after), kept
        assert tree(whole) == expected and whole.grade.score == grade
        requests = [event for event in after[kept:] if event.kind == "call_finished" and event.result.type == "model"]
        assert len(requests) == len(expected) - answered, kept


def test_a_resumed_trial_remembers_the_usage_of_parallel_requests(trials):
    whole = trials.run(parallel=3, drafts=3, budget={"steps": 3})
    tokens = whole.state.tokens
    lines = list(read_log_lines(whole.events))
    model_calls = [
        event.number
        for event in read_events(whole.events)
        if event.kind == "call_finished" and event.result.type == "model"
    ]
    cut(whole, model_calls[-1] + 1, lines)
    run_trial(whole.path, trials.home)
    assert whole.state.tokens == tokens


def test_the_workspace_keeps_the_best_solution_and_all_nodes_but_no_leftovers_of_scripts(trials):
    messy = script(14) + "open('model.bin', 'wb').write(b'x' * 10**6)\nimport os\nos.makedirs('cache/deep')\n"
    trial = trials.run(messy, script(13), drafts=2)
    last = [event.snapshot for event in read_events(trial.events) if event.kind == "snapshot_taken"][-1]
    kept = load_snapshot(trial.snapshots, last)
    nodes = {f"nodes/{id}/{name}" for id in (0, 1) for name in ("solution.py", "submission.csv")}
    assert set(kept.files) == nodes | {"best_solution.py", "description.md", "submission.csv", "train.py"}
    assert kept.files["best_solution.py"].sha256 == kept.files["nodes/0/solution.py"].sha256
    assert kept.files["submission.csv"].sha256 == journal(trial).nodes[0].submission


def test_the_report_shows_the_tree_of_a_search(trials, tmp_path):
    replies = [proposal(script(9)), proposal("print('<b>oh</b>')\nraise SystemExit(3)"), *[proposal(script(12))] * 2]
    trial = trials.run(replies=replies, budget={"steps": 4}, drafts=2, debug_prob=1.0, parallel=1)
    tree = make_tree(journal(trial), trial, "Coins", "tree0")
    assert [(entry.node.id, entry.depth, entry.kind) for entry in tree.nodes] == [
        (0, 0, "good"), (1, 0, "buggy"), (2, 1, "best-node"), (3, 2, "good"),
    ]  # fmt: skip
    svg = tree.figure.to_svg()
    assert svg.count("<circle") == 4 and svg.count("<polyline") == 2
    page = render_page([], {}, "Search", datetime(2026, 1, 1, tzinfo=UTC), [tree])
    assert 'id="tree0-3"' in page and "<b>oh</b>" not in page and "&lt;b&gt;oh" in page
    assert "it ended with exit code 3" in page
    assert make_tree(journal(trial), trial, "Coins", "tree0", with_code=False).nodes[0].code == ""


def test_a_long_chain_of_nodes_can_be_drawn():
    nodes = [SearchNode(id=0, operator="draft")]
    nodes += [SearchNode(id=n, operator="improve", parents=(n - 1,)) for n in range(1, 3000)]
    nodes.append(SearchNode(id=3000, operator="crossover", parents=(0, 2999)))
    positions = place_nodes(Journal("higher", tuple(nodes)))
    assert positions[2999] == (0, 2999) and positions[3000] == (1, 1) and positions[0] == (0.5, 0)


GUESS = """\
from pathlib import Path
coins = Path("data/test.csv").read_text().split()[1:]
Path("submission.csv").write_text("coin,side\\n" + "".join(f"{{coin}},{{int({rule})}}\\n" for coin in coins))
print("METRIC:", {metric})
"""


def test_what_an_ablation_measured_is_told_and_can_not_be_submitted(trials):
    trial = trials.run(
        policy="ablation", drafts=2, debug_prob=1, parallel=1, patience=2, final_share=0.1, budget={"steps": 6}
    )
    search = journal(trial)
    measured = [node for node in search.nodes if node.status == "measured"]
    assert [node.operator for node in search.nodes[2:]] == ["debug", "ablate", "refine", "refine"]
    assert [node.submission for node in measured] == [None] and measured[0].metric is None
    refinement = questions(trial)[-1]
    assert "without the coins: nothing" in refinement and "Format check" not in refinement
    assert trial.grade.score == coins(round(search.best.metric * COINS))


@pytest.mark.slow
def test_labs_beside_each_other_resume_from_every_moment_without_repeating_requests(trials):
    """Each lab has another time, so that the order in which they end is not that in which they began."""
    whole = trials.run(policy="mcts", width=2, labs=3, budget={"steps": 6})
    assert whole.state.status == "done", whole.state.reason
    expected, grade, steps = tree(whole), whole.grade.score, whole.state.steps
    lines = list(read_log_lines(whole.events))
    events = read_events(whole.events)
    begun = [event.number for event in events if event.kind == "call_started" and event.request.type == "note"]
    assert len(expected) == steps == len(begun) == 6
    ends = next(event.number for event in events if event.kind == "submitted")
    for kept in [*range(begun[0], ends, 7), ends]:
        answered = {
            event.call for event in events[:kept] if event.kind == "call_finished" and event.result.type == "model"
        }
        cut(whole, kept, lines)
        run_trial(whole.path, trials.home)
        assert whole.state.status == "done", (kept, whole.state.reason)
        after = read_events(whole.events)
        assert not any(event.kind == "restarted" for event in after), kept
        assert len(journal(whole).nodes) == whole.state.steps == 6
        finished = [event.call for event in after if event.kind == "call_finished" and event.result.type == "model"]
        assert answered <= set(finished) and len(finished) == len(expected), kept
    assert whole.grade.score == grade and tree(whole) == expected, "nothing was left to do"


def test_labs_beside_each_other_share_what_the_trial_has(trials):
    trials.task = COIN.model_copy(update={"resources": COIN.resources.model_copy(update={"memory": 600 * 10**6})})
    hog = "x = b'x' * (400 * 10**6)\n" + script(20)
    whole, halves = trials.run(hog, labs=1, drafts=1), trials.run(hog, script(9), labs=2, drafts=2)
    assert journal(whole).nodes[0].good
    assert sorted(node.metric or 0 for node in journal(halves).nodes) == [0, 9 / COINS]


@pytest.mark.parametrize("feedback", ["nothing", "score"])
@pytest.mark.parametrize("labs", [1, 2])
def test_hidden_rows_select_the_better_script_which_is_then_rerun(trials, feedback, labs):
    good = GUESS.format(rule="int(coin) % 3 == 0", metric=0.1)
    overrated = GUESS.format(rule="int(coin) % 3 != 0", metric=0.9)
    plan = {"selection": "hidden", "feedback": feedback, "submit": "code", "claim": True}
    trial = trials.run(good, overrated, plan=plan, parallel=1, labs=labs, drafts=2, feedback=feedback == "score")
    assert trial.grade.score == 1.0 and trial.grade.rerun.reproduced
    # Told scores are rounded to their noise, of which all right or all wrong has none.
    assert trial.grade.integrity.claimed == (0.9 if feedback == "nothing" else 1.0)


def test_metrics_are_corrected_by_the_usual_gap_once_no_more_scores_are_told():
    state = SearchState(None, None, Journal("higher"))
    told = [state.correct_metric(metric, score) for metric, score in [(0.9, None), (0.9, 0.6), (0.8, 0.6), (0.95, 0.5)]]
    assert told == [0.9, 0.6, 0.6, 0.5]
    assert state.correct_metric(0.99, None) == pytest.approx(0.99 - 0.3)
