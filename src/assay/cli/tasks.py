"""`assay tasks`."""

import json
from pathlib import Path
from typing import Any, Literal

import click

from assay.cli.complete import complete_tasks
from assay.cli.output import as_json, echo, echo_json, open_registry, print_markdown, print_tables
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.quantities import format_duration, format_size
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.tasks import EditionRules, Preparation, Registry, Suite, Task
from assay.tasks.croissant import describe_dataset


@click.command("tasks")
@click.argument("names", nargs=-1, metavar="[SUITE|SPLIT|TASK]…", shell_complete=complete_tasks)
@click.option("--split", "splits", multiple=True, metavar="NAME", help="Only tasks of a split. Repeat for several.")
@click.option("--kind", "kinds", multiple=True, metavar="NAME", help="Only tasks of a kind. Repeat for several.")
@click.option(
    "--category", "categories", multiple=True, metavar="NAME", help="Only tasks of a category. Repeat for several."
)
@click.option("--prepared/--not-prepared", default=None, help="Only tasks that are prepared on this machine, or not.")
@click.option("--selection", is_flag=True, help="Show from which tasks a hidden validation part can be split off.")
@click.option("--croissant", is_flag=True, help="Print the metadata of a task's data as Croissant 1.1 (JSON-LD).")
@as_json
@click.pass_obj
def tasks_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    splits: tuple[str, ...],
    kinds: tuple[str, ...],
    categories: tuple[str, ...],
    prepared: bool | None,
    selection: bool,
    croissant: bool,
    json_: bool,
) -> None:
    """List suites and tasks: split, size of the download, what is prepared. Of a single task, show all details.

    \b
    Examples:
      assay tasks
      assay tasks pocket/house-price
      assay tasks pocket:quick --json
      assay tasks mlebench --split high --category "Image Segmentation"
      assay tasks --prepared
      assay tasks pocket/house-price --croissant > croissant.json
    """
    registry, home = open_registry(folders), Home.default()
    if croissant:
        if len(names) != 1 or not _names_task(registry, names[0]):
            raise UsageError("--croissant describes the data of a single task; name it")
        known = registry.task(names[0])
        echo(json.dumps(describe_dataset(known, _public_files(home, known)), indent=2, ensure_ascii=False))
        return
    if len(names) == 1 and not selection and _names_task(registry, names[0]):
        _show_task(registry.task(names[0]), home, json_)
        return
    tasks = registry.select_all(names) if names else list(registry.tasks())
    suites = [suite for suite, _ in registry.suites.values() if any(task.suite == suite.name for task in tasks)]
    by_kind, by_category = _filter_by_name("kind", tasks, kinds), _filter_by_name("category", tasks, categories)
    tasks = [task for task in _filter_by_split(tasks, suites, splits) if task in by_kind and task in by_category]
    if selection:
        _list_selection(tasks, json_)
        return
    rows = [_row(task, suites, _prepared_variants(home, task)) for task in tasks]
    if prepared is not None:
        rows = [row for row in rows if (row["prepared"] != "no") is prepared]
    if json_:
        echo_json("tasks/3", tasks=rows)
        return
    by_suite = [(suite, [row for row in rows if row["suite"] == suite.name]) for suite in suites]
    print_tables(_suite_table(suite, own) for suite, own in by_suite if own)
    count = sum(row["prepared"] != "no" for row in rows)
    echo(f"\n{plural(len(rows), 'task')}, {count} prepared. For details, run: assay tasks TASK")


def _names_task(registry: Registry, name: str) -> bool:
    """Whether a name is not that of a suite or a split; what is unknown is reported as an unknown task."""
    return "/" in name or (name not in registry.suites and ":" not in name)


def _list_selection(tasks: list[Task], json_: bool) -> None:
    """Print whether a hidden part can be split off each task, and why not."""
    from assay.data.selection import find_obstacle

    reasons = [(task.id, find_obstacle(task.in_edition(task.edition))) for task in tasks]
    records = [{"task": id, "hidden": reason is None, "reason": reason} for id, reason in reasons]
    if json_:
        echo_json("selection/1", tasks=records)
        return
    rows = [{**record, "hidden": "yes" if record["hidden"] else "no"} for record in records]
    columns = [Column("task", min_width=28), Column("hidden"), Column("reason", min_width=20)]
    print_tables([Table.from_records("selection", columns, rows)])
    count = sum(reason is None for _, reason in reasons)
    echo(f"\nA hidden part can be split off {count} of {plural(len(rows), 'task')}.")


def _suite_table(suite: Suite, rows: list[dict[str, Any]]) -> Table:
    """Return the tasks of one suite; on a narrow terminal the category, the kind and the budget are dropped first."""
    sizes = "".join(f"  {suite.name}:{split} ({len(members)})" for split, members in suite.splits.items())
    categories = [Column("category", min_width=14, drop=1)] if any(row["category"] for row in rows) else []
    columns = [
        Column("task", min_width=28),
        Column("kind", min_width=14, drop=2),
        *categories,
        *([Column("split", min_width=12, drop=5)] if suite.splits else []),
        Column("metric", min_width=12, drop=6),
        Column("budget", drop=3),
        *([Column("download", kind="size", drop=4)] if any(row["download"] for row in rows) else []),
        Column("prepared", min_width=12),
    ]
    title = f"{suite.name}: {suite.title}"
    notes = [f"editions: {', '.join(suite.editions)}" + (f"   splits:{sizes}" if sizes else "")]
    return Table.from_records("tasks", columns, rows, title=title, notes=tuple(notes))


