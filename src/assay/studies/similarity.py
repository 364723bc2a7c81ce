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
from importlib.resources import files
from pathlib import Path
from statistics import median

from assay.core.errors import RecordError
from assay.core.untrusted import MAX_DEPTH, open_plain
from assay.lab.snapshots import load_snapshot
from assay.records import RunFolder, TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.records.events import CallStarted, SnapshotTaken, WriteRequest
from assay.results.collect import load_tasks
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
_SHIPPED = ("automl/search.py", "chooser/evaluate.py", "starter/constant.py", "aide/preview.py", "scripts/session.py")
"""Scripts that built-in agents write into the workspace."""

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

    A trial's has its task and agent, and in `given` the hashes of runs of tokens that it was given and did not write;
    what else it is compared with has a `kind`.
    """

    name: str
    group: str
    code: str
    kind: str = "file"
    task: str = ""
    agent: str = ""
    given: frozenset[int] = frozenset()


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


def tokenize(code: str) -> list[str]:
    """Return the normalized tokens of Python code; works for code that does not compile."""
    return [token for token, _ in _find_tokens(code)]


def _find_tokens(code: str) -> Iterator[tuple[str, int]]:
    """Yield the normalized tokens with the place of each in the code."""
    for found in _TOKEN.finditer(code[:MAX_SIZE]):
        kind, text = found.lastgroup, found.group()
        if kind == "name":
            yield (text if text in _KEPT else "name"), found.start()
        elif kind in ("string", "number"):
            yield kind, found.start()
        elif kind == "operator":
            yield text, found.start()


def fingerprint(code: str, run_length: int = RUN_LENGTH, window: int = WINDOW) -> Counter[int]:
    """Return the winnowed hashes of all runs of tokens, and how often each was kept.

    A file shorter than one run has the hash of the whole; Dolos gives such a file none.
    """
    found = Counter[int]()
    for file in code[:MAX_SIZE].split(FILE_BREAK):
        found.update(winnow(_hash_runs(tokenize(file), run_length), window))
    return found


def winnow(hashes: Sequence[int], window: int) -> Iterator[int]:
    """Yield the last of the smallest hashes in each window, once; the first windows are not full yet."""
    last = -1
    for end in range(len(hashes)):
        start = max(0, end - window + 1)
        # The minimum of the window before is still the one, unless it left the window or the new hash is as small.
        if last < start or hashes[end] <= hashes[last]:
            last = max(range(start, end + 1), key=lambda place: (-hashes[place], place))
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
    codes = (files("assay.agents").joinpath(path).read_text("utf-8") for path in _SHIPPED)
    return frozenset(value for code in codes for value in _hash_runs(tokenize(code)))


def find_ignored(one: CodeSample, other: CodeSample) -> frozenset[int]:
    """Return the runs that do not count between two pieces of code; against a starter, all count."""
    return frozenset() if other.kind == "starter" else one.given | other.given


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
    ends = [0, *(place for place, character in enumerate(code) if character == "\n")]
    start_of_file = 0
    for file in code.split(FILE_BREAK):
        tokens = [(token, start_of_file + place) for token, place in _find_tokens(file)]
        lines = [max(1, bisect_left(ends, place)) for _, place in tokens]
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
    for one, other in pairs.values():
        ignored = find_ignored(one, other)
        mine, theirs = (
            Counter({value: count for value, count in prints[side].items() if value not in ignored})
            for side in (one, other)
        )
        coverage = _count_shared(mine, theirs) / max(1, mine.total())
        matches.append(Match(one.name, other.name, similarity(mine, theirs), coverage, relate(one, other)))
    return sorted(matches, key=lambda match: -match.similarity)


def relate(one: CodeSample, other: CodeSample) -> str:
    """Return what a piece of code is to that of a trial."""
    if other.kind != "trial":
        return other.kind
    if one.task != other.task:
        return "other task"
    return "other seed" if one.agent == other.agent else "other agent"


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
        RelationSummary(relation, len(some), sum(one > threshold for one in some), median(some), max(some))
        for relation, some in by_relation.items()
    ]
    return sorted(rows, key=lambda row: -row.highest)


def best_matches(matches: Iterable[Match], sources: Iterable[CodeSample]) -> dict[str, Match]:
    """Return the most similar other for each source that has one."""
    best: dict[str, Match] = {}
    names = {source.name for source in sources}
    for match in matches:  # most similar first
        for name in {match.first, match.second} & names:
            best.setdefault(name, match)
    return best


def histogram(best: Mapping[str, Match]) -> list[int]:
    """Return how many sources have their best match in each tenth of similarity, from 0–10 % to 90–100 %."""
    counts = [0] * 10
    for match in best.values():
        counts[min(9, int(match.similarity * 10))] += 1
    return counts


def read_run(run: RunFolder) -> list[CodeSample]:
    """Return the Python code of each trial of a run as one source: every script it wrote, in its last version."""
    trials = list(run.trials())
    given: dict[str, frozenset[int]] = {}
    for file in (trial.file for trial in trials):
        if file.task not in given:
            given[file.task] = hash_given_code(find_task(file))
    return [source for trial in trials if (source := read_trial(trial, given[trial.file.task]))]


def read_trial(trial: TrialFolder, given: frozenset[int] = frozenset()) -> CodeSample | None:
    """Return the Python code of a trial without files that it was given as they are; None if it has no other."""
    scripts = {path: content.replace(FILE_BREAK, " ") for path, content in sorted(_trial_scripts(trial).items())}
    own = {path: content for path, content in scripts.items() if not given.issuperset(fingerprint(content))}
    if not own:
        return None
    file, name = trial.file, trial.path.name
    code = FILE_BREAK.join(f"# {path}\n{content}\n" for path, content in own.items())
    return CodeSample(name, name, code, kind="trial", task=file.task, agent=file.label, given=given)


def read_panels(run: RunFolder) -> list[CodeSample]:
    """Return the reference solutions of the tasks of a run, and their starters: a file each."""
    tasks = load_tasks([trial.file for trial in run.trials()])
    sources = []
    for name, task in sorted(tasks.items()):
        panel = task.path("panel.py")
        if panel.is_file():
            sources.append(CodeSample(f"{name}/panel.py", "panel", panel.read_text("utf-8"), kind="reference panel"))
        for path, content in task.starter.items():
            if path.endswith(".py"):
                code = content.decode(errors="replace")
                sources.append(CodeSample(f"{name}/starter/{path}", "panel", code, kind="starter"))
    return sources


def read_folder(folder: Path) -> list[CodeSample]:
    """Return the Python files and notebooks below a folder, which may be untrusted.

    Links and special files are left out; `RecordError` if there are too many files, or a folder is nested too deeply.
    """
    sources = []
    for path in sorted(_find_files(folder)):
        with open_plain(path, sys.maxsize) as file:
            text = file.read(4 * MAX_SIZE).decode(errors="replace")
        code = (_notebook_code(path, text) if path.suffix == ".ipynb" else text).replace(FILE_BREAK, " ")
        kind = "notebook" if path.suffix == ".ipynb" else "file"
        sources.append(CodeSample(str(path.relative_to(folder)), str(folder), code, kind=kind))
    return sources


def _find_files(folder: Path) -> Iterator[Path]:
    pending, count = [(folder, 0)], 0
    while pending:
        parent, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise RecordError(f"{folder} has folders that are nested more than {MAX_DEPTH} levels deep")
        try:
            with os.scandir(parent) as found:
                entries = list(found)
        except OSError as error:
            raise RecordError(f"{parent} cannot be read: {error.strerror}") from None
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), depth + 1))
            elif entry.name.endswith((".py", ".ipynb")) and entry.is_file(follow_symlinks=False):
                count += 1
                if count > MAX_FILES:
                    raise RecordError(f"{folder} has more than {MAX_FILES:,} Python files and notebooks")
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
