"""What a task and a suite are: the contents of `task.toml`, `measured.json` and `suite.toml`, checked."""

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Scalar = bool | int | float | str
Kind = Literal["tabular-classification", "tabular-regression", "image-classification", "code-speed"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def seconds_of(text: str | int | float) -> float:
    """Seconds in a duration such as `90`, `90s`, `10m`, `1h30m` or `2d`."""
    if isinstance(text, int | float):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise ValueError(f"{text!r} is not a duration; write 90s, 10m, 1h30m or 2d")
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)


def bytes_of(text: str | int) -> int:
    """Bytes in a size such as `500MB` or `4GB`."""
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]B)", text.strip().upper())
    if match is None:
        raise ValueError(f"{text!r} is not a size; write 500MB or 4GB")
    return int(float(match[1]) * _SIZES[match[2]])


def duration(seconds: float) -> str:
    """A duration as a person writes it: `90s`, `10m`, `1h30m`."""
    whole = round(seconds)
    parts = [(whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s")]
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"


def size(count: int) -> str:
    """A number of bytes as a person writes it: `500MB`, `4GB`."""
    unit = max((unit for unit in _SIZES if _SIZES[unit] <= count), key=lambda unit: _SIZES[unit], default=None)
    return f"{count / _SIZES[unit]:.3g}{unit}" if unit else f"{count}B"


Seconds = Annotated[float, BeforeValidator(seconds_of)]
Bytes = Annotated[int, BeforeValidator(bytes_of)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Model(BaseModel):
    """Plain data that cannot be changed and holds no field we do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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


class Source(Model):
    """Where a task's raw data comes from, and on what terms."""

    packages: tuple[Package, ...] = ()
    installed: tuple[Installed, ...] = ()
    about: str
    licence: str


class Data(Model):
    """The parts of the public data that an agent without a model needs to know by name."""

    train: str | None = None
    test: str | None = None
    target: str | None = None
    id: str | None = None
    image: str | None = Field(default=None, description="column with image paths, relative to the data folder")


class Column(Model):
    """What one column of a submission must hold."""

    type: Literal["number", "integer", "boolean", "category", "text"]
    min: float | None = None
    max: float | None = None
    values: tuple[Scalar, ...] | None = None


class Submission(Model):
    """What is handed in, and what must hold of it before it can be scored."""

    form: Literal["csv", "file", "tree"]
    file: str
    id: str | None = None
    columns: dict[str, Column] = {}
    max_size: Bytes = 100 * 10**6


class Metric(Model):
    """The named function that turns answers and submission into a score."""

    name: str
    direction: Literal["higher", "lower"]
    params: dict[str, Scalar] = {}

    def better(self, one: float, other: float) -> bool:
        """Whether score `one` is strictly better than `other`."""
        return one > other if self.direction == "higher" else one < other


class Budget(Model):
    """What a trial may use up."""

    time: Seconds
    steps: int = 50


class Resources(Model):
    """What a trial's lab gets of the machine."""

    cores: int = 1
    memory: Bytes = 4 * 10**9
    disk: Bytes = 2 * 10**9


class Leaderboard(Model):
    """Scores of human teams: the four published thresholds, and the score at each percentile where known."""

    gold: float
    silver: float
    bronze: float
    median: float
    teams: int
    percentiles: dict[str, float] = Field({}, description="percentile, best = 100 -> score of the team there")


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


class Task(TaskFile):
    """A problem plus how it is judged."""

    suite: str
    name: str
    folder: Path
    editions: tuple[str, ...]
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
    def starter(self) -> dict[str, bytes]:
        """The code a workspace begins with, by path in it; a task may have none."""
        folder = self.folder / "starter"
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    @property
    def timed(self) -> bool:
        """Whether its score is a measurement of time, so that grading it twice gives two figures."""
        return self.kind == "code-speed"


class Suite(Model):
    """A named list of tasks that are judged by the same editions."""

    format: Literal["suite/1"]
    name: str
    title: str
    editions: tuple[str, ...]
    tasks: tuple[str, ...]
    splits: dict[str, tuple[str, ...]] = {}
