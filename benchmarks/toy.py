"""Made-up tasks that benchmarks measure with: a table of ids, a probability each, scored by ROC AUC."""

from collections.abc import Mapping
from pathlib import Path

from assay.tasks import Registry, Task

SUITE = 'format = "suite/1"\nname = "bench"\ntitle = "For measuring."\neditions = ["v1"]\ntasks = {tasks}\n'
TASK = """
format = "task/1"
title = "Made up"
summary = "For measuring."
kind = "tabular-classification"

[source]
about = "made up"
license = "none needed"

[submission]
form = "csv"
file = "submission.csv"
id = "id"
max_size = "2GB"

[submission.columns.target]
type = "number"
min = 0
max = 1

[metric]
name = "roc_auc"
direction = "higher"

[budget]
time = "1h"
"""


def make_suite(folder: Path, preparing: Mapping[str, str]) -> dict[str, Task]:
    """A suite `bench` in a new folder, with a task for each name, prepared by the code given for it."""
    for name, code in preparing.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "task.toml").write_text(TASK)
        (folder / name / "description.md").write_text("For measuring.\n")
        (folder / name / "prepare.py").write_text(code)
    (folder / "suite.toml").write_text(SUITE.format(tasks=list(preparing)))
    return {task.name: task for task in Registry([folder]).select("bench")}
