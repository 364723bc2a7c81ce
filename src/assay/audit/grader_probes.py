"""Whether the grader can be gamed or misread: changed copies of the answers are graded, and must score as they should.

Rows in another order must score the same; rows under wrong ids, a part of the rows, or repeated rows must be refused;
labels that do not exist must cost something; predicting nothing must not pay.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from assay.audit.finding import AuditFinding, Severity
from assay.audit.subject import Subject, read_submission_text
from assay.core.home import Home
from assay.data.store import Prepared
from assay.grading.grade import grade_submission
from assay.grading.metrics import MetricFunction, find_metric
from assay.grading.metrics.classification import log_loss, quadratic_weighted_kappa
from assay.tasks import Task
from assay.tasks.rules import Column

CHECK = "grader"

_MAX_ROWS = 500_000
_TOLERANCE = 2e-5
_FAR = 100_000.0
_PAIRS = 5
_MISSING = ("", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "n/a", "<NA>")
_KAGGLE_EPSILON = 1e-15


@dataclass(frozen=True)
class Grader:
    """Grades copies of the answers of one task."""

    subject: Subject
    home: Home
    perfect: pd.DataFrame
    """The answers as a submission."""

    @property
    def prepared(self) -> Prepared:
        """The prepared task."""
        assert self.subject.prepared is not None
        return self.subject.prepared

    @property
    def task(self) -> Task:
        """The task under the rules of its edition."""
        return self.prepared.task

    @cached_property
    def metric(self) -> MetricFunction:
        """The metric and its facts."""
        return find_metric(self.task)

    @cached_property
    def targets(self) -> list[str]:
        return [name for name, rule in self.task.submission.columns.items() if rule.scored and name in self.perfect]

    @cached_property
    def base(self) -> float | None:
        """The score of the answers."""
        return self.score(self.perfect)

    @property
    def id(self) -> str | None:
        return self.task.submission.id

    def rule(self, target: str) -> Column:
        """The rule of a column."""
        return self.task.submission.columns[target]

    def score(self, submission: pd.DataFrame, prepared: Prepared | None = None) -> float | None:
        """Return the score of a submission, None if it is refused."""
        content = str(submission.to_csv(index=False)).encode()
        grade = grade_submission(content, prepared or self.prepared, home=self.home)
        if not grade.valid_submission:
            return None
        return float(grade.not_finite) if grade.not_finite else grade.score

    def set_targets(self, change: Callable[["pd.Series[str]"], "pd.Series[str]"]) -> pd.DataFrame:
        """Return the answers with the targets changed, column by column."""
        return self.perfect.assign(**{name: change(self.perfect[name]) for name in self.targets})

    def numbers(self) -> pd.DataFrame | None:
        """The targets as numbers, None if some is none."""
        columns = {name: pd.to_numeric(self.perfect[name], errors="coerce") for name in self.targets}
        return pd.DataFrame(columns) if all(column.notna().all() for column in columns.values()) else None


ProbeResult = tuple[Severity, str, tuple[str, ...]] | None
"""What is wrong, and how that was seen; None if nothing is."""


@dataclass(frozen=True)
class Probe:
    """A changed copy of the answers to grade, for the metrics that it `applies` to."""

    name: str
    run: Callable[[Grader], ProbeResult]
    applies: Callable[[MetricFunction], bool]


PROBES: list[Probe] = []


def _probe(
    name: str, applies: Callable[[MetricFunction], bool] = lambda metric: True
) -> Callable[[Callable[[Grader], ProbeResult]], Callable[[Grader], ProbeResult]]:
    def add(run: Callable[[Grader], ProbeResult]) -> Callable[[Grader], ProbeResult]:
        PROBES.append(Probe(name, run, applies))
        return run

    return add


def check_grader(subject: Subject, home: Home) -> list[AuditFinding]:
    """Grade changed copies of the answers."""
    if subject.key is None or subject.prepared is None:
        return [AuditFinding(CHECK, "skipped", "there is no grader")]
    content = subject.key.perfect_submission()
    if isinstance(content, str):
        return [AuditFinding(CHECK, "skipped", content)]
    perfect = read_submission_text(content)
    if len(perfect) > _MAX_ROWS:
        return [AuditFinding(CHECK, "skipped", f"{len(perfect):,} rows are more than {_MAX_ROWS:,}")]
    grader = Grader(subject, home, perfect)
    if grader.base is None:
        return [AuditFinding(CHECK, "skipped", "the answers themselves are refused; see the checks")]
    computed_on = f"changed copies of {len(perfect):,} answers, which score {grader.base:g}"
    findings = [
        AuditFinding(f"{CHECK}: {probe.name}", *result, computed_on)
        for probe in PROBES
        if probe.applies(grader.metric) and (result := probe.run(grader))
    ]
    if findings:
        return findings
    return [AuditFinding(CHECK, "none", f"{len(PROBES)} probes, nothing unexpected", (), computed_on)]


@_probe("rows by position")
def _probe_order(grader: Grader) -> ProbeResult:
    """Shuffle the rows; rows with the same id stay in their order, by which some tasks pair them."""
    perfect = grader.perfect
    order = np.random.default_rng(0).permutation(len(perfect))
    if grader.id:
        names = [grader.id, *grader.task.submission.id_with]
        keys = perfect[names].agg("\x1f".join, axis=1) if len(names) > 1 else perfect[names[0]]
        if keys.duplicated().any():
            positions = pd.Series(order)
            order = positions.groupby(keys.to_numpy()[order]).transform(lambda group: sorted(group)).to_numpy()
    score = grader.score(perfect.iloc[order])
    if _is_close(score, grader.base):
        return None
    text = "the answers in another order " + ("are refused" if score is None else f"score {score:g}")
    return "medium", f"rows are matched by position: {text}", ()


@_probe("columns by position")
def _probe_columns(grader: Grader) -> ProbeResult:
    if len(grader.targets) < 2:
        return None
    others = [name for name in grader.perfect.columns if name not in grader.targets]
    score = grader.score(grader.perfect[[*others, *reversed(grader.targets)]])
    if score is None or _is_close(score, grader.base):
        return None
    return (
        "medium",
        f"columns are matched by position: with the targets in another order the answers score {score:g}",
        (),
    )


@_probe("ids not compared")
def _probe_ids(grader: Grader) -> ProbeResult:
    """Rename all ids, in the same alphabetical and numerical order, so that sorting by id changes nothing."""
    if not grader.id or (not grader.task.submission.by_id and grader.id not in grader.perfect):
        return None
    ids = grader.perfect[grader.id]
    codes = np.unique(
        pd.to_numeric(ids, errors="coerce") if ids.str.fullmatch(r"\d+").all() else ids, return_inverse=True
    )[1]
    renamed = [f"{10**9 + code}" for code in codes]
    score = grader.score(grader.perfect.assign(**{grader.id: renamed}))
    return (
        None if score is None else ("medium", f"ids are not compared: with wrong ids the answers score {score:g}", ())
    )


@_probe("partial submissions")
def _probe_part(grader: Grader) -> ProbeResult:
    if len(grader.perfect) < 4:
        return None
    score = grader.score(grader.perfect.iloc[: len(grader.perfect) // 2])
    if score is None:
        return None
    text = f"a part of the rows is accepted: half of the answers score {score:g}"
    return "medium", text, ("a submission can leave out the rows that it is unsure of",)


@_probe("repeated rows")
def _probe_repeated(grader: Grader) -> ProbeResult:
    score = grader.score(pd.concat([grader.perfect, grader.perfect.iloc[:1]]))
    return None if score is None else ("low", "a submission may repeat a row", (f"score {score:g}",))


@_probe("replaced rows")
def _probe_replaced(grader: Grader) -> ProbeResult:
    """Put a second copy of one row in place of another row, for a few pairs of rows."""
    if len(grader.perfect) < 5 or not grader.id or grader.task.submission.ids == "subset":
        return None
    draw = np.random.default_rng(0)
    for _ in range(_PAIRS):
        kept, lost = draw.choice(len(grader.perfect), 2, replace=False)
        rows = grader.perfect.copy()
        rows.iloc[lost] = rows.iloc[kept]
        score = grader.score(rows)
        if score is not None:
            return "low", "a row may be missing if another one is there twice", (f"score {score:g}",)
    return None


@_probe("thresholded predictions", lambda metric: metric.depends_on == "order")
def _probe_scale(grader: Grader) -> ProbeResult:
    numbers = grader.numbers()
    if numbers is None or grader.base is None:
        return None
    score = grader.score(grader.perfect.assign(**{name: 0.4 * numbers[name] for name in grader.targets}))
    if _is_close(score, grader.base):
        return None
    text = "are refused" if score is None else f"score {score:g}"
    return (
        "medium",
        f"predictions are cut at a threshold: the answers times 0.4 {text}, though only their order counts",
        (),
    )


@_probe("unknown labels", lambda metric: metric.depends_on == "sets")
def _probe_unknown(grader: Grader) -> ProbeResult:
    if not _holds_words(grader):
        return None
    score = grader.score(grader.set_targets(lambda column: column + " 99999999"))
    if score is None or grader.base is None or grader.base - score > 0.01:
        return None
    return "medium", f"labels that do not exist are free: added to every answer they cost nothing (score {score:g})", ()


@_probe("predicting nothing", lambda metric: metric.depends_on in ("sets", "rankings", "objects"))
def _probe_nothing(grader: Grader) -> ProbeResult:
    """Predict nothing at all, except in one row."""
    if not all(grader.rule(target).type == "text" for target in grader.targets):
        return None
    for nothing in _ways_to_say_nothing(grader):
        submission = grader.set_targets(lambda column, nothing=nothing: pd.Series([nothing] * len(column)))  # type: ignore[misc]
        kept = int((grader.perfect[grader.targets] != "").all(axis=1).to_numpy().argmax())
        submission.iloc[kept] = grader.perfect.iloc[kept]
        score = grader.score(submission)
        if score is not None and score > 0.1:
            return "medium", f"predicting {nothing or 'nothing'!r} everywhere scores {score:g}", ()
    return None


@_probe("empty masks")
def _probe_empty_masks(grader: Grader) -> ProbeResult:
    codecs = [grader.rule(target).codec for target in grader.targets]
    if not codecs or any(codec is None or codec.name != "mask" for codec in codecs):
        return None
    truth = grader.perfect[grader.targets].apply(lambda column: column.str.split().str.len() < 2)
    score = grader.score(grader.set_targets(lambda column: pd.Series([""] * len(column))))
    share = float(truth.all(axis=1).mean())
    if score is None or score <= share + 0.02:
        return None
    return "medium", f"empty masks score {score:g}, though only {share:.1%} of the true masks are empty", ()


@_probe("infinite score")
def _probe_finite(grader: Grader) -> ProbeResult:
    if grader.base is not None and math.isfinite(grader.base):
        return None
    return "medium", f"the answers have no finite score: {grader.base}", ("one perfect part decides the whole score",)


@_probe("best score", lambda metric: math.isfinite(metric.best))
def _probe_best(grader: Grader) -> ProbeResult:
    best = grader.metric.best
    if grader.base is None or not math.isfinite(grader.base):
        return None
    if abs(grader.base - best) < 1e-3:
        return None
    return "low", f"the answers score {grader.base:g}, and {best:g} is out of reach", ()


@_probe("row sums", lambda metric: metric is log_loss)
def _probe_row_sums(grader: Grader) -> ProbeResult:
    numbers = grader.numbers()
    if len(grader.targets) < 3 or numbers is None:
        return None
    score = grader.score(grader.perfect.assign(**{name: 0.5 * numbers[name] for name in grader.targets}))
    return ("low", "rows of probabilities that do not add up to 1 are refused", ()) if score is None else None


@_probe("clipping", lambda metric: metric is log_loss)
def _probe_clipping(grader: Grader) -> ProbeResult:
    """Miss one row with certainty; Kaggle keeps probabilities 1e-15 away from 0."""
    numbers = grader.numbers()
    if numbers is None:
        return None
    missed = numbers.astype(float)
    row = missed.iloc[0].to_numpy()
    missed.iloc[0] = 1 - row if len(row) == 1 else np.roll(row, 1)
    score = grader.score(grader.perfect.assign(**{name: missed[name] for name in grader.targets}))
    if score is None or not math.isfinite(score):
        return None
    cost, expected = score * len(missed), -math.log(_KAGGLE_EPSILON)
    if abs(cost - expected) < 0.01 * len(missed) * 0.001 + 0.3:
        return None
    return "low", f"a certain miss costs {cost:.1f}; with Kaggle's limit of 1e-15 it costs {expected:.1f}", ()


@_probe("range", lambda metric: metric.depends_on == "values" and metric.direction == "lower")
def _probe_range(grader: Grader) -> ProbeResult:
    numbers = grader.numbers()
    if numbers is None or len(grader.targets) > 1:
        return None
    target = grader.targets[0]
    changed = numbers[target].astype(float)
    changed.iloc[0] = float(changed.max()) + abs(float(changed.max())) + 1
    score = grader.score(grader.perfect.assign(**{target: changed}))
    return ("low", "one number outside of the range makes a submission invalid", ()) if score is None else None


@_probe("missing words")
def _probe_missing_words(grader: Grader) -> ProbeResult:
    if not all(grader.rule(target).type == "text" for target in grader.targets) or grader.base is None:
        return None
    cells = sum(int(grader.perfect[target].isin(_MISSING).sum()) for target in grader.targets)
    if not cells or not _holds_words(grader):
        return None
    score = grader.score(grader.set_targets(lambda column: column.where(~column.isin(_MISSING), "nan")))
    others = grader.score(grader.set_targets(lambda column: column.where(~column.isin(_MISSING), "null")))
    if not _is_close(score, grader.base) or not _is_close(others, grader.base):
        return None
    return "low", f"words such as NA, null and nan count as equal, or were lost: {cells:,} answers", ()


@_probe("leading zeros")
def _probe_zeros(grader: Grader) -> ProbeResult:
    """Compare the form of the sample's tokens with that of the answers'."""
    sample = _read_sample(grader)
    if sample is None or not _holds_words(grader):
        return None
    for target in grader.targets:
        if target not in sample.columns:
            continue
        tokens = [
            {token for cell in table[target].head(1000) for token in cell.split() if token.isdigit()}
            for table in (sample, grader.perfect)
        ]
        padded = [sum(token.startswith("0") for token in side) / max(1, len(side)) for side in tokens]
        if tokens[0] and tokens[1] and padded[0] > 0.9 and padded[1] < 0.1:
            evidence = (f"sample {min(tokens[0])}, answers {min(tokens[1])}",)
            score = grader.score(grader.set_targets(lambda column: column.str.replace(r"\b(?=\d)", "0", regex=True)))
            if not _is_close(score, grader.base):
                return (
                    "medium",
                    "numbers with leading zeros, as in the sample submission, never match the answers",
                    evidence,
                )
    return None


@_probe("sample columns")
def _probe_sample_columns(grader: Grader) -> ProbeResult:
    sample = _read_sample(grader)
    if sample is None:
        return None
    rules = grader.task.submission
    known = {rules.id, *rules.id_with, *rules.columns}
    extra = [name or "(no name)" for name in sample.columns if name not in known]
    return (
        ("low", f"the sample submission has columns that the rules do not name: {', '.join(extra)}", ())
        if extra
        else None
    )


@_probe("sample submission")
def _probe_sample(grader: Grader) -> ProbeResult:
    sample = _read_sample(grader)
    if sample is None or grader.score(sample) is not None:
        return None
    return "low", "the sample submission is refused", ()


@_probe("classes")
def _probe_classes(grader: Grader) -> ProbeResult:
    """Compare the answers and the sample with the classes of the competition, whatever the edition accepts."""
    columns = (grader.task.base_submission or grader.task.submission).columns
    sample = _read_sample(grader)
    for target in grader.targets:
        listed = {str(value) for value in (columns[target].values if target in columns else None) or ()}
        if not listed:
            continue
        for name, table in (("the answers", grader.perfect), ("the sample submission", sample)):
            labels = {*table[target]} if table is not None and target in table.columns else set()
            outside = sorted(labels - listed - {label.capitalize() for label in listed})
            if outside:
                text = f"{len(outside)} labels of {name} are no class of the competition"
                return "medium", text, (f"for example: {', '.join(map(repr, outside[:5]))}",)
    return None


@_probe("small boxes")
def _probe_small_boxes(grader: Grader) -> ProbeResult:
    """Shrink every box to a quarter of its area, which is no hit by any rule."""
    codecs = [grader.rule(target).codec for target in grader.targets]
    if not codecs or any(codec is None or codec.name != "boxes" for codec in codecs) or not grader.base:
        return None
    score, moved = (
        grader.score(grader.set_targets(lambda column, far=far: column.map(lambda text: _change_boxes(text, far))))  # type: ignore[misc]
        for far in (False, True)
    )
    if score is None or moved is None or score < moved + 0.1:
        return None
    return "medium", f"boxes of a quarter of the true area count as found: score {score:g}", ()


@_probe("kappa", lambda metric: metric is quadratic_weighted_kappa)
def _probe_kappa(grader: Grader) -> ProbeResult:
    """Grade answers of three classes, and compare with the weighted kappa by its formula."""
    numbers = grader.numbers()
    if numbers is None or grader.id is None:
        return None
    target = grader.targets[0]
    grades = sorted(numbers[target].unique())
    if len(grades) < 4:
        return None
    kept = numbers[target].isin([grades[0], grades[1], grades[-1]]).to_numpy()
    truth = numbers[target][kept].to_numpy()
    guess = np.where(np.arange(len(truth)) % 3 == 0, grades[0], truth)
    with TemporaryDirectory() as folder:
        answers = grader.task.data.answers
        grader.subject.table[kept].to_csv(Path(folder, answers), index=False)
        submission = grader.perfect[kept].assign(**{target: [f"{grade:g}" for grade in guess]})
        score = grader.score(submission, replace(grader.prepared, private=Path(folder)))
    observed = ((truth - guess) ** 2).mean()
    chance = ((truth[:, None] - guess[None, :]) ** 2).mean()
    expected = 1 - observed / chance
    if score is None or abs(score - expected) < 1e-3:
        return None
    return "low", f"kappa depends on which grades occur: {score:g} where the formula gives {expected:g}", ()


def _is_close(score: float | None, other: float | None) -> bool:
    if score is None or other is None:
        return score is other
    return score == other or abs(score - other) <= _TOLERANCE


def _holds_words(grader: Grader) -> bool:
    """Whether the targets are texts that are no masks, boxes or points."""
    rules = [grader.rule(target) for target in grader.targets]
    return all(rule.type == "text" and (rule.codec is None or rule.codec.name == "words") for rule in rules)


def _ways_to_say_nothing(grader: Grader) -> Iterator[str]:
    yield ""
    if any((rule.codec and rule.codec.name == "boxes") for rule in map(grader.rule, grader.targets)):
        yield "nothing 0.1 0 0 1 1"


def _read_sample(grader: Grader) -> pd.DataFrame | None:
    side, _, rest = grader.task.data.sample.partition("/")
    path = (grader.prepared.public if side == "public" else grader.prepared.private) / rest
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else None


def _change_boxes(text: str, far: bool) -> str:
    """Halve the width and height of each box, written as class, confidence and two corners, or move it far away."""
    words = text.split()
    for start in range(0, len(words) - 5, 6):
        left, top, right, bottom = map(float, words[start + 2 : start + 6])
        if right - left > 2:
            changed = (
                [left + _FAR, top + _FAR, right + _FAR, bottom + _FAR]
                if far
                else [left, top, (left + right) / 2, (top + bottom) / 2]
            )
            words[start + 2 : start + 6] = [f"{edge:g}" for edge in changed]
    return " ".join(words)
