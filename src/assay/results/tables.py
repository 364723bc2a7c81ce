"""Tables of the MLAgentBench paper for the terminal, and the columns of their values."""

from typing import TYPE_CHECKING

from assay.core.text import one_line
from assay.core.values import Estimate, Rate

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Value = str | int | float | bool | None


def make_grid(title: str) -> "Table":
    """Return an empty table in the common style."""
    from rich import box
    from rich.table import Table

    return Table(
        title=plain_text(title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def plain_text(content: str, style: str = "") -> "Text":
    """Return text that is never parsed as markup and cannot control the terminal; leading spaces are kept."""
    from rich.text import Text

    indent = len(content) - len(content.lstrip(" "))
    return Text(" " * indent + one_line(content), style=style)


def estimate_columns(name: str, one: Estimate | None) -> dict[str, Value]:
    """Return a mean and its error by column name."""
    return {f"{name}_mean": one.mean if one else None, f"{name}_error": one.error if one else None}


def rate_columns(name: str, one: Rate | None) -> dict[str, Value]:
    """Return a rate and its interval by column name."""
    parts = ("count", "trials", "rate", "low", "high")
    values = (one.count, one.trials, one.value, one.low, one.high) if one else (None,) * 5
    return {f"{name}_{part}": value for part, value in zip(parts, values, strict=True)}
