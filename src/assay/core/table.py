"""Tables: one description of columns and rows, rendered to the terminal, CSV, JSON, Markdown, LaTeX and HTML.

A command, a study or a page makes a `Table` of typed values; how a value is written depends on the kind of its column
and is decided here and in `core/values.py`, never by whoever makes the table.
"""

import csv
import html
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from datetime import datetime
from textwrap import wrap
from typing import Any, Literal

from assay.core.claim import (
    Claim,
    Published,
    Standing,
    format_difference,
    format_limits,
    format_published,
    format_ranks,
    format_rate,
    format_standing,
)
from assay.core.layout import FittedTable, TableColumn, fit_table
from assay.core.text import one_line
from assay.core.values import (
    NOTHING,
    Estimate,
    Interval,
    format_change,
    format_cost,
    format_count,
    format_estimate,
    format_interval,
    format_measured,
    format_moment,
    format_number,
    format_p,
    format_percent,
    format_size,
)

Kind = Literal[
    "text", "prose", "integer", "number", "share", "change", "p", "duration", "size", "cost", "date", "flag",
    "estimate", "interval", "rate", "count", "difference", "limits", "rank", "best", "shrunken",
]  # fmt: skip
"""What the values of a column are, which decides how they are written and aligned.

The last seven say how good agents are, and hold nothing but claims: a `rate` with its interval, or as a `count`; a
`difference` in points; the `limits` of either; and of a `Standing` the open ranks, the probability of being the best,
and the shrunken rate. A `share` is of anything else.
"""

Style = Literal["", "best", "failed", "warning", "muted"]


@dataclass(frozen=True)
class Formatted:
    """A value that is written as `text` where people read it, and is itself in CSV and JSON.

    On a page it links to an address, and has the color of an agent, of which it is the number. In Markdown and LaTeX it
    is `bold` if it is the best.
    """

    value: "Value"
    text: str
    link: str = ""
    color: int | None = None
    bold: bool = False


Value = str | int | float | bool | datetime | Estimate | Interval | Claim | Standing | Published | Formatted | None
Record = dict[str, Any]

_CLAIMS: Mapping[Kind, tuple[type, ...]] = {
    "rate": (Claim, Published), "count": (Claim,), "difference": (Claim,), "limits": (Claim,),
    "rank": (Standing,), "best": (Standing,), "shrunken": (Standing,),
}  # fmt: skip
"""The only values that columns of these kinds hold."""
_LEFT: tuple[Kind, ...] = ("text", "prose", "flag", "date")
_MAX_CELL = 200


@dataclass(frozen=True)
class Column:
    """A column: its name in CSV and JSON, its title for people, and the kind of its values.

    On a narrow terminal, text shrinks to no less than `min_width`, and columns with a `drop` are dropped, the lowest
    number first. A `data_only` column is in CSV and JSON, but not where people read. The values of a `heading` column
    head groups of rows on the terminal, and a `text_only` column is for people only.
    """

    name: str
    title: str = ""
    kind: Kind = "text"
    min_width: int = 20
    drop: int | None = None
    decimals: int = 0
    data_only: bool = False
    text_only: bool = False
    heading: bool = False

    @property
    def label(self) -> str:
        """What stands at its top."""
        return self.title or self.name.replace("_", " ")

    @property
    def right_aligned(self) -> bool:
        """Whether its values are numbers."""
        return self.kind not in _LEFT

    def format(self, value: Value) -> str:
        """Return a value as people read it."""
        return format_value(value, self.kind, self.decimals)


