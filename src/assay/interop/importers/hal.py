"""Result files of the HAL harness, `*_UPLOAD.json`: the tasks that an agent solved, and those that it did not."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.core.errors import RecordError
from assay.core.untrusted import MAX_CONTENT, read_json
from assay.interop.importers.read import Importer
from assay.interop.importers.trial import (
    ReportedTrial,
    read_amount,
    read_count,
    read_moment,
    read_name,
    read_table,
    read_text,
)


def find_files(files: Sequence[Path]) -> list[Path]:
    """Return the result files, by their names; the raw results beside them repeat a part of them."""
    return [path for path in files if path.name.endswith("_UPLOAD.json")]


def read_trials(files: Sequence[Path]) -> Iterator[ReportedTrial]:
    """Yield a trial for each task. The cost is that of all tasks together, so that of a trial is unknown."""
    for path in files:
        content = read_table(read_json(path, MAX_CONTENT, strict=False))
        config, results = read_table(content.get("config")), read_table(content.get("results"))
        agent = read_name(config.get("agent_name"), f"{path}: config.agent_name")
        suite = read_name(config.get("benchmark_name"), f"{path}: config.benchmark_name")
        model = read_text(read_table(config.get("agent_args")).get("model_name"))
        times, steps = read_table(content.get("wall_clock_times")), read_table(content.get("task_step_counts"))
        run, day = read_text(config.get("run_id")) or path.stem, read_moment(config.get("date"))
        for key, success in (("successful_tasks", True), ("failed_tasks", False)):
            tasks = results.get(key)
            if not isinstance(tasks, list):
                raise RecordError(f"{path}: results.{key} is not a list")
            for task in tasks:
                name = read_name(task, f"{path}: a task of results.{key}")
                yield ReportedTrial(
                    suite=suite,
                    task=name,
                    agent=agent,
                    model=model,
                    trial=f"{run}-{name}",
                    success=success,
                    seconds=read_amount(times.get(name)),
                    steps=read_count(steps.get(name)),
                    ended_at=day,
                )


IMPORTER = Importer("hal", find_files, read_trials)
