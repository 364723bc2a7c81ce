"""The metrics that are in the folders of tasks."""

from functools import cache

from assay.grading.metrics import METRICS, MetricFunction
from assay.tasks import Registry


@cache
def _code() -> dict[str, str]:
    """Return the code of every `metric.py` of Assay's suites, by path."""
    folders = [folder for _, folder in Registry().suites.values()]
    return {str(path): path.read_text() for folder in folders for path in sorted(folder.glob("*/metric.py"))}


def find_in_tasks(name: str) -> str:
    """Return `path.py:name` of the metric called `name` that only one task's folder defines."""
    paths = [path for path, code in _code().items() if f"\ndef {name}(" in code]
    assert len(paths) == 1, f"{name} is defined in {paths}"
    return f"{paths[0]}:{name}"


def task_metric(name: str) -> MetricFunction:
    """Return that metric."""
    return METRICS.load(find_in_tasks(name))


def find_anywhere(name: str) -> str:
    """Return the name of a registered metric as it is, and `path.py:name` for one of a task's folder."""
    return name if ":" in name or METRICS.entry(name) else find_in_tasks(name)
