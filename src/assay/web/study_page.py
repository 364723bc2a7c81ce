"""The result of a study as a self-contained page without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from markupsafe import Markup

from assay.core.figure import STYLESHEET
from assay.studies.study import CodePair, StudyResult

_STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True)
class CodeLine:
    """One line of a side."""

    number: int
    text: str
    shared: bool


def split_lines(pair: CodePair) -> list[tuple[str, list[CodeLine]]]:
    """Return both sides of a pair: the name, and the lines."""
    return [
        (name, [CodeLine(number, line, number in shared) for number, line in enumerate(code.split("\n"), 1)])
        for name, code, shared in zip(pair.names, pair.codes, pair.shared, strict=True)
    ]


def render_study(name: str, title: str, result: StudyResult, created_at: datetime) -> str:
    """Return the page."""
    from assay.web.app import make_environment

    # Trusted as markup because the styles are files of this package, and tables and figures escape their texts.
    styles = (*(_STATIC / file for file in ("view.css", "report.css", "sides.css")), STYLESHEET)
    parts: Mapping[str, object] = {
        "style": Markup("\n".join(path.read_text("utf-8") for path in styles)),
        "tables": [Markup(table.to_html()) for table in result.tables],
        "figures": [Markup(figure.__html__()) for figure in result.figures],
        "pairs": [(pair, split_lines(pair)) for pair in result.code],
    }
    template = make_environment().get_template("study.html.jinja")
    return template.render(name=name, title=title, sentences=result.sentences, created_at=created_at, **parts)
