"""Similarity of Python code by winnowing: which submissions resemble notebooks, other trials or other seeds.

Code is reduced to its tokens: names, numbers and strings lose their content, comments and layout are dropped. Hashes of
all runs of 23 tokens are thinned out, one for each window of 17, and what remains is the fingerprint. Renaming and
reformatting do not change it. Similarity is the share of both fingerprints that is in common, as Dolos defines it: a
hash that occurs several times counts as often. Code that a trial was given and did not write, such as the starter of
its task, counts neither as similar nor as different.
"""

import json
import keyword
import os
import re
import sys
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

from pydantic import DirectoryPath

from assay.agents.agent import read_shipped_scripts
from assay.core.errors import RecordError
from assay.core.figure import Axis, Figure
from assay.core.table import Column, Table
from assay.core.text import cut_middle, plural
from assay.core.untrusted import MAX_DEPTH, open_plain
from assay.lab.snapshots import load_snapshot
from assay.records import RunFolder, TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.records.events import CallStarted, SnapshotTaken, WriteRequest
from assay.results.frame import make_registry
from assay.studies.study import CodePair, Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.trials import find_task
from assay.tasks import Task

RUN_LENGTH = 23
WINDOW = 17
FLAGGED = 0.6
"""Above this similarity the published study looked at a submission by hand."""
MAX_FILES = 10_000
MAX_SIZE = 2_000_000
"""Bytes of one source file beyond which it is cut off: code is shorter, and data is not worth comparing."""
FILE_BREAK = "\f"
"""Between the files of one piece of code, so that no run of tokens begins in one file and ends in another."""
_MAX_SHOWN_CODE = 60_000

