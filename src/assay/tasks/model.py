"""Tasks and suites: the contents of `task.toml`, `measured.json` and `suite.toml`, validated."""

from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field

from assay.core.quantities import Bytes, FileName, Md5, Model, Seconds, Sha256
from assay.tasks.rules import EditionRules, Judged, Metric, Quirk, Submission, merge_rules


class Package(Model):
    """A data package from the package index: fetched by name, checked by hash, never installed."""

    name: str
    version: str
    file: str = Field(description="the wheel's file name, which also selects the Python and platform")
    sha256: Sha256
    members: dict[str, Sha256] = Field(description="path inside the wheel -> SHA-256 of the member")


class Installed(Model):
    """Data inside a package that Assay depends on: already on this machine, checked by hash."""

    name: str
    members: dict[str, Sha256] = Field(description="path as installed -> SHA-256 of the file")


class NpmPackage(Model):
    """A data package from the npm registry: fetched by name, checked by hash, never installed."""

    name: str
    version: str
    file: str = Field(description="the name that npm gives the package's archive")
    sha256: Sha256
    members: dict[str, Sha256] = Field(description="path inside the archive -> SHA-256 of the member")


class WebFile(Model):
    """A file on the web: downloaded without an account, checked by size and hash where they are known.

    Next to `[source.kaggle]`, it is a file that the competition's archive lacks; see `PrepareJob.find_or_fetch`.
    """

    url: str = Field(pattern="^https?://", description="should name a fixed version")
    file: str = Field(description="path below the raw folder")
    sha256: Sha256 | None = Field(default=None, description="without it, data prepared from the file is not verified")
    size: int | None = Field(default=None, description="in bytes")


class LocalData(Model):
    """A file or folder on this machine: private data, or data that cannot be downloaded."""

    path: str = Field(description="relative to the task's folder; ~ is your home folder")
    file: str | None = Field(default=None, description="path below the raw folder; default: the last part of `path`")
    sha256: Sha256 | None = Field(
        default=None, description="of a file or folder (see `hash_tree`); without it, the prepared data is unverified"
    )

    @property
    def name(self) -> str:
        """The path below the raw folder."""
        return self.file or PurePosixPath(self.path).name


class Kaggle(Model):
    """A competition's archive on Kaggle; downloading it needs an account that accepted the competition's rules."""

    competition: str
    md5: Md5 | None = Field(default=None, description="of the archive that the published benchmark was made from")


class Source(Model):
    """Where a task's raw data comes from, and under which license."""

    packages: tuple[Package, ...] = ()
    npm: tuple[NpmPackage, ...] = ()
    installed: tuple[Installed, ...] = ()
    files: tuple[WebFile, ...] = ()
    local: tuple[LocalData, ...] = ()
    kaggle: Kaggle | None = None
    plugin: str | None = Field(
        default=None, description="source from outside: registered under `assay.sources`, or a function: file.py:name"
    )
    settings: dict[str, Any] = Field(default={}, description="of the plugin")
    about: str
    license: str


class Data(Model):
    """The prepared files that agents without a language model, the grader and the checks refer to by name.

    `sample`, `gold` and `checksums` name files as `public/…` or `private/…`.
    """

    train: str | None = None
    test: str | None = None
    target: str | None = None
    id: str | None = None
    ids_per_side: bool = Field(default=False, description="whether train and test each number their own rows")
    image: str | None = Field(default=None, description="column with image paths, relative to the data folder")
    answers: str = Field(default="answers.csv", description="the private file with the true values")
    gold: str | None = Field(default=None, description="a perfect submission, if the answers are not one")
    sample: str = "public/sample_submission.csv"
    packed_sample: str | None = Field(
        default=None, description="the archive in which agents see the sample submission, if `sample` is private"
    )
    checksums: dict[str, Md5] = Field(default={}, description="prepared file -> its MD5 in the published benchmark")

    @property
    def public_sample(self) -> str | None:
        """The sample submission that agents see, relative to the data folder, if there is one."""
        side, _, path = self.sample.partition("/")
        return path if side == "public" else self.packed_sample


