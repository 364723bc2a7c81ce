"""Prepared tasks on this machine: complete or absent, with the answers kept away from what labs may see."""

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from assay import __version__
from assay.core.disk import file_lock, random_token, sync_folder, write_json
from assay.core.disk_space import check_space, folder_size
from assay.core.errors import NotPrepared, SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import Progress, use_progress
from assay.core.quantities import Model
from assay.core.text import describe_validation_error, one_line
from assay.data.acquire import check_variant, needs_user_copy
from assay.data.build import Builder
from assay.data.publish import File, publish, seal
from assay.data.raw_data import Origin
from assay.data.recipe import Recipe, find_change
from assay.tasks import Task

_LIBRARIES = ("numpy", "pandas", "polars")


class Manifest(Model):
    """What was prepared, from which raw data and by which recipe."""

    format: Literal["prepared/2"] = "prepared/2"
    task: str
    edition: str
    variant: str
    recipe: Recipe
    token: str
    prepared_at: datetime = Field(alias="made")
    versions: dict[str, str]
    origin: Origin = Origin(kind="packages", verified=True)
    differs: dict[str, str] = Field(
        default={}, description="file -> its MD5, where it is not the published one; large files after small ones"
    )
    raw: dict[str, File]
    public: dict[str, File]
    private: dict[str, File]
    secret: bool = Field(default=False, description="hidden data was sampled with a seed that only this home knows")


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


@dataclass(frozen=True)
class PrepareOptions:
    """How to prepare a task."""

    again: bool = False  # even if its data is up to date
    user_copy: Path | None = None  # raw data that the user already has
    keep_raw: bool = False  # of a miniature


def prepare(
    home: Home,
    task: Task,
    edition: str | None = None,
    variant: str = "real",
    *,
    progress: Progress,
    options: PrepareOptions = PrepareOptions(),
) -> Prepared:
    """Prepare a task's data, or return it if it is prepared already.

    Args:
        home: Where prepared data is kept.
        task: The task to prepare.
        edition: The edition to prepare it for; the task's default edition if not named.
        variant: `real`, `unverified` or `synthetic-SEED`.
        progress: Shown the stages of the work.
        options: Whether to prepare again, from which raw data, and whether to keep it.
    """
    edition, path = _locate(home, task, edition, variant)

    def build(folder: Path, token: str) -> Manifest:
        builder = Builder(home, task, task.in_edition(edition), edition, variant, progress)
        with use_progress(progress):
            built = builder.build(folder, home.public / token, options.user_copy, keep_raw=options.keep_raw)
        return Manifest(
            task=task.id,
            edition=edition,
            variant=variant,
            recipe=built.recipe,
            token=token,
            made=datetime.now(UTC),
            versions=_list_versions(),
            origin=built.raw.origin,
            differs=built.differs,
            raw=built.raw.files,
            public=built.public,
            private=built.private,
            secret=built.secret,
        )

    with _lock(home, path):
        keeps_raw = not options.keep_raw or (path / "raw").is_dir()
        if options.again or not keeps_raw or not is_prepared(home, task, edition, variant):
            _replace(home, path, build)
    return load_prepared(home, task, edition, variant)


def copy_prepared(home: Home, source: Home, task: Task, edition: str | None = None, variant: str = "real") -> Prepared:
    """Copy a task's data from another home, where it is prepared, and check it against its manifest."""
    edition, path = _locate(home, task, edition, variant)

    def copy(folder: Path, token: str) -> Manifest:
        there = load_prepared(source, task, edition, variant)
        check_space(home.data, folder_size(there.private) + folder_size(there.public), f"copying {task.id}")
        shutil.copytree(there.private, folder / "private")
        shutil.copytree(there.public, folder / "written")
        files = publish(folder / "written", home.public / token), seal(folder / "private")
        shutil.rmtree(folder / "written")
        if files != (there.manifest.public, there.manifest.private):
            raise SourceError(f"{there.folder} does not match its manifest; prepare {task.id} there again")
        return there.manifest.model_copy(update={"token": token})

    with _lock(home, path):
        if not is_prepared(home, task, edition, variant):
            _replace(home, path, copy)
    return load_prepared(home, task, edition, variant)


def choose_variant(home: Home, task: Task, edition: str | None = None, choice: str | None = None) -> str:
    """Return the variant of a task to use: the wanted one, else the real data, else the only one that is prepared.

    `choice` is the name of a variant, in which `synthetic` means `synthetic-0`, or one for each suite, such as
    `mlebench=synthetic,pocket=real`.
    """
    for part in (choice or "").split(","):
        suite, equals, name = part.rpartition("=")
        if name and (not equals or suite == task.suite):
            return "synthetic-0" if name == "synthetic" else name
    prepared = list_variants(home, task, edition)
    return prepared[0] if len(prepared) == 1 else "real"


def list_variants(home: Home, task: Task, edition: str | None = None) -> list[str]:
    """Return the variants of a task that are prepared on this machine for an edition."""
    folder = home.root / "data" / task.suite / task.name / (edition or task.edition)
    return sorted(path.parent.name for path in folder.glob("*/manifest.json") if not path.parent.name.startswith("."))


