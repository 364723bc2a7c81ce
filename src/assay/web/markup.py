"""Blocks of text as HTML: escaped, Markdown rendered, code highlighted, cut where they are long."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from assay.web.text import clean_and_cut
from assay.web.trace import Block, clean_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_BLOCK = 12_000
_MAX_MARKDOWN = 40_000
MAX_FILE = 200_000
_MAX_HIGHLIGHTED = 60_000
_MAX_LINE = 2_000
_FOLD_LINES = 24
_FOLD_LENGTH = 2_000
_SMALL_BLOCK = 600
_MARKUP = 5
"""Characters of HTML that count as one of text: highlighting has about as many, tables of empty cells a hundred."""
_MAX_SPACES = 500
"""Blanks and line breaks in a row beyond which code is not highlighted: the lexers take quadratic time for them."""


_LANGUAGE = re.compile(r"[\w+#.-]{1,20}")


@dataclass(frozen=True)
class TraceLinks:
    """Where whole texts, files and prompts of a trial are: below `base`, or nowhere.

    `prompts` is a page with all its prompts, where there is one. `prefix` makes ids unique on a page.
    """

    base: str | None = None
    prefix: str = ""
    prompts: str | None = None

    def find_prompt(self, call: int) -> str | None:
        """Return the address of the prompt of a model call."""
        if self.prompts is not None:
            return f"{self.prompts}#p{call}"
        return None if self.base is None else f"{self.base}/prompt/{call}"


class PageBudget:
    """How much text one page may still contain; when it is used up, blocks are cut shorter.

    Highlighting code takes most of the time of a page; hundreds of pages at once do without it.
    """

    def __init__(self, size: int = 3_000_000, *, highlight: bool = True) -> None:
        self._left, self._highlight = size, highlight

    def render(self, block: Block) -> Markup:
        """Return a block as HTML."""
        text = clean_and_cut(block.text, MAX_BLOCK if self._left > 0 else _SMALL_BLOCK)
        kind = "plain" if block.kind == "prose" and self._left <= 0 else block.kind
        rendered = render_text(text, kind, block.path if self._highlight else "")
        self._left -= max(len(text), len(rendered) // _MARKUP)
        return rendered


def render_text(text: str, kind: str, path: str = "") -> Markup:
    """Return clean text as HTML of one kind."""
    highlighted = (
        len(text) <= _MAX_HIGHLIGHTED
        and max(map(len, text.split("\n"))) <= _MAX_LINE
        and not re.search(rf"\s{{{_MAX_SPACES}}}", text)
    )
    if kind == "prose":
        return render_markdown(text)
    if kind == "diff":
        return _render_diff(text, path if highlighted else "")
    return _highlight(text, path) if kind == "code" and highlighted else escape(text)


def render_markdown(text: str) -> Markup:
    """Return clean text as HTML, as Markdown unless it is long or Markdown would not show all of it.

    Links, images and HTML stay text.
    """
    plain = Markup('<pre class="prose">{}</pre>').format(text)
    if len(text) > _MAX_MARKDOWN or re.search(rf"\s{{{_MAX_SPACES}}}", text):
        return plain
    parser = _markdown()
    tokens = parser.parse(text)
    # Trusted as markup: the renderer escapes all text, and the rules that write addresses or HTML are off.
    rendered = Markup(parser.renderer.render(tokens, parser.options, {}))
    return Markup('<div class="md">{}</div>').format(rendered) if _shows_all(text, tokens, rendered) else plain


def _shows_all(text: str, tokens: Sequence["Token"], rendered: Markup) -> bool:
    """Whether all letters and digits are shown but the numbers of lists and the languages of code.

    Markdown drops what is nested too deeply, cells beyond those of a table's head, and words after a code's language.
    """
    dropped = "".join(
        token.info for token in tokens if token.type == "list_item_open" or _LANGUAGE.fullmatch(token.info)
    )
    visible = Counter(filter(str.isalnum, rendered.striptags() + dropped))
    return Counter(filter(str.isalnum, text)) <= visible


@lru_cache(maxsize=1)
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight_fence}).enable("table")
    parser.disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "entity"])
    for name in ("heading_open", "heading_close"):
        # Headings of texts are not headings of the page.
        parser.add_render_rule(name, _render_heading)
    return parser


def _render_heading(renderer: object, tokens: Sequence["Token"], index: int, options: object, env: object) -> str:
    return '<p class="md-heading">' if tokens[index].nesting > 0 else "</p>\n"


def _highlight_fence(code: str, language: str, attributes: str) -> str:
    names = {"python": "py", "python3": "py", "bash": "sh", "shell": "sh", "console": "sh"}
    return str(_highlight(code, f".{names.get(language.lower(), language)}"))


def render_file(block: Block) -> Markup:
    """Return the block of a whole page as HTML."""
    return render_text(clean_and_cut(block.text, MAX_FILE), block.kind, block.path)


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


def _render_diff(text: str, path: str) -> Markup:
    """Return the lines of a diff, each marked as added, removed or unchanged, with their code highlighted.

    The old and the new code are highlighted separately, because one may leave open what the other closes.
    """
    lines = text.split("\n")
    new, old = (_highlight_lines([_code(line) for line in lines if line[:1] != left_out], path) for left_out in "-+")
    rendered = []
    for line in lines:
        if line[:1] != "-":
            code = new.pop(0)
        if line[:1] != "+":
            removed = old.pop(0)
        rendered.append(_diff_line(line, removed if line[:1] == "-" else code))
    return Markup("\n").join(rendered)


def _code(line: str) -> str:
    return "" if line.startswith("@@") else line[1:]


def _highlight_lines(lines: Sequence[str], path: str) -> list[Markup]:
    highlighted = [Markup(line) for line in _highlight("\n".join(lines), path).split("\n")]
    return highlighted + [Markup("")] * (len(lines) - len(highlighted))


def _diff_line(line: str, code: Markup) -> Markup:
    if line.startswith("@@"):
        return Markup('<span class="place">{}</span>').format(line)
    kind = {"+": "added", "-": "removed"}.get(line[:1])
    content = escape(line[:1]) + code
    return Markup('<span class="{}">{}</span>').format(kind, content) if kind else content


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
