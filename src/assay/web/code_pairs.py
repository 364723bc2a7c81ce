"""Similar code as a page: pairs side by side, with the lines that both have in color."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from markupsafe import Markup

from assay.core.errors import MissingDependency
from assay.studies.similarity import CodeSample, Match, find_ignored, find_shared_lines
from assay.web.text import clean_and_cut

_MAX_CODE = 60_000
_STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True)
class CodeLine:
    """One line of a side."""

    number: int
    text: str
    shared: bool


@dataclass(frozen=True)
class CodePair:
    """Two pieces of code side by side."""

    match: Match
    first: tuple[CodeLine, ...]
    second: tuple[CodeLine, ...]


def make_code_pairs(matches: Sequence[Match], sources: Sequence[CodeSample]) -> list[CodePair]:
    """Return the pairs of some matches with their lines; long code is cut in the middle."""
    samples: Mapping[str, CodeSample] = {source.name: source for source in sources}
    pairs = []
    for match in matches:
        one, other = samples[match.first], samples[match.second]
        sides = [clean_and_cut(sample.code, _MAX_CODE) for sample in (one, other)]
        shared = find_shared_lines(sides[0], sides[1], ignored=find_ignored(one, other))
        first, second = (
            tuple(CodeLine(number, line, number in found) for number, line in enumerate(side.split("\n"), 1))
            for side, found in zip(sides, shared, strict=True)
        )
        pairs.append(CodePair(match, first, second))
    return pairs


def render_code_pairs(pairs: Sequence[CodePair], title: str, threshold: float, created_at: datetime) -> str:
    """Return a self-contained page without scripts."""
    try:
        from assay.web.app import make_environment
    except ImportError:
        raise MissingDependency("The page of similar code", "web") from None
    # Trusted as markup because the styles are files of this package.
    style = Markup("\n".join((_STATIC / name).read_text("utf-8") for name in ("report.css", "sides.css")))
    template = make_environment().get_template("code_pairs.html.jinja")
    return template.render(pairs=pairs, title=title, threshold=threshold, created_at=created_at, style=style)
