"""`assay tasks` and `assay show`."""

import json
from pathlib import Path

import click

from assay.cli.output import as_json, echo, open_registry, print_table
from assay.core.home import Home
from assay.core.quantities import format_duration, format_size
from assay.core.text import plural
from assay.tasks import EditionRules, Task


@click.command("tasks")
@click.argument("names", nargs=-1, metavar="[SUITE|SPLIT]…")
@as_json
@click.pass_obj
def tasks_command(folders: tuple[Path, ...], names: tuple[str, ...], json_: bool) -> None:
    """List suites and tasks, and which tasks are prepared.

    \b
    Examples:
      assay tasks
      assay tasks pocket:quick --json
    """
    registry, home = open_registry(folders), Home.default()
    tasks = registry.select_all(names) if names else list(registry.tasks())
    rows = [_row(task, _prepared_variants(home, task)) for task in tasks]
    if json_:
        echo(json.dumps(rows, indent=2))
        return
    for suite, _ in registry.suites.values():
        if any(row["suite"] == suite.name for row in rows):
            echo(f"{suite.name}: {suite.title}")
            splits = "".join(f"  {suite.name}:{split} ({len(tasks)})" for split, tasks in suite.splits.items())
            echo(f"  editions: {', '.join(suite.editions)}" + (f"   splits:{splits}" if splits else ""))
    columns = ["task", "kind", "metric", "budget", "prepared"]
    print_table(columns, [[str(row[column]) for column in columns] for row in rows])


@click.command("show")
@click.argument("task")
@as_json
@click.pass_obj
def show_command(folders: tuple[Path, ...], task: str, json_: bool) -> None:
    """Show details of a task: metric, budget, editions, leaderboard, reference panel, description.

    \b
    Examples:
      assay show pocket/house-price
    """
    found, home = open_registry(folders).task(task), Home.default()
    variants = _prepared_variants(home, found)
    if json_:
        echo(json.dumps(found.model_dump(mode="json") | {"prepared": variants}, indent=2))
        return
    echo(f"{found.id}: {found.title}\n{found.summary}\n")
    for name, fact in _facts(found, variants):
        echo(f"  {name:<11} {fact}")
    for edition in found.editions:
        _print_rules(edition, found.rules.get(edition))
    if board := found.leaderboard:
        levels = ", ".join(f"{level} {getattr(board, level):g}" for level in ("gold", "silver", "bronze", "median"))
        echo(f"\n{board.teams:,} human teams: {levels}")
    if found.measured:
        measured = found.measured
        spread = f"± {measured.baseline_spread:.3g} over {measured.baseline_seeds} seeds"
        echo(f"\nReference panel, measured {measured.date} (starter {measured.baseline:.5g} {spread}):")
        best_first = sorted(measured.panel, key=lambda one: one.score, reverse=found.metric.direction == "higher")
        rows = [
            [str(rank), one.name, f"{one.score:.5g}", f"{one.seconds:.1f} s"] for rank, one in enumerate(best_first, 1)
        ]
        print_table(["rank", "solution", "score", "time"], rows)
    echo("\n" + found.description)


def _facts(task: Task, variants: list[str]) -> list[tuple[str, str]]:
    resources = task.resources
    lab = f"{plural(resources.cores, 'core')}, {format_size(resources.memory)} memory, environment {task.environment}"
    return [
        ("kind", task.kind),
        ("metric", _metric(task)),
        ("submission", f"{task.submission.file} ({task.submission.form})"),
        ("budget", f"{format_duration(task.budget.time)}, {task.budget.steps} steps"),
        ("lab", lab),
        ("editions", ", ".join(task.editions)),
        ("source", task.source.about),
        ("license", task.source.license),
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


def _row(task: Task, variants: list[str]) -> dict[str, str | list[str]]:
    return {
        "task": task.id,
        "suite": task.suite,
        "title": task.title,
        "kind": task.kind,
        "metric": _metric(task),
        "direction": task.metric.direction,
        "budget": format_duration(task.budget.time),
        "prepared": ", ".join(variants) or "no",
    }


def _metric(task: Task) -> str:
    return f"{task.metric.name} {'↑' if task.metric.direction == 'higher' else '↓'}"


def _prepared_variants(home: Home, task: Task) -> list[str]:
    """Return the editions and variants of a task that are prepared on this machine."""
    folder = home.root / "data" / task.suite / task.name
    manifests = [path for path in sorted(folder.glob("*/*/manifest.json")) if not path.parent.name.startswith(".")]
    return [f"{path.parent.parent.name}/{path.parent.name}" for path in manifests]