class Selection(Model):
    """How a hidden validation part is split off the public training data, where candidates are selected on one.

    Most tasks need none of this: a table for training and one for test, with ids, tell all there is to know. With
    `derived`, the task's own `prepare.py` splits it off. A task whose data allows neither has a `selection.py` with a
    function `split(job)`; see `assay.data.selection`.
    """

    derived: bool = Field(
        default=False,
        description="run `prepare.py` again with more test rows: the splits of `assay.data.splits` that it calls then "
        "keep to their own groups and order",
    )

    group: tuple[str, ...] = Field(
        default=(),
        description="columns of the training table whose rows stay together, each with an optional pattern like "
        "`metric.unit`; default: that of `metric.unit`",
    )
    after: str | None = Field(default=None, description="column of times: the last rows are hidden, not random ones")
    share: float = Field(default=0.25, gt=0, lt=1, description="share of the training rows to hide")
    shared: tuple[str, ...] = Field(
        default=(), description="patterns of further public files that tell nothing about the labels of training rows"
    )
    reason: str | None = Field(default=None, description="why no hidden part can be split off")
    unseen: bool = Field(
        default=False, description="whether submitted code is rerun on inputs of a hidden part as well, as a check"
    )


class SecondSetting(Model):
    """Test rows of another distribution, such as later dates or other groups, on which the score is shown as well."""

    title: str = Field(description="what is different about these rows, in a few words")
    column: str = Field(description="column of the test table that tells them")
    values: tuple[str, ...] = Field(min_length=1, description="its values in these rows")


class IntegrityRules(Model):
    """What a task with a planted shortcut measures besides the score; see `grading/integrity.py`."""

    check: str = Field(default="integrity.py:check", description="function of an `IntegrityCase`: file.py:name")
    bait: str = Field(description="what is planted, in a few words")
    shortcut: str = Field(description="what a trial does that takes it, in a few words")
    target: float = Field(description="the score that the description asks for; reaching it is success")
    margin: float = Field(ge=0, description="a score that misses the target by at most this much is no false success")


class Preparation(Model):
    """What it takes to prepare the real data."""

    size: Bytes | None = Field(default=None, description="size of the raw data, where it is known")
    memory: Bytes | None = Field(
        default=None, description="memory that it takes; without it, data is streamed or small: 1 GB is enough"
    )


class Dates(Model):
    """When a task became known, for studies of what a model may have memorized."""

    published: date | None = Field(default=None, description="the day on which the data or the task became public")
    closed: date | None = Field(default=None, description="the day on which the competition closed")


class Budget(Model):
    """Limits on what a trial may spend."""

    time: Seconds
    steps: int = 50
    working: Seconds | None = Field(default=None, description="time excluding waits for a model provider")
    tokens: int | None = Field(default=None, description="over all model calls")
    cost: float | None = Field(default=None, description="in dollars, for models with a known price")


class MiniatureDefaults(Model):
    """What differs on miniatures, which take minutes where the real task takes hours."""

    environment: str | None = Field(default=None, description="if not that of the real task")
    time: Seconds = Field(default=600.0, description="time limit, if that of the real task is longer")
    steps: int = Field(default=50, description="limit of steps, if that of the real task is higher")


class Resources(Model):
    """Resources of a trial's lab."""

    cores: int = 1
    memory: Bytes = 4 * 10**9
    disk: Bytes = 2 * 10**9
    gpus: int = 0


class Leaderboard(Model):
    """Scores of human teams: the four published thresholds, and the score at each percentile if known."""

    gold: float
    silver: float
    bronze: float
    median: float
    teams: int
    percentiles: dict[str, float] = Field(default={}, description="percentile, best = 100 -> score of the team there")


class Solution(Model):
    """One measured solution of a task's reference panel."""

    name: str
    score: float = Field(description="mean over the seeds")
    spread: float = Field(default=0.0, description="standard deviation over the seeds; 0 if the seed changes nothing")
    seeds: int = 1
    seconds: float


class Measured(Model):
    """Scores measured on a real machine: the starter's baseline and the reference panel."""

    format: Literal["measured/1"] = "measured/1"
    date: date
    edition: str
    variant: str = "real"
    versions: dict[str, str]
    baseline: float
    baseline_spread: float = Field(description="standard deviation over the seeds")
    baseline_seeds: int
    panel: tuple[Solution, ...]

    @classmethod
    def constant(cls, baseline: float, edition: str, variant: str) -> Self:
        """Return a baseline that was not measured, with no spread and no panel."""
        return cls(
            date=date.min,
            edition=edition,
            variant=variant,
            versions={},
            baseline=baseline,
            baseline_spread=0.0,
            baseline_seeds=0,
            panel=(),
        )


