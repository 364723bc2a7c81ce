"""`aide` with `rules=published` decides as the AIDE that MLE-bench ran; runs of 550 nodes against it agreed in all."""

import json

import pytest
from test_aide import Trials, journal, questions, shape

from assay.agents.aide.published import Review, evaluate_node, parse_reply, parse_review, summarize_good
from assay.records import Journal
from assay.records.events import Execution, SearchNode

SAVE = "open('submission/submission.csv', 'w').write({content!r})"
COUNT = (
    "import os\nruns = len(os.listdir('working')) + 1\nopen(f'working/{runs}', 'w').close()\n"
    "print('run', runs, sorted(os.listdir('input'))[:1])\n"
)


def review(metric: object = 0.5, **changes: object) -> dict:
    """A reply of the reviewer."""
    answer = {"is_bug": False, "has_csv_submission": True, "summary": "Fine.", "metric": metric}
    return {"tool_calls": [{"name": "submit_review", "arguments": answer | {"lower_is_better": False} | changes}]}


def reply(code: str, plan: str = "A plan.") -> str:
    """A reply of the main model."""
    return f"{plan}\n```python\n{code}\n```"


@pytest.fixture
def trials(coin_home, tmp_path):
    return Trials(coin_home, tmp_path)


def test_the_reviewer_decides_and_the_format_of_submissions_does_not(trials):
    saves = [COUNT + SAVE.format(content=f"anything {number}") for number in range(6)]
    replies = [
        reply(saves[0]),
        reply(COUNT + "print('no file')"),
        reply(saves[2] + "\nraise ValueError('after saving')"),
        "no code", "```python\nonly_code = 1\n```", saves[3],
        reply(saves[4], "Better."),
        reply(saves[5]),
    ]  # fmt: skip
    reviews = [review(0.5), review(0.9), review(0.9), review(1), review(0.7), review(0.7, is_bug=True)]
    trial = trials.run(
        replies=replies, reviews=reviews, budget={"steps": 6}, rules="published", drafts=2, debug_prob=1.0
    )
    nodes = journal(trial).nodes
    assert [node.status for node in nodes] == ["good", "buggy", "buggy", "buggy", "good", "buggy"]
    assert shape(trial) == [
        ("draft", ()), ("draft", ()), ("debug", (1,)), ("debug", (2,)), ("debug", (3,)), ("improve", (4,)),
    ]  # fmt: skip
    assert [node.reason for node in nodes[1:4]] == [
        "it wrote no submission", "its execution failed", "the review names no metric",
    ]  # fmt: skip
    assert nodes[3].code == saves[3] and nodes[3].plan == ""
    assert "run 6 " in nodes[5].execution.output, "the folder working is kept"
    assert journal(trial).best == nodes[4]
    assert trial.submission.read_text() == "anything 4" and trial.state.failure == "invalid submission"
    assert [node.submission for node in nodes] == [None] * 6, "only valid submissions are kept for the oracle"
    prompts = questions(trial)
    debug, improve = prompts[3], prompts[-1]
    assert "ValueError: after saving" in debug.partition("# Execution output")[2] and "# Memory" not in debug
    assert "# Data overview" in debug and "# Data overview" not in improve and "# Execution output" not in improve
    memory = improve.partition("# Memory")[2].partition("# Previous solution")[0]
    assert memory.count("Validation metric:") == 2 and "Better." in memory
    parts = ("Kaggle grandmaster", "Use as much of the time", "Only `submission/")
    assert all(part in prompt for prompt in prompts for part in parts)


