"""Results as tables for papers and documents: Markdown, and LaTeX with booktabs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.results import wording
from assay.results.inference import ERROR_KINDS, INTERVAL_METHOD, ErrorKind
from assay.results.outcome import Outcome
from assay.results.statistics import (
    Cell,
    Standing,
    detectable_difference_in_success,
    group_by,
    summarize_cells,
    summarize_standings,
)
from assay.results.tables import describe_caveats, warn_of_no_error

_MAX_CELL = 200


@dataclass(frozen=True)
class _Table:
    """A table of text; the first column is left-aligned, the others are right-aligned."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def to_markdown(outcomes: Sequence[Outcome], title: str, error: ErrorKind = "tasks") -> str:
    """Return each agent overall, and the scores by task, as Markdown tables."""
    parts = [f"# {_escape_markdown(title)}"]
    for table in _make_tables(outcomes, error):
        lines = [
            _markdown_row(table.header),
            _markdown_row([":--", *["--:"] * (len(table.header) - 1)], escaped=True),
            *(_markdown_row(row) for row in table.rows),
        ]
        parts += [f"## {_escape_markdown(table.title)}", "\n".join(lines)]
        if table.notes:
            parts.append("\n".join(f"- {_escape_markdown(note)}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def to_latex(outcomes: Sequence[Outcome], error: ErrorKind = "tasks") -> str:
    """Return the same tables for LaTeX; the document needs the package booktabs."""
    parts = ["% Needs \\usepackage{booktabs}"]
    for table in _make_tables(outcomes, error):
        columns = "l" + "r" * (len(table.header) - 1)
        lines = [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{_escape_latex(_caption(table))}}}",
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            _latex_row(table.header),
            "\\midrule",
            *map(_latex_row, table.rows),
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _caption(table: _Table) -> str:
    return ". ".join((table.title, *(note.rstrip(".") for note in table.notes))) + "."


def _make_tables(outcomes: Sequence[Outcome], error: ErrorKind) -> list[_Table]:
    tables = []
    for same in group_by(outcomes, lambda o: o.rules):
        cells, standings = summarize_cells(same), summarize_standings(same)
        if cells:
            tables += [_overall(same, standings, error), _by_task(cells)]
    return tables


def _overall(outcomes: Sequence[Outcome], standings: Sequence[Standing], error: ErrorKind) -> _Table:
    power = detectable_difference_in_success([one for one in outcomes if one.counts])
    notes = [f"±: standard error {ERROR_KINDS[error]}", f"Interval: {INTERVAL_METHOD}"]
    notes += [f"These tasks show differences of {100 * power:.0f} points or more with 80 % power"] if power else []
    notes += [*warn_of_no_error(standings, error), *describe_caveats(outcomes)]
    return _Table(
        title=f"{standings[0].rules}: all tasks",
        header=("Agent", "Success", "95 % interval", "Valid", "Tasks", "Trials"),
        rows=tuple(
            (
                line.agent,
                wording.format_mean_success(line, error),
                wording.format_interval(line.success) if line.success else wording.NOTHING,
                wording.format_count(line.valid),
                str(line.tasks - line.inapplicable_tasks),
                str(line.trials),
            )
            for line in standings
        ),
        notes=tuple(notes),
    )


def _by_task(cells: Sequence[Cell]) -> _Table:
    agents = list(dict.fromkeys(cell.agent for cell in cells))
    rows = []
    for task in group_by(cells, lambda c: c.task):
        found = {cell.agent: cell for cell in task}
        scores = [_score(found[agent]) if agent in found else wording.NOTHING for agent in agents]
        rows.append((f"{wording.short_task_name(task[0].task)} ({task[0].metric} {_arrow(task[0])})", *scores))
    return _Table(
        title=f"{cells[0].rules}: scores by task",
        header=("Task", *agents),
        rows=tuple(rows),
        notes=("Mean ± standard error over valid trials; * best: its 95 % interval overlaps no other agent's",),
    )


def _score(cell: Cell) -> str:
    return wording.format_cell_score(cell) + ("*" if cell.best else "")


def _arrow(cell: Cell) -> str:
    return wording.ARROWS[cell.direction]


def _markdown_row(cells: Sequence[str], *, escaped: bool = False) -> str:
    return f"| {' | '.join(cell if escaped else _escape_markdown(cell) for cell in cells)} |"


def _escape_markdown(text: str) -> str:
    """Return text on one line that is neither markup, a link, nor the end of a cell."""
    return re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", wording.one_line(text, _MAX_CELL))


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "−": "$-$", "–": "--", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "…": r"\ldots{}",
    "·": r"$\cdot$", "≥": r"$\geq$", "×": r"$\times$", "\u202f": "\\,", "*": r"$^*$",
}  # fmt: skip


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(_escape_latex(wording.one_line(cell, _MAX_CELL)) for cell in cells)} \\\\"


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
