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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.board.folder import BoardEntry, BoardFolder, UnverifiedEntry, open_entry
from assay.board.history import make_history_table, read_history
from assay.core.disk import random_token, write_json
from assay.core.errors import UsageError
from assay.core.figure import STYLESHEET, Figure
from assay.core.progress import NoProgress, Progress
from assay.core.table import Column, Table
from assay.core.untrusted import read_json
from assay.results.cost import draw_fronts, measure_costs
from assay.results.disclosure import Disclosure, disclose_agents
from assay.results.figures import number_colors
from assay.results.frame import Frame, group_by, read_frame
from assay.results.paired import Comparison
from assay.tasks import Registry
from assay.web.conditions import Conditions, compare_rows, find_conditions
from assay.web.leaderboard import Line, make_lines, rank_on_common_tasks
from assay.web.tables import make_trial_table

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
    trials: Frame

    @property
    def table(self) -> Table:
        """Its trials, with links to their pages."""
        exclude = ("task", "agent", "improvement", "reason")
        return make_trial_table(self.trials, {}, lambda row: f"../trials/{self.entry.name}/{row.trial}.html", exclude)

    @property
    def label(self) -> str:
        """A name that no other row of the board has."""
        return f"{self.line.agent} [{self.entry.name[:6]}]"


@dataclass(frozen=True)
class Group:
    """Rows that are comparable, the best first, and published results; `refusal` says why there is no verdict."""

    conditions: Conditions
    rows: tuple[BoardRow, ...]
    comparisons: Sequence[Comparison]
    refusal: str | None
    fronts: Sequence[Figure]
    published: Any


def build_site(
    board: BoardFolder, out: Path, registry: Registry, *, title: str, progress: Progress | None = None
) -> int:
    """Write the site and return the number of its pages; an older site of a board is replaced, nothing else is."""
    from assay.web.app import make_environment

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
        page = environment.get_template("board.html.jinja").render(
            title=title,
            root="",
            groups=groups,
            entries=entries,
            unverified=[make_unverified_table(board, entry, registry) for entry in board.unverified()],
            history=make_history_table(read_history(board.path)),
        )
        (site / "index.html").write_text(page, encoding="utf-8")
        write_json(site / _MARKER, {"format": "board-site/1", "entries": [entry.digest for entry in entries]}, None)
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
        rescored = board.rescored(entry)
        recorded = read_frame(run, registry=registry)
        rows_now = (replace(row, grade=rescored[row.trial]) if row.trial in rescored else row for row in recorded)
        trials = Frame(rows_now, recorded.known_tasks)
        own = list(_make_rows(entry, trials, registry))
        rows += own
        shutil.copyfile(board.bundle(entry), site / "bundles" / f"{entry.name}.zip")
        folder = site / "trials" / entry.name
        folder.mkdir()
        served: dict[str, None] = {}
        pages = 1
        for row in trials:
            prompts_page = f"{row.trial}-prompts.html"
            part = make_trial_part(row, PageBudget(_PAGE_SIZE, highlight=False), prompts_page=prompts_page)
            served |= dict.fromkeys(part.served)
            templates = {f"{row.trial}.html": "board_trial"}
            templates |= {prompts_page: "board_prompts"} if part.prompts else {}
            for name_of_page, template_name in templates.items():
                template = environment.get_template(f"{template_name}.html.jinja")
                page = template.render(title=title, root="../../", entry=entry, part=part)
                (folder / name_of_page).write_text(page, encoding="utf-8")
            pages += len(templates)
        template = environment.get_template("board_entry.html.jinja")
        page = template.render(title=title, root="../", entry=entry, rows=own, served=list(served))
        (site / "entries" / f"{entry.name}.html").write_text(page, encoding="utf-8")
    return pages


def make_unverified_table(board: BoardFolder, entry: UnverifiedEntry, registry: Registry) -> Table:
    """Return results of other harnesses as a table of their own: nothing of them was verified."""
    from assay.interop.importers import read_results

    frame = read_results([board.path / "unverified" / entry.name / "trials.csv"], registry).frame
    columns = (
        Column("suite"),
        Column("agent"),
        Column("success", kind="rate"),
        Column("trials", kind="integer"),
        Column("verified"),
    )
    rows = [
        (str(group[0].rules), line.agent, line.success, line.trials, "not verified")
        for group in frame.group_by(lambda row: row.rules)
        for line in make_lines(group, group.families)
    ]
    about = f"{', '.join(entry.harnesses)}, by {entry.info.by or 'not disclosed'}, added {entry.added_at[:10]}"
    return Table("unverified", columns, tuple(rows), title=about)


def _make_rows(entry: BoardEntry, trials: Frame, registry: Registry) -> Iterator[BoardRow]:
    disclosures = {(each.rules, each.agent): each for each in disclose_agents(trials)}
    for group in trials.group_by(lambda row: (row.rules, row.agent)):
        for line in make_lines(group, group.families):
            disclosure = disclosures[group[0].rules, group[0].agent]
            yield BoardRow(entry, find_conditions(group, registry), line, disclosure, group)


def _group_rows(rows: Sequence[BoardRow], registry: Registry) -> list[Group]:
    groups = []
    for group in group_by(rows, lambda row: row.conditions):
        families = {trial.task: trial.family for row in group for trial in row.trials if trial.family}
        lines = rank_on_common_tasks([row.line for row in group], families)
        ranked = [replace(row, line=line) for row, line in zip(group, lines, strict=True)]
        best_first = sorted(ranked, key=lambda row: (*row.line.order, row.label))
        trials = [replace(trial, agent=row.label) for row in best_first for trial in row.trials]
        comparisons, refusal = compare_rows(trials, best_first[0].label)
        groups.append(
            Group(
                conditions=group[0].conditions,
                rows=tuple(best_first),
                comparisons=comparisons,
                refusal=refusal,
                fronts=draw_fronts(measure_costs(trials), number_colors(row.label for row in best_first)),
                published=_find_published(group[0], registry),
            )
        )
    return sorted(groups, key=lambda group: (group.conditions.rules, group.conditions.split, group.conditions.time))


def _find_published(row: BoardRow, registry: Registry) -> Any:
    from assay.web.selection import find_published

    task = registry.recorded_task(row.trials[0].task)
    return find_published(row.conditions.rules, row.trials.tasks, task.folder.parent)