@dataclass(frozen=True)
class Table:
    """A titled table with notes below it; `styles` has a style per row, or is empty."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    styles: tuple[Style, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for JSON, such as settings that the table was made with."""

    def __post_init__(self) -> None:
        for index, column in enumerate(self.columns):
            if allowed := _CLAIMS.get(column.kind):
                for row in self.rows:
                    _require_claim(self.name, column, row[index], allowed)

    @classmethod
    def from_records(
        cls, name: str, columns: Sequence[Column], records: Iterable[Mapping[str, Value]], **options: Any
    ) -> "Table":
        """Return a table from a mapping per row; a missing key is an empty cell."""
        rows = tuple(tuple(record.get(column.name) for column in columns) for record in records)
        return cls(name, tuple(columns), rows, **options)

    def __len__(self) -> int:
        return len(self.rows)

    def to_lines(self, width: int | None = None) -> Iterator[tuple[str, Style | Literal["title", "header", "note"]]]:
        """Yield the lines of the table with their styles, in `width` characters; None leaves every cell as it is."""
        printed = [index for index, column in enumerate(self.columns) if not column.data_only and not column.heading]
        headings = [index for index, column in enumerate(self.columns) if column.heading]
        columns = [self.columns[index] for index in printed]
        cells = [[one_line(self.columns[i].format(row[i])) for i in printed] for row in self.rows]
        indent = 2 if headings else 0
        fitted = _fit(columns, cells, None if width is None else width - indent)
        yield from ((part, "title") for part in _wrap(self.title, width))
        yield " " * indent + "  ".join(fitted.header).rstrip(), "header"
        group: list[str] = []
        for number, line in enumerate(fitted.rows):
            names = [one_line(self.columns[i].format(self.rows[number][i])) for i in headings]
            if headings and names != group:
                yield "  ".join(filter(None, names)), "title"
                group = names
            yield " " * indent + "  ".join(line).rstrip(), self._style(number)
        if fitted.left_out:
            yield f"(hidden to fit the width: {', '.join(fitted.left_out)})", "muted"
        for note in self.notes:
            yield from ((part, "note") for part in _wrap(note, width))

    def to_text(self, width: int | None = None) -> str:
        """Return the table as plain text."""
        return "\n".join(line for line, _ in self.to_lines(width))

    def to_records(self) -> list[Record]:
        """Return a mapping per row, with estimates and rates spread over several keys, as in the CSV."""
        columns = [(index, column) for index, column in enumerate(self.columns) if not column.text_only]
        return [
            {name: item for index, column in columns for name, item in _spread(column, row[index])} for row in self.rows
        ]

    def to_csv(self) -> str:
        """Return CSV with a header."""
        names = [name for column in self.columns if not column.text_only for name in _spread_names(column)]
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _csv_value(item) for name, item in record.items()} for record in self.to_records())
        return text.getvalue()

    def to_dict(self) -> Record:
        """Return name, title, rows and notes as plain data that strict JSON can hold."""
        parts: Record = {"name": self.name, "title": self.title, **self.extra, "rows": self.to_records()}
        plain: Record = to_plain(parts | {"notes": list(self.notes)})
        return plain

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return a Markdown table with its title and notes."""
        columns, rows = self._cells()
        lines = [
            _markdown_row([escape_markdown(column.label) for column in columns]),
            _markdown_row(["--:" if column.right_aligned else ":--" for column in columns]),
            *(
                _markdown_row(list(map(_markdown_cell, row, bold)))
                for row, bold in zip(rows, self._bold(), strict=True)
            ),
        ]
        parts = [f"## {escape_markdown(self.title)}"] if self.title else []
        parts.append("\n".join(lines))
        if self.notes:
            parts.append("\n".join(f"- {escape_markdown(note)}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def to_latex(self) -> str:
        """Return a LaTeX table; the document needs the package booktabs."""
        columns, rows = self._cells()
        notes = " ".join(f"{note.rstrip('.')}." for note in self.notes)
        lines = [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{escape_latex(self.title)}}}",
            f"\\begin{{tabular}}{{{''.join('r' if column.right_aligned else 'l' for column in columns)}}}",
            "\\toprule",
            _latex_row([column.label for column in columns]),
            "\\midrule",
            *(_latex_row(row, bold) for row, bold in zip(rows, self._bold(), strict=True)),
            "\\bottomrule",
            "\\end{tabular}",
            *([f"\\par\\smallskip\\footnotesize {escape_latex(notes)}"] if notes else []),
            "\\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def to_html(self, classes: str = "table") -> str:
        """Return an HTML table; the style sheet of the page decides how it looks, and a script may sort its rows."""
        printed = [index for index, column in enumerate(self.columns) if not column.data_only and not column.heading]
        headings = [index for index, column in enumerate(self.columns) if column.heading]
        columns = [self.columns[index] for index in printed]
        head = "".join(f'<th scope="col"{_html_class(column)}>{html.escape(column.label)}</th>' for column in columns)
        body, group = "", list[str]()
        for number, row in enumerate(self.rows):
            names = [one_line(self.columns[index].format(row[index])) for index in headings]
            if headings and names != group:
                heading = html.escape("  ".join(filter(None, names)))
                opening = f'<th colspan="{len(columns)}" scope="rowgroup">{heading}</th>'
                body, group = f"{body}{'</tbody><tbody>' if group else ''}<tr>{opening}</tr>", names
            cells = "".join(_html_cell(self.columns[index], row[index], index == printed[0]) for index in printed)
            style = self._style(number)
            body += f'<tr class="{style}">{cells}</tr>' if style else f"<tr>{cells}</tr>"
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in self.notes)
        return f'<table class="{classes}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}'

    def __html__(self) -> str:
        """Return the table for a page."""
        return self.to_html()

    def _repr_html_(self) -> str:
        return self.to_html()

    def _cells(self) -> tuple[list[Column], list[list[str]]]:
        printed = [index for index, column in enumerate(self.columns) if not column.data_only]
        rows = [[one_line(self.columns[i].format(row[i]), _MAX_CELL) for i in printed] for row in self.rows]
        return [self.columns[index] for index in printed], rows

    def _bold(self) -> list[list[bool]]:
        printed = [index for index, column in enumerate(self.columns) if not column.data_only]
        cells = [[row[index] for index in printed] for row in self.rows]
        return [[isinstance(cell, Formatted) and cell.bold for cell in row] for row in cells]

    def select(self, names: Sequence[str]) -> "Table":
        """Return the table with only these columns, by name or title; `ValueError` names an unknown one."""
        known = {column.label.lower(): index for index, column in enumerate(self.columns) if not column.data_only}
        known |= {column.name.lower(): index for index, column in enumerate(self.columns)}
        if unknown := next((name for name in names if name.lower() not in known), None):
            titles = ", ".join(column.label for column in self.columns if not column.data_only)
            raise ValueError(f"there is no column {unknown!r}; available: {titles}")
        chosen = [known[name.lower()] for name in names]
        rows = tuple(tuple(row[index] for index in chosen) for row in self.rows)
        return replace(self, columns=tuple(self.columns[index] for index in chosen), rows=rows)

    def _style(self, number: int) -> Style:
        return self.styles[number] if self.styles else ""


def _require_claim(table: str, column: Column, cell: Value, allowed: tuple[type, ...]) -> None:
    value = cell.value if isinstance(cell, Formatted) else cell
    wrong = value is not None and not isinstance(value, allowed)
    if isinstance(value, Claim) and column.kind in ("rate", "count", "difference"):
        wrong = (value.estimand.kind == "difference") != (column.kind == "difference")
    if wrong:
        names = " or ".join(each.__name__ for each in allowed)
        raise TypeError(f"column {column.name} of table {table} is a {column.kind}, which only a {names} can state")


def format_value(value: Value, kind: Kind = "text", decimals: int = 0) -> str:
    """Return a value as people read it; nothing and numbers that are not finite are a dash."""
    if isinstance(value, Formatted):
        return value.text
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    if isinstance(value, Estimate):
        return format_estimate(value)
    if isinstance(value, Claim):
        return _format_claim(value, kind, decimals)
    if isinstance(value, Standing):
        if kind == "rank":
            return format_ranks(value)
        if kind == "best":
            return format_standing(value.best, value.best_bounds, decimals)
        return format_standing(value.shrunken, value.shrunken_bounds, decimals)
    if isinstance(value, Published):
        return format_published(value, decimals)
    if isinstance(value, Interval):
        return format_interval(value)
    if isinstance(value, datetime):
        return format_moment(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return _format_number(value, kind, decimals)


def _format_claim(claim: Claim, kind: Kind, decimals: int) -> str:
    match kind:
        case "count":
            return format_count(claim)
        case "limits":
            return format_limits(claim, decimals)
        case "p":
            return NOTHING if claim.p_adjusted is None else format_p(claim.p_adjusted)
        case _:
            form = format_difference if claim.estimand.kind == "difference" else format_rate
            return form(claim, decimals)


def _format_number(value: float, kind: Kind, decimals: int) -> str:
    match kind:
        case "number":
            return format_number(value)
        case "share":
            return format_percent(value, decimals)
        case "change":
            return format_change(value)
        case "p":
            return format_p(value)
        case "duration":
            return format_measured(value)
        case "size":
            return format_size(round(value))
        case "cost":
            return format_cost(value)
        case _:
            return f"{value:,}" if isinstance(value, int) else format_number(value)


def to_plain(value: Any) -> Any:
    """Return data that strict JSON can hold: dataclasses and models as mappings, and null for NaN and infinity."""
    if isinstance(value, Formatted):
        return to_plain(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "model_dump"):
        return to_plain(value.model_dump())
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain(asdict(value))
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [to_plain(item) for item in value]
    return value


def escape_markdown(text: str) -> str:
    """Return text on one line that is neither markup, a link, nor the end of a cell."""
    return re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", one_line(text, _MAX_CELL))


def escape_latex(text: str) -> str:
    """Return text on one line without anything that LaTeX would execute."""
    return "".join(_LATEX.get(character, character) for character in text)


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "−": "$-$", "–": "--", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "…": r"\ldots{}",
    "·": r"$\cdot$", "≥": r"$\geq$", "×": r"$\times$", "\u202f": "\\,", "*": r"$^*$",
}  # fmt: skip

_RATE = {"_count": "count", "_trials": "trials", "_rate": "value", "_low": "low", "_high": "high", "_worst": "worst",
         "_best": "best", "_population": "population"}  # fmt: skip
_PARTS: Mapping[Kind, Mapping[str, str]] = {
    "estimate": {"_mean": "mean", "_error": "error"},
    "rate": _RATE,
    "count": _RATE,
    "difference": {"": "value", "_low": "low", "_high": "high", "_worst": "worst", "_best": "best",
                   "_population": "population"},
    "limits": {"_low": "low", "_high": "high"},
    "interval": {"_low": "low", "_high": "high"},
    "rank": {"_low": "low", "_high": "high"},
    "best": {"": "best"},
    "shrunken": {"": "shrunken"},
}  # fmt: skip
"""The attributes of a value that CSV and JSON have, by what is appended to the name of the column."""


def _spread_names(column: Column) -> list[str]:
    return [f"{column.name}{suffix}" for suffix in _PARTS.get(column.kind, ("",))]


def _spread(column: Column, value: Value) -> Iterator[tuple[str, Any]]:
    value = value.value if isinstance(value, Formatted) else value
    if column.kind == "p" and isinstance(value, Claim):
        value = value.p_adjusted
    for suffix, attribute in _PARTS.get(column.kind, {"": ""}).items():
        yield f"{column.name}{suffix}", getattr(value, attribute, None) if attribute else value


def _csv_value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f" {value}"  # a spreadsheet would run it; readers of trials ignore the space
    return str(value).lower() if isinstance(value, bool) else value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _fit(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int | None) -> FittedTable:
    layout = [
        TableColumn(
            column.label,
            right=column.right_aligned,
            shrinks=not column.right_aligned,
            prose=column.kind == "prose",
            min_width=column.min_width,
            leave_out=column.drop,
        )
        for column in columns
    ]
    return fit_table(layout, cells, width)


def _wrap(text: str, width: int | None) -> list[str]:
    return wrap(one_line(text, 1000), width or 10_000, subsequent_indent="  ", break_long_words=False)


def _markdown_cell(text: str, bold: bool) -> str:
    return f"**{escape_markdown(text)}**" if bold else escape_markdown(text)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_row(cells: Sequence[str], bold: Sequence[bool] = ()) -> str:
    escaped = [escape_latex(one_line(cell, _MAX_CELL)) for cell in cells]
    marked = [
        rf"\textbf{{{cell}}}" if index < len(bold) and bold[index] else cell for index, cell in enumerate(escaped)
    ]
    return f"{' & '.join(marked)} \\\\"


def _html_cell(column: Column, value: Value, is_first: bool) -> str:
    text = html.escape(one_line(column.format(value), _MAX_CELL))
    number = value
    if isinstance(value, Formatted):
        text = f'<a href="{html.escape(value.link)}">{text}</a>' if value.link else text
        swatch = "" if value.color is None else f'<span class="swatch c{value.color}" aria-hidden="true"></span>'
        text, number = swatch + text, value.value
    tag, attributes = ("th", ' scope="row"') if is_first else ("td", f' data-label="{html.escape(column.label)}"')
    number = number.value if isinstance(number, Claim | Published) else number
    if isinstance(number, int | float) and column.right_aligned:
        attributes += f' data-value="{number}"'
    return f"<{tag}{attributes}{_html_class(column)}>{text}</{tag}>"


def _html_class(column: Column) -> str:
    return f' class="{"number" if column.right_aligned else "words" if column.kind == "prose" else "text"}"'
