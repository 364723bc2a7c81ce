"""Tasks are loaded from their folders with the suite's defaults, and every override of the rules is a named quirk."""

import os
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.tasks import Registry, Task, load_plugin
from assay.tasks.registry import find_overrides
from assay.tasks.rules import merge_rules

SUITE = """
format = "suite/1"
name = "toys"
title = "For tests."
editions = ["v1", "fixed"]
lenient = ["v1"]
tasks = ["toy"]

[defaults]
license = "MIT"
environment = "torch"

[defaults.budget]
time = "2h"
steps = 7

[defaults.resources]
cores = 3

[quirks.extra-columns-ignored]
text = "Columns that were not asked for are ignored."
rules = ["submission.more_columns"]

[quirks.clipped]
text = "Probabilities are clipped."
rules = ["metric.params.epsilon"]

[quirks.any-number]
text = "Any number is accepted."
rules = ["submission.columns"]
"""
TASK = """
format = "task/1"
title = "Toy"
summary = "Toy."
kind = "image-segmentation"

[source]
about = "made up"

[submission]
form = "csv"
file = "submission.csv"
id = "id"

[[submission.alike]]
names = ["a", "b"]
type = "number"
min = 0
max = 1

[metric]
name = "log_loss"
direction = "lower"
"""


def load(folder: Path, extra: str = "") -> Task:
    """Write a suite with a toy task and load the task."""
    toy = folder / "toys" / "toy"
    toy.mkdir(parents=True, exist_ok=True)
    (toy.parent / "suite.toml").write_text(SUITE)
    (toy / "task.toml").write_text(TASK + extra)
    return Registry([toy.parent]).task("toys/toy")


def test_values_that_a_task_does_not_set_come_from_the_suite(tmp_path: Path) -> None:
    task = load(tmp_path)
    assert (task.source.license, task.environment) == ("MIT", "torch")
    assert (task.budget.time, task.budget.steps, task.resources.cores) == (7200, 7, 3)
    own = load(tmp_path, '[budget]\ntime = "1m"\n[resources]\nmemory = "1GB"\n')
    assert (own.budget.time, own.budget.steps) == (60, 7)
    assert (own.resources.cores, own.resources.memory) == (3, 10**9)


def test_a_split_with_tasks_that_this_version_lacks_is_refused(tmp_path: Path) -> None:
    load(tmp_path)
    with (tmp_path / "toys" / "suite.toml").open("a") as file:
        file.write('\n[splits]\nwhole = ["toy"]\npartial = ["toy", "missing"]\n')
    registry = Registry([tmp_path / "toys"])
    assert [task.id for task in registry.select("toys:whole")] == ["toys/toy"]
    with pytest.raises(UsageError, match=r"1 tasks of toys:partial are not available in this version \(e.g. missing\)"):
        registry.select("toys:partial")


