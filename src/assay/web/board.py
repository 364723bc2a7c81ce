"""The static site of a board: entries grouped by what is comparable, a disclosure card for each, every trial's trace.

    index.html                      all groups
    entries/NAME.html               one entry: disclosure, results by task
    trials/NAME/TRIAL.html          what happened in a trial
    trials/NAME/TRIAL-prompts.html  the exact prompts of its model calls, if it has any
    bundles/NAME.zip                the verified bundle, for everybody who wants to verify it again
    static/                         styles and one script

Links are relative, so the site works below any address. What bundles contain is untrusted: templates escape it, and
pages have a content-security policy without inline scripts.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.disk import random_token, write_json
from assay.core.errors import MissingDependency, UsageError
from assay.core.figure import STYLESHEET
from assay.core.progress import NoProgress, Progress
from assay.core.untrusted import read_json
from assay.results.board import BoardEntry, BoardFolder, open_entry
from assay.results.collect import collect_summaries
from assay.results.comparison import Comparison, compare_agents, select_trials
from assay.results.disclosure import Disclosure, SummaryAndOutcome, disclose_agents
from assay.results.statistics import detectable_difference_in_success, group_by
from assay.tasks import Registry
from assay.web.conditions import Conditions, find_conditions
from assay.web.leaderboard import Line, make_lines

_STATIC = Path(__file__).parent / "static"
_FILES = (STYLESHEET, *(_STATIC / name for name in ("view.css", "trace.css", "view.js", "icon.svg")))
_MARKER = "board.json"
_PAGE_SIZE = 1_000_000
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class BoardRow:
    """An agent of an entry: its results, its disclosure and its trials."""

    entry: BoardEntry
    conditions: Conditions
    line: Line
    disclosure: Disclosure
    trials: tuple[SummaryAndOutcome, ...]

    @property
    def label(self) -> str:
        """A name that no other row of the board has."""
        return f"{self.line.agent} [{self.entry.name[:6]}]"


@dataclass(frozen=True)
class Group:
    """Rows that are comparable, the best first, and published results for reference."""

    conditions: Conditions
    rows: tuple[BoardRow, ...]
    comparisons: tuple[Comparison, ...]
    detectable: float | None
    published: Any


def build_site(
    board: BoardFolder, out: Path, registry: Registry, *, title: str, progress: Progress | None = None
) -> int:
    """Write the site and return the number of its pages; an older site of a board is replaced, nothing else is."""
    try:
        from assay.web.app import make_environment
    except ImportError:
        raise MissingDependency("The board", "web") from None
    _refuse_foreign(out)
    entries = board.entries()
    environment = make_environment()
    environment.globals["policy"] = POLICY
    out.parent.mkdir(parents=True, exist_ok=True)
    site = out.with_name(f".{out.name}.{random_token()}")
    rows: list[BoardRow] = []
    pages = 1
    try:
        _copy_static(site)
        with (progress or NoProgress()).stage("building the board", total=len(entries)) as advance:
            for entry in entries:
                pages += _add_entry(site, board, entry, registry, rows, environment, title)
                advance(1)
        groups = _group_rows(rows, registry)
        page = environment.get_template("board.html.jinja").render(title=title, root="", groups=groups, entries=entries)
        (site / "index.html").write_text(page, encoding="utf-8")
        write_json(site / _MARKER, {"format": "board-site/1", "entries": [entry.digest for entry in entries]})
        if out.exists():
            shutil.rmtree(out)
        site.rename(out)
    finally:
        shutil.rmtree(site, ignore_errors=True)
    return pages


def _refuse_foreign(out: Path) -> None:
    """Refuse to replace a folder that is not the site of a board."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / _MARKER).is_file() or read_json(out / _MARKER).get("format") != "board-site/1":
        raise UsageError(f"{out} exists and is not the site of a board; choose another folder")


def _copy_static(site: Path) -> None:
    (site / "static").mkdir(parents=True)
    for path in _FILES:
        shutil.copyfile(path, site / "static" / path.name)
    (site / ".nojekyll").touch()  # GitHub Pages serves files as they are
    for name in ("entries", "trials", "bundles"):
        (site / name).mkdir()