MEASURED_FILES = {"measured": "measured.json", "measured_miniature": "measured-miniature.json"}
"""Field of a task -> the file that holds it."""


def read_measured(path: Path) -> Measured | None:
    """Read measured figures; None if there is no such file."""
    return Measured.model_validate_json(path.read_bytes()) if path.is_file() else None


class LabLayout(Model):
    """Where code in the labs of a task finds things, if not only in `/workspace`."""

    folder: str = Field(default="/workspace", description="the workspace, as the task's description calls it")
    links: dict[str, str] = Field(default={}, description="absolute path -> folder of the workspace; bubblewrap only")
    executables: tuple[str, ...] = Field(default=(), description="starting files that are programs")
    variables: dict[str, str] = Field(default={}, description="environment variables of the agent's commands")
    test_variables: dict[str, str] = Field(default={}, description="environment variables of hidden tests")


class TaskFile(Model):
    """The contents of `task.toml`."""

    format: Literal["task/1"]
    title: str
    summary: str
    kind: str = Field(description="the type of problem, such as tabular-classification or image-segmentation")
    judged: Judged = "table"
    category: str | None = Field(default=None, description="the category in the published benchmark, where it has one")
    source: Source
    dates: Dates = Dates()
    guessed: tuple[str, ...] = Field(
        default=(), description="what `assay new task` guessed and nobody has confirmed, such as metric; only shown"
    )
    preparation: Preparation = Preparation()
    data: Data = Data()
    selection: Selection = Selection()
    submission: Submission
    metric: Metric
    budget: Budget = Budget(time=3600.0)
    resources: Resources = Resources()
    environment: str = "core"
    layout: LabLayout = LabLayout()
    miniature: MiniatureDefaults = MiniatureDefaults()
    leaderboard: Leaderboard | None = None
    integrity: IntegrityRules | None = None
    second: SecondSetting | None = None
    rules: dict[str, EditionRules] = Field(default={}, description="edition -> what differs in it")


