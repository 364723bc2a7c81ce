"""Blocks of text as HTML: escaped, highlighted where they are code, cut where they are long."""

from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from assay.web.text import clean_and_cut
from assay.web.trace import Block, clean_line

MAX_BLOCK = 12_000
_MAX_HIGHLIGHTED = 30_000
_MAX_LINE = 2_000
_FOLD_LINES = 24
_FOLD_LENGTH = 2_000
_SMALL_BLOCK = 600


@dataclass(frozen=True)
class TraceLinks:
    """Where whole texts and prompts of a trial are: below `base`, or nowhere. `prefix` makes ids unique on a page."""

    base: str | None = None
    prefix: str = ""


class PageBudget:
    """How much text one page may still contain; when it is used up, blocks are cut shorter."""

    def __init__(self, size: int = 3_000_000) -> None:
        self._left = size

    def render(self, block: Block) -> Markup:
        """Return a block as HTML."""
        text = clean_and_cut(block.text, MAX_BLOCK if self._left > 0 else _SMALL_BLOCK)
        self._left -= len(text)
        return render_text(text, block.kind, block.path)


def render_text(text: str, kind: str, path: str = "") -> Markup:
    """Return clean text as HTML of one kind."""
    if kind == "diff":
        return Markup("\n").join(_diff_line(line) for line in text.split("\n"))
    if kind == "code" and len(text) <= _MAX_HIGHLIGHTED and max(map(len, text.split("\n"))) <= _MAX_LINE:
        return _highlight(text, path)
    return escape(text)


def is_cut(block: Block) -> bool:
    """Whether a page shows only a part of a block."""
    return len(block.text) > _SMALL_BLOCK


def is_long(block: Block) -> bool:
    """Whether a block is folded because it is long."""
    return len(block.text) > _FOLD_LENGTH or block.text.count("\n") > _FOLD_LINES


def preview(block: Block) -> str:
    """Return the beginning of a folded block, or its end where the end matters, such as that of an error."""
    if block.kind == "diff":
        lines = block.text.split("\n")
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        return f"+{added} −{removed} lines"
    start = block.text[-600:] if block.name in ("standard error", "traceback") else block.text[:600]
    lines = [line for line in start.splitlines() if line.strip()]
    if not lines:
        return ""
    return clean_line(lines[-1] if block.name in ("standard error", "traceback") else lines[0], 110)


def _diff_line(line: str) -> Markup:
    kind = {"+": "added", "-": "removed", "@": "place"}.get(line[:1])
    return Markup('<span class="{}">{}</span>').format(kind, line) if kind else escape(line)


def _highlight(text: str, path: str) -> Markup:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    lexer = _lexer(path.rpartition(".")[2].lower()[:10])
    if lexer is None:
        return escape(text)
    # Trusted as markup: the formatter escapes all text and writes nothing but spans with class names.
    return Markup(highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix="h-")).rstrip("\n"))


@lru_cache(maxsize=64)
def _lexer(extension: str) -> object | None:
    from pygments.lexers import BashLexer, JsonLexer, PythonLexer, PythonTracebackLexer

    known = {"py": PythonLexer, "json": JsonLexer, "sh": BashLexer, "pytb": PythonTracebackLexer}
    return known[extension](stripnl=False) if extension in known else None
