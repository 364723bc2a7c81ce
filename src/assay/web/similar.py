"""The pages of similar code: which trials of a run resemble each other, and two of them side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from assay.core.errors import RecordError
from assay.studies.similarity import (
    FLAGGED,
    CodeSample,
    Match,
    RelationSummary,
    best_matches,
    compare_sources,
    hash_given_code,
    histogram,
    pair_code,
    read_trial,
    summarize_relations,
)
from assay.studies.study import CodePair
from assay.web.runs import RunView

MAX_COMPARED = 300
"""Trials whose code is compared: pairs grow with the square of their number."""
MAX_PAIRS = 200
_FEWEST_PAIRS = 10


@dataclass(frozen=True)
class SimilarCode:
    """The code of the trials of a run, and how much each two of them share, most similar first."""

    sources: tuple[CodeSample, ...]
    matches: tuple[Match, ...]
    counts: tuple[int, ...]
    left_out: int
    problems: tuple[str, ...]

    def select(self, threshold: float) -> Sequence[Match]:
        """Return the pairs above a threshold; the most similar ones where there are none or few."""
        above = sum(match.similarity > threshold for match in self.matches)
        return self.matches[: min(MAX_PAIRS, max(above, _FEWEST_PAIRS))]

    def summarize(self, threshold: float) -> list[RelationSummary]:
        """Return a row for each relation between trials."""
        return summarize_relations(self.matches, threshold)


def compare_code(view: RunView) -> SimilarCode:
    """Compare the code of the trials of a run; those beyond a number, and those that cannot be read, are left out."""
    every, problems = list[CodeSample](), list[str]()
    known = {name: hash_given_code(task) for name, task in view.tasks.items()}
    for name, folder in view.folders.items():
        try:
            source = read_trial(folder, known[view.by_trial[name].task])
        except RecordError as error:
            problems.append(str(error))
            continue
        every += [source] if source else []
    sources = every[:MAX_COMPARED]
    matches = compare_sources(sources, sources)
    counts = histogram(best_matches(matches, sources))
    left_out = len(every) - len(sources)
    return SimilarCode(tuple(sources), tuple(matches), tuple(counts), left_out, tuple(problems))


def find_code_pair(similar: SimilarCode, *names: str) -> CodePair | None:
    """Return two trials side by side; None if they were not compared."""
    match = next((match for match in similar.matches if {match.first, match.second} == set(names)), None)
    return pair_code(match, {sample.name: sample for sample in similar.sources}) if match else None


def read_threshold(query: QueryParams) -> float:
    """Return the similarity above which pairs are listed, as a share; the default for anything but a percentage."""
    try:
        percent = float(query.get("threshold", ""))
    except ValueError:
        return FLAGGED
    return percent / 100 if 0 <= percent <= 100 else FLAGGED