def remove_prepared(home: Home, task: Task) -> None:
    """Remove all prepared data of a task, in every edition and variant."""
    folder = home.data / task.suite / task.name
    for path in [path for path in folder.glob("*/*") if path.is_symlink() and not path.name.startswith(".")]:
        with _lock(home, path):
            path.unlink()  # The lock then removes what the link named, and its public files.
    shutil.rmtree(folder, ignore_errors=True)


def load_prepared(home: Home, task: Task, edition: str | None = None, variant: str = "real") -> Prepared:
    """Return a task's prepared data; raise `NotPrepared` if it is missing or stale."""
    edition, path = _locate(home, task, edition, variant)
    command = f"run: assay prepare {_options(task, edition, variant)}"
    try:
        folder = path.resolve(strict=True)
        manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        others = list_variants(home, task, edition)
        hint = f"; prepared are: {', '.join(others)}; to use one, pass --variant {others[0]}" if others else ""
        what = _describe(task, edition, variant)
        raise NotPrepared(f"{what} is not prepared on this machine; {command}{hint}") from None
    except ValidationError as error:
        raise NotPrepared(
            f"{path}/manifest.json cannot be read ({one_line(describe_validation_error(error))}); {command}"
        ) from None
    ruled = task.in_edition(edition)
    change = find_change(manifest.recipe, ruled, edition, variant)
    if change:
        raise NotPrepared(f"the prepared data of {task.id} is stale: {change}; {command}")
    public = home.public / manifest.token
    if not public.is_dir():
        raise NotPrepared(f"the public files of {task.id} are missing from {public}; {command}")
    return Prepared(ruled, edition, variant, folder, public, folder / "private", manifest)


def is_prepared(home: Home, task: Task, edition: str | None, variant: str) -> bool:
    """Whether the data of a task is on this machine and up to date."""
    try:
        load_prepared(home, task, edition, variant)
    except NotPrepared:
        return False
    return True


def _locate(home: Home, task: Task, edition: str | None, variant: str) -> tuple[str, Path]:
    edition = edition or task.edition
    if edition not in task.editions:
        raise UsageError(f"{task.id} has no edition {edition!r}; it has: {', '.join(task.editions)}")
    check_variant(task, variant)
    return edition, home.data / task.suite / task.name / edition / variant


def _describe(task: Task, edition: str, variant: str) -> str:
    parts = [task.id]
    if edition != task.edition:
        parts.append(f"edition {edition}")
    if variant != "real":
        parts.append(f"{variant} data")
    return ", ".join(parts)


def _options(task: Task, edition: str, variant: str) -> str:
    """The arguments of `assay prepare` that make exactly this."""
    kind, _, seed = variant.partition("-")
    parts = [task.id]
    if edition != task.edition:
        parts += ["--edition", edition]
    if variant != "real":
        parts.append(f"--{kind}")
    if variant == "unverified" and needs_user_copy(task):
        parts += ["--raw", "DIR"]
    if seed not in ("", "0"):
        parts += ["--seed", seed]
    return " ".join(parts)


@contextmanager
def _lock(home: Home, path: Path) -> Iterator[None]:
    """Hold the lock of one task's data, without leftovers before and after."""
    with file_lock(home.locks / ".".join(["prepare", *path.relative_to(home.data).parts])):
        _remove_leftovers(home, path)
        try:
            yield
        finally:
            _remove_leftovers(home, path)


def _replace(home: Home, path: Path, write: Callable[[Path, str], Manifest]) -> None:
    """Let `write` fill a new folder, given with the token of its public files, and put it in place of the old one."""
    token = random_token()
    folder = path.with_name(f".{path.name}.{token}")
    folder.mkdir(mode=0o700, parents=True)
    # The link is made before its target, so that leftovers of every public folder ever begun can be found.
    (folder / "public").symlink_to(home.public / token)
    manifest = write(folder, token)
    write_json(folder / "manifest.json", manifest.model_dump(mode="json", by_alias=True))
    os.sync()  # One call is faster than one for each of thousands of files.
    # The name is a symbolic link because a link, unlike a folder, can be replaced atomically.
    link = folder.with_name(f"{folder.name}.link")
    link.symlink_to(folder.name)
    link.replace(path)
    sync_folder(path.parent)


def _remove_leftovers(home: Home, path: Path) -> None:
    """Remove what failed or killed preparations left and what a newer one replaced; called only under the lock."""
    current = path.readlink().name if path.is_symlink() else None
    for leftover in path.parent.glob(f".{path.name}.*"):
        if leftover.is_symlink():
            leftover.unlink()
        elif leftover.name != current:
            for public in (leftover / "public", *leftover.glob("selection*/public")):
                if public.is_symlink():
                    shutil.rmtree(home.public / public.readlink().name, ignore_errors=True)
            shutil.rmtree(leftover)


def _list_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"python": platform.python_version(), "assay": __version__} | {name: version(name) for name in _LIBRARIES}
