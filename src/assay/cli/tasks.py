"""`assay tasks` and `assay show`."""

import json
from pathlib import Path

import click

from assay.cli.output import as_json, registry, table
from assay.core.home import Home
from assay.core.quantities import format_duration, format_size
from assay.tasks import EditionRules, Task


@click.command("tasks")
@click.argument("names", nargs=-1, metavar="[SUITE|SPLIT]…")
@as_json
@click.pass_obj
def tasks_command(folders: tuple[Path, ...], names: tuple[str, ...], json_: bool) -> None:
    """List suites and tasks, and which are prepared.

    \b
    Example:
      assay tasks
      assay tasks pocket:quick --json
    """
    known, home = registry(folders), Home.default()
    chosen = known.select_all(names) if names else list(known.tasks())
    rows = [_row(task, _variants(home, task)) for task in chosen]
    if json_:
        click.echo(json.dumps(rows, indent=2))
        return
    for suite, _ in known.suites.values():
        if any(row["suite"] == suite.name for row in rows):
            click.echo(f"{suite.name}: {suite.title}")
            splits = "".join(f"  {suite.name}:{split} ({len(tasks)})" for split, tasks in suite.splits.items())
            click.echo(f"  editions: {', '.join(suite.editions)}" + (f"   splits:{splits}" if splits else ""))
    columns = ["task", "kind", "metric", "budget", "prepared"]
    table(columns, [[str(row[column]) for column in columns] for row in rows])


@click.command("show")
@click.argument("task")
@as_json
@click.pass_obj
def show_command(folders: tuple[Path, ...], task: str, json_: bool) -> None:
    """Show all about one task.

    \b
    Example:
      assay show pocket/house-price
    """
    found, home = registry(folders).task(task), Home.default()
    variants = _variants(home, found)
    if json_:
        click.echo(json.dumps(found.model_dump(mode="json") | {"prepared": variants}, indent=2))
        return
    click.echo(f"{found.id}: {found.title}\n{found.summary}\n")
    facts = [
        ("kind", found.kind),
        ("metric", _metric(found)),
        ("submission", f"{found.submission.file} ({found.submission.form})"),
        ("budget", f"{format_duration(found.budget.time)}, {found.budget.steps} steps"),
        (
            "lab",
            f"{found.resources.cores} core, {format_size(found.resources.memory)} memory, "
            f"environment {found.environment}",
        ),
        ("editions", ", ".join(found.editions)),
        ("source", found.source.about),
        ("license", found.source.license),
        ("prepared", ", ".join(variants) or f"no: assay prepare {found.id}"),
        ("folder", str(found.folder)),
    ]
    for name, fact in facts:
        click.echo(f"  {name:<11} {fact}")
    for edition in found.editions:
        _print_rules(edition, found.rules.get(edition))
    if board := found.leaderboard:
        levels = ", ".join(f"{level} {getattr(board, level):g}" for level in ("gold", "silver", "bronze", "median"))
        click.echo(f"\n{board.teams:,} human teams: {levels}")
    if found.measured:
        measured = found.measured
        spread = f"± {measured.baseline_spread:.3g} over {measured.baseline_seeds} seeds"
        click.echo(f"\nReference panel, measured {measured.date} (starter {measured.baseline:.5g} {spread}):")
        best_first = sorted(measured.panel, key=lambda one: one.score, reverse=found.metric.direction == "higher")
        rows = [
            [str(rank), one.name, f"{one.score:.5g}", f"{one.seconds:.1f} s"] for rank, one in enumerate(best_first, 1)
        ]
        table(["rank", "solution", "score", "time"], rows)
    click.echo("\n" + found.description)


def _print_rules(edition: str, rules: EditionRules | None) -> None:
    """What is particular to an edition, a line each."""
    if rules is None or not (rules.quirks or rules.repairs):
        return
    click.echo(f"\nEdition {edition}{' (its medals only indicate)' if rules.indicative else ''}:")
    for name, sentence in {**rules.quirks, **rules.repairs}.items():
        click.echo(f"  {name}: {sentence}")


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


def _variants(home: Home, task: Task) -> list[str]:
    """Editions and variants of a task that are on this machine."""
    folder = home.root / "data" / task.suite / task.name
    found = [path for path in sorted(folder.glob("*/*/manifest.json")) if not path.parent.name.startswith(".")]
    return [f"{path.parent.parent.name}/{path.parent.name}" for path in found]