def _add_entry(
    site: Path,
    board: BoardFolder,
    entry: BoardEntry,
    registry: Registry,
    rows: list[BoardRow],
    environment: Any,
    title: str,
) -> int:
    """Write the pages of one entry, add its rows to the others, and return the number of pages."""
    from assay.web.markup import PageBudget
    from assay.web.trials import make_trial_part

    with tempfile.TemporaryDirectory(prefix="assay-board-") as name:
        run = open_entry(board, entry, Path(name) / "run")
        trials = collect_summaries(run, registry=registry)
        own = list(_make_rows(entry, trials, registry))
        rows += own
        shutil.copyfile(board.bundle(entry), site / "bundles" / f"{entry.name}.zip")
        folder = site / "trials" / entry.name
        folder.mkdir()
        served: dict[str, None] = {}
        pages = 1
        for trial, outcome in trials:
            prompts_page = f"{trial.folder.path.name}-prompts.html"
            part = make_trial_part(trial, outcome, PageBudget(_PAGE_SIZE, highlight=False), prompts_page=prompts_page)
            served |= dict.fromkeys(part.served)
            shown = {f"{trial.folder.path.name}.html": "board_trial"}
            shown |= {prompts_page: "board_prompts"} if part.prompts else {}
            for name_of_page, template_name in shown.items():
                template = environment.get_template(f"{template_name}.html.jinja")
                page = template.render(title=title, root="../../", entry=entry, part=part)
                (folder / name_of_page).write_text(page, encoding="utf-8")
            pages += len(shown)
        template = environment.get_template("board_entry.html.jinja")
        page = template.render(title=title, root="../", entry=entry, rows=own, served=list(served))
        (site / "entries" / f"{entry.name}.html").write_text(page, encoding="utf-8")
    return pages


def _make_rows(entry: BoardEntry, trials: Sequence[SummaryAndOutcome], registry: Registry) -> Iterator[BoardRow]:
    disclosures = {(one.rules, one.agent): one for one in disclose_agents(trials)}
    for same in group_by(trials, lambda pair: (pair[1].rules, pair[1].agent)):
        outcomes = [outcome for _, outcome in same]
        strata = {outcome.task: outcome.split for outcome in outcomes}
        lines = make_lines(outcomes, strata)
        if lines:
            disclosure = disclosures[outcomes[0].rules, outcomes[0].agent]
            yield BoardRow(entry, find_conditions(same, registry), lines[0], disclosure, tuple(same))


def _group_rows(rows: Sequence[BoardRow], registry: Registry) -> list[Group]:
    groups = []
    for same in group_by(rows, lambda row: row.conditions):
        best_first = sorted(same, key=lambda row: (-(row.line.success or 0.0), row.label))
        outcomes = [replace(outcome, agent=row.label) for row in same for _, outcome in row.trials if outcome.counts]
        groups.append(
            Group(
                conditions=same[0].conditions,
                rows=tuple(best_first),
                comparisons=tuple(_compare(best_first)),
                detectable=detectable_difference_in_success(outcomes),
                published=_find_published(same[0], registry),
            )
        )
    return sorted(groups, key=lambda group: (group.conditions.rules, group.conditions.split, group.conditions.time))


def _compare(rows: Sequence[BoardRow]) -> list[Comparison]:
    """Compare each row with the best one; nothing where a condition that the page does not show differs."""
    if len(rows) < 2:
        return []
    trials = [(trial, replace(outcome, agent=row.label)) for row in rows for trial, outcome in row.trials]
    strata: Mapping[str, str] = {outcome.task: outcome.split for _, outcome in trials}
    try:
        return compare_agents(select_trials(row for _, row in trials), baseline=rows[0].label, strata=strata)
    except UsageError:
        return []


def _find_published(row: BoardRow, registry: Registry) -> Any:
    from assay.web.selection import Selection, find_published

    split = row.conditions.split.partition(" ")[0]
    task = registry.recorded_task(row.trials[0][1].task)
    whole = split in ("all", *registry.suites[row.conditions.rules.suite][0].splits)
    return find_published(row.conditions.rules, task, Selection(split=split)) if whole else None