AS_AIDE_RUNS_THEM = [
    ("if __name__ == '__main__':\n    raise ValueError", "good"),  # AIDE executes scripts in a process of its own
    ("def main():\n    {save}\nif __name__ == '__main__':\n    main()", "it wrote no submission"),
    ("{save}\nprint(__file__)", "NameError: name '__file__' is not defined"),
    ("{save}\nimport sys\nsys.exit(0)", "SystemExit: 0"),
    ("{save}\nimport os\nos._exit(0)", "died unexpectedly"),
    ("{save}\nimport argparse\nargparse.ArgumentParser().parse_args()", "unrecognized arguments: data_dir="),
    ("{save}\nimport sys\nsys.stdout.isatty()", "'Output' object has no attribute 'isatty'"),
    ("import sys\nprint('first', file=sys.stderr)\nprint('second')\n{save}\n1 / 0", "first\nsecond\nTraceback"),
    ("{save}\nimport warnings\nwarnings.warn('careful')", "good"),
    ("open('working/a', 'w').write('x')\nimport os\nos.symlink('../working/a', 'submission/submission.csv')", "good"),
    ("import os\nos.symlink('nothing', 'submission/submission.csv')", "it wrote no submission"),
    ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', \"{save}\"], check=True)", "good"),
]


def test_scripts_run_as_in_the_interpreter_of_aide(trials):
    codes = [code.format(save=SAVE.format(content="x")) for code, _ in AS_AIDE_RUNS_THEM]
    codes[0] = f"{SAVE.format(content='x')}\n{codes[0]}"
    trial = trials.run(
        replies=[reply(code) for code in codes],
        reviews=[review()] * len(codes),
        budget={"steps": len(codes), "time": 600.0},
        rules="published",
        drafts=len(codes),
    )
    for node, code, (_, expected) in zip(journal(trial).nodes, codes, AS_AIDE_RUNS_THEM, strict=True):
        told = f"{node.status} {node.reason} {node.execution.output}"
        assert expected in told and (node.status == "good") == (expected == "good"), (code, told)
    outputs = [node.execution.output for node in journal(trial).nodes]
    assert not any("interpreter" in output or "careful" in output for output in outputs)
    assert 'File "runfile.py", line 5, in <module>' in outputs[7]


def test_reviews_that_disagree_on_the_direction_end_the_search(trials):
    save = reply(SAVE.format(content="x"))
    reviews = [review(0.5, lower_is_better=True), review(0.4, lower_is_better=True), review(0.3)]
    trial = trials.run(replies=[save] * 3, reviews=reviews, budget={"steps": 3}, rules="published", drafts=3)
    assert "disagrees on whether lower is better" in trial.state.reason
    nodes = journal(trial).nodes
    assert [node.lower_is_better for node in nodes] == [True, True, False]
    assert Journal("higher", nodes[:2]).best == nodes[1], "the reviewer's direction counts, not the task's"


@pytest.mark.parametrize(
    ("text", "plan", "code"),
    [
        ("Plan.\n```python\nx = 1\n```", "Plan.", "x = 1"),
        ("Plan.\n```\nx = 1\n```\nand\n```python\ny = 2\n```", "Plan.", "x = 1\n\ny = 2"),
        ("Plan.\n```bash\npip install x\n```\n```python\nx = 1\n```", "Plan.", "x = 1"),
        ("```python\nx = 1\n```", "", "x = 1"),
        ("Plan.\n```python\ndef (:\n```", "Plan.", ""),
        ("x = 1\n```", "x = 1", "x = 1"),
        ("Plan.\n```python\nx = 1", "Plan.", ""),
        ("x = 1", "", "x = 1"),
    ],
)
def test_replies_are_read_as_published(text, plan, code):
    assert parse_reply(text) == (plan, code)


def test_a_metric_without_a_decimal_point_is_none():
    arguments = review(1)["tool_calls"][0]["arguments"]
    assert parse_review(arguments) == Review(False, True, "Fine.", None, False)
    assert parse_review(arguments | {"metric": 1.0}).metric == 1.0
    assert parse_review({"is_bug": False}) is None
    assert parse_review(json.loads(json.dumps(arguments | {"metric": None}))).metric is None


def test_memory_has_all_good_nodes_and_no_failures():
    ran = Execution(ended="exit", code=0, seconds=1.0, output="")
    verdict = Review(False, True, "Fine.", 0.5, False)
    nodes = [
        evaluate_node(SearchNode(id=id, operator="draft", plan=f"Plan {id}."), ran, verdict, written=id % 2 == 0)
        for id in range(400)
    ]
    memory = summarize_good(Journal("higher", tuple(nodes)))
    assert memory.count("Validation metric: 0.5") == 200 and "Plan 398." in memory and "Plan 1." not in memory
