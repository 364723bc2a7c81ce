"""The executor of a run, chosen by name; Slurm and Ray are imported only when used."""

from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from assay.core.disk import write_json
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.plugins import Plugins, split_path
from assay.core.text import one_line, quote
from assay.records import RunFolder
from assay.records.lease import HEARTBEAT, LEASE_TIMEOUT
from assay.records.trial import read_record
from assay.runs.driver import Executor
from assay.runs.retry import Retries

_MIN_LEASE = 5 * HEARTBEAT


class ExecutorConfig(BaseModel):
    """`executor.json`: the executor a run was last started with, which `assay resume` uses again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["executor/1"] = "executor/1"
    on: str = Field(
        default="local", description="name of the executor, and where it has one, its address: ray://host:1"
    )
    slurm: dict[str, str] = {}
    data_from: Path | None = None
    lease: float = LEASE_TIMEOUT

    @property
    def name(self) -> str:
        """The executor's name, or `path.py:name`."""
        return self.on if split_path(self.on) else self.on.partition(":")[0]

    @property
    def data_source(self) -> Path | None:
        """The folder that machines copy prepared data from, if they do not share this one's."""
        return self.data_from.absolute() if self.data_from else None


class ExecutorFactory(Protocol):
    """Creates an executor; `cores` limits what trials use together on one machine."""

    def __call__(
        self, config: ExecutorConfig, run: RunFolder, home: Home, *, cores: int | None, retries: Retries
    ) -> Executor: ...


EXECUTORS = Plugins[ExecutorFactory]("executors", "executor")


def make_executor(
    config: ExecutorConfig, run: RunFolder, home: Home, *, cores: int | None, retries: Retries
) -> Executor:
    """Create the executor that a configuration names."""
    check_executor_config(config)
    return EXECUTORS.load(config.name)(config, run, home, cores=cores, retries=retries)


def check_executor_config(config: ExecutorConfig) -> None:
    """Raise `UsageError` if there is no such executor, which can be known before a run has a folder."""
    if config.lease < _MIN_LEASE:
        raise UsageError(f"lease: leases are renewed every {HEARTBEAT:g} s; allow at least {_MIN_LEASE:g} s")
    for option, value in config.slurm.items():
        # Options become lines of a shell script: a line break would begin a command.
        if not (option.isprintable() and value.isprintable()):
            raise UsageError(f"slurm.{one_line(option)}: {quote(value)} has a line break or another control character")
    if config.slurm and config.on != "slurm":
        raise UsageError("slurm settings require --on slurm")
    EXECUTORS.check(config.name)


def save_executor_config(run: RunFolder, config: ExecutorConfig) -> None:
    """Save the executor of a run, unless it is the local one, which is the default."""
    path = run.path / "executor.json"
    if config.on != "local" or path.exists():
        write_json(path, config.model_dump(mode="json"))


def load_executor_config(run: RunFolder) -> ExecutorConfig:
    """Return the executor a run was last started with."""
    path = run.path / "executor.json"
    return read_record(path, ExecutorConfig) if path.exists() else ExecutorConfig()