# One alternative for each kind of token, none of which can match in two ways: the time is linear in the text.
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>[rbfuRBFU]{0,2}(?:\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*(?:\"\"\")?|'''(?:[^'\\]|\\.|'(?!''))*(?:''')?
          |\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?))
      | (?P<name>[^\W\d]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<operator>[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
_KEPT = frozenset(keyword.kwlist)


@dataclass(frozen=True)
class CodeSample:
    """A piece of code with a name, and the group it belongs to: a trial, or the folder it was compared with.

    A trial's has its task and agent, and in `given_runs` the hashes of runs of tokens that it was provided with and did
    not write; what else it is compared with has a `kind`.
    """

    name: str
    group: str
    code: str
    kind: str = "file"
    task: str = ""
    agent: str = ""
    given_runs: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Match:
    """Two pieces of code and how much of their fingerprints they share.

    `coverage` is the share of the first one's that the second has: it stays high where a short script was copied from
    a long file. `relation` is what the second is to the first: another seed, another agent, a notebook.
    """

    first: str
    second: str
    similarity: float
    coverage: float
    relation: str


class SimilaritySettings(StudySettings):
    """What trials are compared with."""

    against: tuple[DirectoryPath, ...] = option(
        (),
        "A run, or a folder of Python files and notebooks. Can be repeated.  [default: the other trials of the run]",
        metavar="DIR",
    )
    threshold: float = option(100 * FLAGGED, "Similarity in percent above which a trial is flagged.", ge=0, le=100)
    panel: bool = option(False, "Also compare with the reference solutions and starters of the tasks.")
    top: int = option(10, "How many pairs to show.", ge=1)


def run(source: StudyInput, settings: SimilaritySettings) -> StudyResult:
    """Compare the code of the trials of runs."""
    sources = [sample for folder in source.runs for sample in read_run(folder)]
    others = [sample for path in settings.against for sample in _read(path)]
    others += [sample for folder in source.runs if settings.panel for sample in read_panels(folder)]
    if not settings.against and not settings.panel:
        others = sources
    matches = compare_sources(sources, others)
    threshold = settings.threshold / 100
    flagged = sum(match.similarity > threshold for match in matches)
    counts = histogram(best_matches(matches, sources))
    total = sum(1 for folder in source.runs for _ in folder.trials())
    provided = total - len(sources)
    note = f" ({provided} with only provided code)" if provided else ""
    sentences = [f"Compared {len(sources)} of {plural(total, 'trial')}{note} with {plural(len(others), 'source')}"]
    sentences.append(
        f"Above {settings.threshold:g}%: {plural(flagged, 'pair')}. High similarity is a reason to look, not a verdict."
        if matches
        else "Nothing to compare: provided code, such as the starter and scripts of agents, does not count."
    )
    chance = chance_similarities(matches if others is sources else compare_sources(sources, sources))
    if chance:
        unusual = sum(match.similarity > chance[-1] for match in matches if match.relation != "other task")
        highest = f"{100 * chance[-1]:.0f}%, 95% of them up to {100 * chance[int(0.95 * (len(chance) - 1))]:.0f}%"
        sentences.append(
            f"By chance: {plural(len(chance), 'pair')} of trials on different tasks reach up to {highest}; "
            f"{plural(unusual, 'pair')} on the same task or with other code exceed all of them."
        )
    elif matches:
        sentences.append("By chance: not known, because the trials are of one task.")
    tables = [
        _make_pair_table(matches[: max(settings.top, flagged)]),
        _make_relation_table(summarize_relations(matches, threshold)),
        _make_histogram_table(counts),
    ]
    samples = {sample.name: sample for sample in (*sources, *others)}
    code = [pair_code(match, samples) for match in matches[: settings.top]]
    return StudyResult(sentences, tables, [draw_histogram(counts, threshold)], code=code)


def pair_code(match: Match, samples: Mapping[str, CodeSample]) -> CodePair:
    """Return the code of a match side by side; long code is cut in the middle."""
    sides = samples[match.first], samples[match.second]
    first, second = (cut_middle(side.code, _MAX_SHOWN_CODE) for side in sides)
    shared = find_shared_lines(first, second, ignored=find_ignored(*sides))
    return CodePair(
        title=f"{100 * match.similarity:.0f}% similar",
        note=f"{100 * match.coverage:.0f}% of the left side is in the right one, which is: {match.relation}.",
        names=(match.first, match.second),
        codes=(first, second),
        shared=(frozenset(shared[0]), frozenset(shared[1])),
    )


def _make_pair_table(matches: Sequence[Match]) -> Table:
    columns = (
        Column("similarity", kind="share"),
        Column("coverage", kind="share"),
        Column("first", "trial"),
        Column("second", "resembles"),
        Column("relation", "which is"),
    )
    note = "Coverage: how much of the trial's code is in the other."
    return Table.from_records("pairs", columns, map(vars, matches), notes=(note,))


def _make_relation_table(relations: "Sequence[RelationSummary]") -> Table:
    columns = (
        Column("relation"),
        Column("pairs", kind="integer"),
        Column("flagged", kind="integer"),
        Column("median", kind="share"),
        Column("highest", kind="share"),
    )
    return Table.from_records("relations", columns, map(vars, relations))


def _make_histogram_table(counts: Sequence[int]) -> Table:
    columns = (
        Column("similarity", "highest similarity", text_only=True),
        Column("low", kind="share", data_only=True),
        Column("high", kind="share", data_only=True),
        Column("trials", kind="integer"),
        Column("bar", " ", text_only=True),
    )
    rows = [
        (f"{10 * tenth}–{10 * tenth + 10}%", tenth / 10, tenth / 10 + 0.1, count, "█" * count)
        for tenth, count in enumerate(counts)
    ]
    return Table("histogram", columns, tuple(rows))


def draw_histogram(counts: Sequence[int], threshold: float) -> Figure:
    """Return how many trials have their highest similarity in each tenth, and where they are flagged."""
    figure = Figure(
        "similarity",
        f"Highest similarity of {plural(sum(counts), 'trial')}",
        x=Axis("highest similarity", "share", low=0.0, high=1.0),
        y=Axis("trials", "integer", low=0.0),
        width=560,
        height=150,
    )
    for tenth, count in enumerate(counts):
        flagged, low = tenth / 10 >= threshold - 1e-9, tenth / 10
        figure.bar((low + 0.005, 0.0), (low + 0.095, count), color=int(flagged), hover=plural(count, "trial"))
        if count:
            figure.text(low + 0.05, count, str(count), anchor="middle", shift=(0, -4))
    figure.rule(x=threshold, label="flagged")
    return figure


def _read(path: Path) -> list[CodeSample]:
    return read_run(RunFolder(path)) if (path / "run.json").exists() else read_folder(path)


def tokenize(code: str) -> list[str]:
    """Return the normalized tokens of Python code; works for code that does not compile."""
    return [token for token, _ in _find_tokens(code)]


def _find_tokens(code: str) -> Iterator[tuple[str, int]]:
    """Yield the normalized tokens with the position of each in the code."""
    for match in _TOKEN.finditer(code[:MAX_SIZE]):
        kind, text = match.lastgroup, match.group()
        if kind == "name":
            yield (text if text in _KEPT else "name"), match.start()
        elif kind in ("string", "number"):
            yield kind, match.start()
        elif kind == "operator":
            yield text, match.start()


def fingerprint(code: str, run_length: int = RUN_LENGTH, window: int = WINDOW) -> Counter[int]:
    """Return the winnowed hashes of all runs of tokens, and how often each was kept.

    A file shorter than one run has the hash of the whole; Dolos gives such a file none.
    """
    hashes = Counter[int]()
    for file in code[:MAX_SIZE].split(FILE_BREAK):
        hashes.update(winnow(_hash_runs(tokenize(file), run_length), window))
    return hashes


def winnow(hashes: Sequence[int], window: int) -> Iterator[int]:
    """Yield the last of the smallest hashes in each window, once; the first windows are not full yet."""
    last = -1
    for end in range(len(hashes)):
        start = max(0, end - window + 1)
        # The minimum of the window before is still the one, unless it left the window or the new hash is as small.
        if last < start or hashes[end] <= hashes[last]:
            last = max(range(start, end + 1), key=lambda position: (-hashes[position], position))
            yield hashes[last]


def _hash_runs(tokens: Sequence[str], run_length: int = RUN_LENGTH) -> list[int]:
    return [
        zlib.crc32(" ".join(tokens[start : start + run_length]).encode())
        for start in range(max(1, len(tokens) - run_length + 1) if tokens else 0)
    ]


def hash_given_code(task: Task | None) -> frozenset[int]:
    """Return the hashes of all runs that a trial may have without writing them: built-in agents' scripts, the starter.

    All runs and not only the winnowed ones, so that given code is recognized wherever it was copied to. Of a task that
    is not known here, there is no starter.
    """
    contents = task.starter if task else {}
    starter = (code.decode(errors="replace") for path, code in contents.items() if path.endswith(".py"))
    return _hash_shipped_code().union(*(_hash_runs(tokenize(code)) for code in starter))


@lru_cache
def _hash_shipped_code() -> frozenset[int]:
    return frozenset(value for code in read_shipped_scripts() for value in _hash_runs(tokenize(code)))


def find_ignored(first: CodeSample, second: CodeSample) -> frozenset[int]:
    """Return the runs that do not count between two pieces of code; against a starter, all count."""
    return frozenset() if second.kind == "starter" else first.given_runs | second.given_runs


def find_shared_lines(
    first: str, second: str, run_length: int = RUN_LENGTH, ignored: frozenset[int] = frozenset()
) -> tuple[set[int], set[int]]:
    """Return the lines of each code, counted from 1, that belong to a run of tokens which the other has too."""
    sides = [list(_hash_lines(code, run_length)) for code in (first, second)]
    shared = ({value for value, _ in sides[0]} & {value for value, _ in sides[1]}) - ignored
    marked = [{line for value, lines in side if value in shared for line in lines} for side in sides]
    return marked[0], marked[1]


def _hash_lines(code: str, run_length: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the hash of each run of tokens with the lines that it is on."""
    ends = [0, *(position for position, character in enumerate(code) if character == "\n")]
    start_of_file = 0
    for file in code.split(FILE_BREAK):
        tokens = [(token, start_of_file + position) for token, position in _find_tokens(file)]
        lines = [max(1, bisect_left(ends, position)) for _, position in tokens]
        for start, value in enumerate(_hash_runs([token for token, _ in tokens], run_length)):
            yield value, lines[start : start + run_length]
        start_of_file += len(file) + len(FILE_BREAK)


def similarity(first: Counter[int], second: Counter[int]) -> float:
    """Return the share of both fingerprints that they have in common, between 0 and 1."""
    both = first.total() + second.total()
    return (_count_shared(first, second) + _count_shared(second, first)) / both if both else 0.0


def _count_shared(first: Counter[int], second: Counter[int]) -> int:
    """Count the hashes of the first fingerprint that the second one has too."""
    return sum(count for value, count in first.items() if value in second)


def compare_sources(sources: Sequence[CodeSample], against: Sequence[CodeSample]) -> list[Match]:
    """Return every source with each of the others outside its group, most similar first."""
    prints = {source: fingerprint(source.code) for source in {*sources, *against}}
    pairs = {
        frozenset((source, other)): (source, other)
        for source in sources
        for other in against
        if source.group != other.group
    }
    matches = []
    for first, second in pairs.values():
        ignored = find_ignored(first, second)
        left, right = (
            Counter({value: count for value, count in prints[side].items() if value not in ignored})
            for side in (first, second)
        )
        coverage = _count_shared(left, right) / max(1, left.total())
        matches.append(Match(first.name, second.name, similarity(left, right), coverage, relate(first, second)))
    return sorted(matches, key=lambda match: -match.similarity)


def relate(first: CodeSample, second: CodeSample) -> str:
    """Return what the second piece of code is to the first, that of a trial."""
    if second.kind != "trial":
        return second.kind
    if first.task != second.task:
        return "other task"
    return "other seed" if first.agent == second.agent else "other agent"


@dataclass(frozen=True)
class RelationSummary:
    """All pairs with one relation: how many, how many are flagged, and the median and highest similarity."""

    relation: str
    pairs: int
    flagged: int
    median: float
    highest: float


def summarize_relations(matches: Iterable[Match], threshold: float = FLAGGED) -> list[RelationSummary]:
    """Return a row for each relation, the most similar first."""
    by_relation: dict[str, list[float]] = {}
    for match in matches:
        by_relation.setdefault(match.relation, []).append(match.similarity)
    rows = [
        RelationSummary(relation, len(values), sum(v > threshold for v in values), median(values), max(values))
        for relation, values in by_relation.items()
    ]
    return sorted(rows, key=lambda row: -row.highest)


def chance_similarities(matches: Iterable[Match]) -> list[float]:
    """Return, ascending, the similarities of trials on different tasks: what is similar without a common source."""
    return sorted(match.similarity for match in matches if match.relation == "other task")


def best_matches(matches: Iterable[Match], sources: Iterable[CodeSample]) -> dict[str, Match]:
    """Return the most similar other for each source that has one."""
    best: dict[str, Match] = {}
    names = {source.name for source in sources}
    for match in matches:  # most similar first
        for name in {match.first, match.second} & names:
            best.setdefault(name, match)
    return best


def histogram(best: Mapping[str, Match]) -> list[int]:
    """Return how many sources have their best match in each tenth of similarity, from 0–10% to 90–100%."""
    counts = [0] * 10
    for match in best.values():
        counts[min(9, int(match.similarity * 10))] += 1
    return counts


def read_run(run: RunFolder) -> list[CodeSample]:
    """Return the Python code of each trial of a run as one source: every script it wrote, in its last version."""
    trials = list(run.trials())
    given_runs: dict[str, frozenset[int]] = {}
    for file in (trial.file for trial in trials):
        if file.task not in given_runs:
            given_runs[file.task] = hash_given_code(find_task(file))
    return [source for trial in trials if (source := read_trial(trial, given_runs[trial.file.task]))]


def read_trial(trial: TrialFolder, given_runs: frozenset[int] = frozenset()) -> CodeSample | None:
    """Return the Python code of a trial without files that it was given as they are; None if it has no other."""
    scripts = {path: content.replace(FILE_BREAK, " ") for path, content in sorted(_trial_scripts(trial).items())}
    own = {path: content for path, content in scripts.items() if not given_runs.issuperset(fingerprint(content))}
    if not own:
        return None
    file, name = trial.file, trial.path.name
    code = FILE_BREAK.join(f"# {path}\n{content}\n" for path, content in own.items())
    return CodeSample(name, name, code, kind="trial", task=file.task, agent=file.label, given_runs=given_runs)


def read_panels(run: RunFolder) -> list[CodeSample]:
    """Return the reference solutions of the tasks of a run, and their starters: a file each."""
    files = [trial.file for trial in run.trials()]
    registry, sources = make_registry(files), []
    for name in sorted({file.task for file in files}):
        task = registry.recorded_task(name)
        panel = task.path("panel.py")
        if panel.is_file():
            sources.append(CodeSample(f"{name}/panel.py", "panel", panel.read_text("utf-8"), kind="reference panel"))
        for path, content in task.starter.items():
            if path.endswith(".py"):
                code = content.decode(errors="replace")
                sources.append(CodeSample(f"{name}/starter/{path}", "panel", code, kind="starter"))
    return sources


def read_folder(folder: Path, *, max_files: int = MAX_FILES) -> list[CodeSample]:
    """Return the Python files and notebooks below a folder, which may be untrusted.

    Links and special files are excluded; `RecordError` if there are too many files, or a folder is nested too deeply.
    """
    sources = []
    for path in sorted(_find_files(folder, max_files)):
        with open_plain(path, sys.maxsize) as file:
            text = file.read(4 * MAX_SIZE).decode(errors="replace")
        code = (_notebook_code(path, text) if path.suffix == ".ipynb" else text).replace(FILE_BREAK, " ")
        kind = "notebook" if path.suffix == ".ipynb" else "file"
        sources.append(CodeSample(str(path.relative_to(folder)), str(folder), code, kind=kind))
    return sources


def _find_files(folder: Path, max_files: int) -> Iterator[Path]:
    pending, count = [(folder, 0)], 0
    while pending:
        parent, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise RecordError(f"{folder} has folders that are nested more than {MAX_DEPTH} levels deep")
        try:
            with os.scandir(parent) as listing:
                entries = list(listing)
        except OSError as error:
            raise RecordError(f"{parent} cannot be read: {error.strerror}") from None
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), depth + 1))
            elif entry.name.endswith((".py", ".ipynb")) and entry.is_file(follow_symlinks=False):
                count += 1
                if count > max_files:
                    raise RecordError(f"{folder} has more than {max_files:,} Python files and notebooks")
                yield Path(entry.path)


def _trial_scripts(trial: TrialFolder) -> dict[str, str]:
    """Return the scripts in the last snapshot, and those written through the record, by path."""
    store = ContentStore(trial.snapshots)
    scripts: dict[str, str] = {}
    last: str | None = None
    for event in read_events(trial.events):
        if isinstance(event, SnapshotTaken):
            last = event.snapshot
        if isinstance(event, CallStarted) and isinstance(event.request, WriteRequest):
            path, content = event.request.path, event.request.content
            if path.endswith(".py") and content.size <= MAX_SIZE:
                scripts[path] = store.get(content).decode(errors="replace")
    if last:
        for path, file in load_snapshot(trial.snapshots, last).files.items():
            if path.endswith(".py") and file.size <= MAX_SIZE:
                scripts[path] = store.get_by_digest(file.sha256, file.size).decode(errors="replace")
    return scripts


def _notebook_code(path: Path, text: str) -> str:
    """Return the code cells of a notebook; magics and shell lines are not Python and are dropped."""
    try:
        cells = json.loads(text)["cells"]
        lines = [line for cell in cells if cell["cell_type"] == "code" for line in _lines(cell["source"])]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(f"{path} is not a notebook: {type(error).__name__}") from None
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def _lines(source: str | list[str]) -> Iterator[str]:
    yield from (source if isinstance(source, str) else "".join(source)).splitlines()


STUDY = Study(
    name="similarity",
    summary="Compare the code of trials with other agents, other seeds, notebooks or reference solutions.",
    settings=SimilaritySettings,
    run=run,
    description="Winnowing of Python tokens, as in the published study: runs of 23 tokens, windows of 17, flagged "
    "above 60%. Names, literals, comments and layout do not count, nor does provided code: the task's starter, and "
    "scripts of agents. With --html, a page shows the pairs side by side.",
    examples=(
        "assay study similarity runs/first",
        "assay study similarity runs/first --against notebooks --against runs/second",
        "assay study similarity runs/first --panel --html pairs.html",
    ),
)
