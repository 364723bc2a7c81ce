"""The executor of a run, chosen by name; Slurm and Ray are imported only when used."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.core.disk import write_json
from assay.core.errors import UsageError
from assay.core.home import Home
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
    on: str = "local"
    slurm: dict[str, str] = {}
    data_from: Path | None = None
    lease: float = LEASE_TIMEOUT


def make_executor(
    config: ExecutorConfig, run: RunFolder, home: Home, *, cores: int | None, retries: Retries
) -> Executor:
    """Create the executor that a configuration names."""
    check_executor_config(config)
    if config.on == "local":
        from assay.runs.executors.local import LocalExecutor

        return LocalExecutor(home, cores=cores, lapse=config.lease, overdue=retries.overdue)
    source = config.data_from.absolute() if config.data_from else None
    if config.on == "slurm":
        from assay.runs.executors.slurm import Slurm

        return Slurm(run, home, options=config.slurm, source=source, lapse=config.lease)
    from assay.runs.executors.ray import Ray

    address = config.on if config.on.startswith("ray://") else config.on.partition(":")[2] or None
    return Ray(home, address, cores=cores, source=source, lapse=config.lease)


def check_executor_config(config: ExecutorConfig) -> None:
    """Raise `UsageError` if there is no such executor, which can be known before a run has a folder."""
    if config.lease < _MIN_LEASE:
        raise UsageError(f"lease: leases are renewed every {HEARTBEAT:g} s; allow at least {_MIN_LEASE:g} s")
    if config.slurm and config.on != "slurm":
        raise UsageError("slurm settings require --on slurm")
    if config.on not in ("local", "slurm") and config.on.partition(":")[0] != "ray":
        raise UsageError(f"--on {config.on}: choose from local, slurm, ray, ray:ADDRESS and ray://HOST:PORT")


def save_executor_config(run: RunFolder, config: ExecutorConfig) -> None:
    """Save the executor of a run, unless it is the local one, which is the default."""
    path = run.path / "executor.json"
    if config.on != "local" or path.exists():
        write_json(path, config.model_dump(mode="json"))


def load_executor_config(run: RunFolder) -> ExecutorConfig:
    """Return the executor a run was last started with."""
    path = run.path / "executor.json"
    return read_record(path, ExecutorConfig) if path.exists() else ExecutorConfig()