def _filter_by_split(tasks: list[Task], suites: list[Suite], splits: tuple[str, ...]) -> list[Task]:
    """Return the tasks that are in one of the splits, or all if none is named."""
    known = {split: None for suite in suites for split in suite.splits}
    if unknown := next((split for split in splits if split not in known), None):
        raise UsageError(f"no split is named {unknown!r}; available: {', '.join(known) or 'none'}")
    members = {f"{suite.name}/{name}" for suite in suites for split in splits for name in suite.splits.get(split, ())}
    return [task for task in tasks if task.id in members] if splits else tasks


def _filter_by_name(what: Literal["kind", "category"], tasks: list[Task], names: tuple[str, ...]) -> list[Task]:
    """Return the tasks of one of these kinds or categories, in any case of letters, or all if none is named."""
    known = sorted({value for task in tasks if (value := getattr(task, what))})
    if unknown := next((name for name in names if name.lower() not in map(str.lower, known)), None):
        raise UsageError(f"no {what} is named {unknown!r}; available: {', '.join(known) or 'none'}")
    chosen = {name.lower() for name in names}
    return [task for task in tasks if (getattr(task, what) or "").lower() in chosen] if names else tasks


def _show_task(known: Task, home: Home, json_: bool) -> None:
    """Print metric, budget, editions, leaderboard, reference panel and description of a task."""
    variants = _prepared_variants(home, known)
    if json_:
        echo_json("task/2", **known.model_dump(mode="json"), prepared=variants)
        return
    echo(f"{known.id}: {known.title}\n{known.summary}\n")
    for name, fact in _facts(known, variants):
        echo(f"  {name:<11} {fact}", indent=14)
    for edition in known.editions:
        _print_rules(edition, known.rules.get(edition))
    if board := known.leaderboard:
        levels = ", ".join(f"{level} {getattr(board, level):g}" for level in ("gold", "silver", "bronze", "median"))
        echo(f"\n{board.teams:,} human teams: {levels}")
    if known.measured:
        measured = known.measured
        spread = f"± {measured.baseline_spread:.3g} over {measured.baseline_seeds} seeds"
        echo(f"\nReference panel, measured {measured.date} (starter {measured.baseline:.5g} {spread}):")
        best_first = sorted(
            measured.panel, key=lambda solution: solution.score, reverse=known.metric.direction == "higher"
        )
        columns = (
            Column("rank", kind="integer"),
            Column("solution"),
            Column("score", kind="number"),
            Column("time", kind="duration"),
        )
        rows = [(rank, solution.name, solution.score, solution.seconds) for rank, solution in enumerate(best_first, 1)]
        print_tables([Table("panel", columns, tuple(rows))])
    echo()
    print_markdown(known.description)


def _public_files(home: Home, task: Task) -> dict[str, tuple[str, int]]:
    """Return the public files of the first variant that is prepared here, with their hashes and sizes."""
    from assay.data.store import load_prepared

    for prepared in _prepared_variants(home, task):
        edition, _, variant = prepared.partition("/")
        files = load_prepared(home, task, edition, variant).manifest.public
        return {name: (file.sha256, file.size) for name, file in files.items() if file.files is None}
    return {}


def _facts(task: Task, variants: list[str]) -> list[tuple[str, str]]:
    from assay.grading.metrics import describe_metric

    resources = task.resources
    lab = f"{plural(resources.cores, 'core')}, {format_size(resources.memory)} memory, environment {task.environment}"
    if task.miniature.environment:
        lab += f" ({task.miniature.environment} on miniatures)"
    return [
        ("kind", task.kind),
        ("metric", f"{describe_metric(task)} ({task.metric.direction} is better)"),
        ("submission", f"{task.submission.file} ({task.submission.form})"),
        ("budget", f"{format_duration(task.budget.time)}, {task.budget.steps} steps"),
        ("lab", lab),
        ("editions", ", ".join(task.editions)),
        ("source", task.source.about),
        ("license", task.source.license),
        *([("preparation", _preparation(task))] if task.preparation != Preparation() else []),
        ("prepared", ", ".join(variants) or f"no; run: assay prepare {task.id}"),
        ("folder", str(task.folder)),
    ]


def _print_rules(edition: str, rules: EditionRules | None) -> None:
    """Print the quirks or repairs of an edition, one per line."""
    if rules is None or not (rules.quirks or rules.repairs):
        return
    echo(f"\nEdition {edition}{' (medals are indicative only)' if rules.indicative else ''}:")
    for name, sentence in {**rules.quirks, **rules.repairs}.items():
        echo(f"  {name}: {sentence}")


def _row(task: Task, suites: list[Suite], variants: list[str]) -> dict[str, Any]:
    suite = next(suite for suite in suites if suite.name == task.suite)
    own = [split for split, members in suite.splits.items() if task.name in members]
    return {
        "task": task.id,
        "suite": task.suite,
        "splits": own,
        "split": ", ".join(split for split in own if split != "all"),
        "title": task.title,
        "kind": task.kind,
        "category": task.category,
        "metric": _metric(task),
        "direction": task.metric.direction,
        "budget": format_duration(task.budget.time),
        "download": task.preparation.size,
        "prepared": ", ".join(variants) or "no",
    }


def _preparation(task: Task) -> str:
    size, memory = task.preparation.size, task.preparation.memory
    facts = [f"{format_size(size)} of raw data"] if size else []
    return ", ".join([*facts, *([f"about {format_size(memory)} of memory"] if memory else [])])


def _metric(task: Task) -> str:
    return f"{task.metric.name} {'↑' if task.metric.direction == 'higher' else '↓'}"


def _prepared_variants(home: Home, task: Task) -> list[str]:
    """Return the editions and variants of a task that are prepared on this machine."""
    folder = home.root / "data" / task.suite / task.name
    manifests = [path for path in sorted(folder.glob("*/*/manifest.json")) if not path.parent.name.startswith(".")]
    return [f"{path.parent.parent.name}/{path.parent.name}" for path in manifests]
