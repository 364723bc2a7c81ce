"""Where a run is carried out: on this machine, on Slurm or on Ray; each is imported only when it is asked for."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.core.disk import write_json
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.records import RunFolder
from assay.records.lease import BEAT, LAPSE
from assay.records.trial import read_record
from assay.runs.driver import Executor
from assay.runs.retry import Retries

_LEAST_LAPSE = 5 * BEAT


class ExecutorConfig(BaseModel):
    """`place.json`: where a run was carried out last, so that it can be gone on with there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["place/1"] = "place/1"
    on: str = "local"
    slurm: dict[str, str] = {}
    data_from: Path | None = None
    lease: float = LAPSE


def make_executor(
    place: ExecutorConfig, run: RunFolder, home: Home, *, cores: int | None, retries: Retries
) -> Executor:
    """What carries the run out there."""
    if place.lease < _LEAST_LAPSE:
        raise UsageError(
            f"--lease: a holder shows a sign of life every {BEAT:g} s; give it {_LEAST_LAPSE:g} s at least"
        )
    if place.slurm and place.on != "slurm":
        raise UsageError("--slurm goes with --on slurm")
    if place.on == "local":
        from assay.runs.executors.local import Local

        return Local(home, cores=cores, lapse=place.lease, overdue=retries.overdue)
    source = place.data_from.absolute() if place.data_from else None
    if place.on == "slurm":
        from assay.runs.executors.slurm import Slurm

        return Slurm(run, home, options=place.slurm, source=source, lapse=place.lease)
    if place.on.partition(":")[0] == "ray":
        from assay.runs.executors.ray import Ray

        address = place.on if place.on.startswith("ray://") else place.on.partition(":")[2] or None
        return Ray(home, address, cores=cores, source=source, lapse=place.lease)
    raise UsageError(f"--on {place.on}: there are local, slurm, ray, ray:ADDRESS and ray://HOST:PORT")


def save_executor_config(run: RunFolder, place: ExecutorConfig) -> None:
    """Write down where a run is carried out, unless it is on this machine, where it is anyway."""
    path = run.path / "place.json"
    if place.on != "local" or path.exists():
        write_json(path, place.model_dump(mode="json"))


def load_executor_config(run: RunFolder) -> ExecutorConfig:
    """Where a run was carried out last."""
    path = run.path / "place.json"
    return read_record(path, ExecutorConfig) if path.exists() else ExecutorConfig()