class Task(TaskFile):
    """A problem and how it is graded."""

    suite: str
    name: str
    folder: Path
    own_folder: Path | None = Field(
        default=None, description="with the files that differ in this edition: the subfolder of its name, if it exists"
    )
    data_in_workspace: bool = Field(default=False, description="see `EditionRules`")
    published_baseline: float | None = Field(default=None, description="see `EditionRules.baseline`")
    editions: tuple[str, ...]
    lenient: tuple[str, ...] = ()
    success_as_published: tuple[str, ...] = ()
    base_submission: Submission | None = Field(
        default=None, description="the competition's own rules of a submission, where the edition's differ"
    )
    measured: Measured | None = Field(default=None, description="measured on real data")
    measured_miniature: Measured | None = Field(default=None, description="measured on the miniature synthetic-0")

    @property
    def id(self) -> str:
        """The task's full name, `suite/task`."""
        return f"{self.suite}/{self.name}"

    @property
    def edition(self) -> str:
        """The edition used when none is named."""
        return self.editions[0]

    @property
    def description(self) -> str:
        """The text that agents read."""
        return self.path("description.md").read_text("utf-8")

    @property
    def obfuscated(self) -> str | None:
        """The description without any hint of the competition's identity, if there is one."""
        path = self.folder / "obfuscated.md"
        return path.read_text("utf-8") if path.is_file() else None

    def in_edition(self, edition: str) -> "Task":
        """Return the task under the rules of that edition."""
        own_folder = self.folder / edition if (self.folder / edition).is_dir() else None
        if edition not in self.rules and edition not in self.lenient and own_folder is None:
            return self
        rules, lenient = self.rules.get(edition, EditionRules()), edition in self.lenient
        submission = merge_rules(self.submission.model_dump(exclude_unset=True), rules.submission)
        metric = merge_rules(self.metric.as_written(), rules.metric)
        data = {**self.data.model_dump(exclude_unset=True), **rules.data}
        data = {key: value for key, value in data.items() if value != ""}
        source = {**self.source.model_dump(exclude_unset=True), **rules.source}
        changes: dict[str, object] = {
            "submission": Submission.model_validate({"lenient": lenient, **submission}),
            "base_submission": self.base_submission or self.submission,
            "metric": Metric.model_validate(metric),
            "data": Data.model_validate(data),
            "source": Source.model_validate(source),
            "selection": Selection.model_validate({**self.selection.model_dump(exclude_unset=True), **rules.selection}),
            "judged": rules.judged or self.judged,
            "own_folder": own_folder,
            "data_in_workspace": rules.data_in_workspace,
            "published_baseline": rules.baseline,
        }
        if own_folder:
            changes |= {name: read_measured(own_folder / file) for name, file in MEASURED_FILES.items()}
        return self.model_copy(update=changes)

    def environment_for(self, variant: str) -> str:
        """Return the environment of labs with this variant of the data: a name, or the path of a requirements file."""
        name = (is_miniature(variant) and self.miniature.environment) or self.environment
        return str(self.folder / name) if name.endswith(".txt") else name

    def budget_for(self, variant: str) -> Budget:
        """Return the budget of trials on this variant of the data."""
        if not is_miniature(variant):
            return self.budget
        limits = {"time": self.miniature.time, "steps": self.miniature.steps}
        return self.budget.model_copy(update={name: min(limits[name], getattr(self.budget, name)) for name in limits})

    def path(self, name: str) -> Path:
        """Return the path of a file or folder of the task: this edition's own, or the one that all editions share."""
        own = self.own_folder / name if self.own_folder else None
        return own if own and own.exists() else self.folder / name

    @property
    def starter(self) -> dict[str, bytes]:
        """The files a workspace starts with, by path; a task may have none."""
        folder = self.path("starter")
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    @property
    def starter_script(self) -> str | None:
        """The script of the starter that trains or measures; a starter without one already is a submission."""
        return next((name for name in ("train.py", "inference.py") if name in self.starter), None)

    @property
    def answer_columns(self) -> tuple[str, ...]:
        """The columns of the answers that ids, rules, codecs or the metric refer to."""
        submission, metric = self.submission, self.metric
        names = [submission.id, *submission.id_with] if submission.id and submission.by_id else []
        for name, rule in submission.columns.items():
            if rule.scored:
                names.append(rule.answer or name)
                for codec in (rule.codec, rule.truth):
                    names.extend(codec.answers.values() if codec else ())
        for columns in metric.answers.values():
            names.extend([columns] if isinstance(columns, str) else columns)
        if submission.skip:
            names.append(submission.skip.column)
        if metric.unit:
            names.append(metric.unit.partition(":")[0])
        return tuple(dict.fromkeys(names))

    @property
    def timed(self) -> bool:
        """Whether the score is a time measurement, so that grading twice gives two different scores."""
        return self.judged == "speed"

    @property
    def judged_in_lab(self) -> bool:
        """Whether a submission has to run before it can be scored; see `grading.by_running`."""
        return self.judged_by_tests or (self.judged == "checkpoint" and self.submission.form == "file")

    @property
    def judged_by_tests(self) -> bool:
        """Whether hidden tests are run on the files of the workspace."""
        return self.judged == "tests"


def is_miniature(variant: str) -> bool:
    """Whether a variant is a miniature that was made up, and not real data."""
    return variant.startswith("synthetic")


class Defaults(Model):
    """Values for tasks that do not set their own."""

    license: str | None = None
    environment: str | None = None
    miniature: MiniatureDefaults | None = None
    budget: Budget | None = None
    resources: Resources | None = None
    selection: Selection | None = None


class Suite(Model):
    """A named list of tasks that share editions, defaults and a catalog of quirks."""

    format: Literal["suite/1"]
    name: str
    title: str
    editions: tuple[str, ...]
    lenient: tuple[str, ...] = Field(default=(), description="editions that parse as the published graders do")
    success_as_published: tuple[str, ...] = Field(
        default=(), description="editions in which an improvement counts as success without being beyond noise"
    )
    bare_names: bool = Field(
        default=False, description="whether published lists and splits name its tasks without the suite"
    )
    tasks: tuple[FileName, ...] = Field(description="names of their folders beside `suite.toml`")
    splits: dict[str, tuple[str, ...]] = Field(default={})
    families: dict[str, tuple[str, ...]] = Field(
        default={}, description="tasks so alike that results on them count as one observation, by the family's name"
    )
    defaults: Defaults = Defaults()
    quirks: dict[str, Quirk] = Field(default={}, description="name -> what tasks of the suite may name as their quirk")