def test_a_task_names_its_quirks_and_the_suite_explains_them(tmp_path: Path) -> None:
    task = load(
        tmp_path,
        """
[rules.v1]
quirks = ["clipped", "extra-columns-ignored"]
[rules.v1.submission]
more_columns = true
[rules.v1.metric.params]
epsilon = 1e-9
""",
    )
    assert task.rules["v1"].quirks == {
        "clipped": "Probabilities are clipped.",
        "extra-columns-ignored": "Columns that were not asked for are ignored.",
    }
    assert find_overrides(task, "v1") == ["submission.more_columns", "metric.params.epsilon"]
    assert find_overrides(task, "fixed") == []


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        (
            "[rules.v1.submission]\nmore_columns = true\n",
            r"rules\.v1 overrides submission\.more_columns without naming",
        ),
        (
            '[rules.v1]\nquirks = ["clipped"]\n[rules.v1.submission]\nmore_columns = true\n',
            r"rules\.v1 overrides submission\.more_columns without naming",
        ),
        ("[rules.v1.submission.columns.a]\nmax = 2\n", r"rules\.v1 overrides submission\.columns without naming"),
        ("[rules.v1.metric.params]\nepsilon = 1\n", r"rules\.v1 overrides metric\.params\.epsilon without naming"),
        ('[rules.v1]\nquirks = ["clipping"]\n', "suite.toml has no quirk 'clipping'; did you mean clipped?"),
        ('[rules.v1.quirks]\nown = "Text."\n', r"rules\.v1\.quirks: a list of names"),
    ],
)
def test_an_override_without_a_named_quirk_is_refused(tmp_path: Path, extra: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load(tmp_path, extra)


def test_an_edition_changes_columns_or_replaces_them_explicitly(tmp_path: Path) -> None:
    changed = '[rules.v1]\nquirks = ["any-number"]\n[rules.v1.submission.columns.a]\nmax = 5\n'
    columns = load(tmp_path, changed).in_edition("v1").submission.columns
    assert [(name, column.min, column.max) for name, column in columns.items()] == [("a", 0, 5), ("b", 0, 1)]
    together = '[rules.v1]\nquirks = ["any-number"]\n[rules.v1.submission.every_column]\nmax = 5\n'
    together += "[rules.v1.submission.columns.b]\nmax = 6\n"
    columns = load(tmp_path, together).in_edition("v1").submission.columns
    assert [(name, column.min, column.max) for name, column in columns.items()] == [("a", 0, 5), ("b", 0, 6)]
    replaced = (
        '[rules.v1]\nquirks = ["any-number"]\n[rules.v1.submission]\nreplace_columns = true\n'
        '[rules.v1.submission.columns.a]\ntype = "integer"\n'
    )
    task = load(tmp_path, replaced)
    columns = task.in_edition("v1").submission.columns
    assert [(name, column.type, column.max) for name, column in columns.items()] == [("a", "integer", None)]
    assert list(task.in_edition("fixed").submission.columns) == ["a", "b"]


def test_rules_are_merged_table_by_table() -> None:
    base = {"form": "csv", "columns": {"a": {"type": "number", "min": 0}}}
    assert merge_rules(base, {"columns": {"a": {"min": 1}}}) == {
        "form": "csv",
        "columns": {"a": {"type": "number", "min": 1}},
    }
    assert base["columns"] == {"a": {"type": "number", "min": 0}}


def test_every_override_of_a_shipped_task_is_explained() -> None:
    """Loading refuses others, so this holds if there are overrides at all and loading looks at them."""
    overrides = {task.id: find_overrides(task, "v1") for task in Registry().select("mlebench")}
    assert "submission.more_columns" in overrides["mlebench/spaceship-titanic"]
    assert sum(map(bool, overrides.values())) > len(overrides) / 2
    assert all(task.rules["v1"].quirks for task in Registry().select("mlebench") if overrides[task.id])


def test_task_code_imports_its_neighbors_and_what_its_suite_shares(tmp_path: Path) -> None:
    task = tmp_path / "suites" / "a-suite" / "a-task"
    for folder in (task, task.parent / "_shared", task.parent.parent / "_shared"):
        folder.mkdir(parents=True)
    (task / "near.py").write_text("VALUE = 'near'\n")
    (task.parent / "_shared" / "suite_wide.py").write_text("VALUE = 'suite'\n")
    (task.parent.parent / "_shared" / "all_suites.py").write_text("VALUE = 'all'\n")
    (task / "prepare.py").write_text(
        "from ..._shared.all_suites import VALUE as everywhere\n"
        "from .._shared.suite_wide import VALUE as suite\n"
        "from .near import VALUE as near\n"
        "VALUES = near, suite, everywhere\n"
    )
    assert load_plugin(task / "prepare.py").VALUES == ("near", "suite", "all")
    shared = task.parent / "_shared" / "suite_wide.py"
    before = shared.stat()
    shared.write_text("VALUE = 'again'\n")  # as long as before, and at the same time
    os.utime(shared, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_plugin(task / "prepare.py").VALUES == ("near", "again", "all")
    (task / "later.py").write_text("def load():\n    from . import near\n    return near.VALUE\n")
    assert load_plugin(task / "later.py").load() == "near"
    assert list(tmp_path.rglob("__pycache__")) == []
    with pytest.raises(UsageError, match=r"missing\.py is missing"):
        load_plugin(task / "missing.py")
