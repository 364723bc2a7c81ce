"""Prepared tasks on this machine: made once, whole or not at all, with the answers apart from what labs may see."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from pydantic import Field, ValidationError

from assay.core.disk import file_lock, random_token, sync_folder, write_json
from assay.core.errors import NotPrepared, SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import Progress, stage, use_progress
from assay.core.quantities import Model
from assay.data.acquire import Origin, RawData, acquire, check_variant
from assay.data.publish import File, publish, seal
from assay.tasks import Task, load_plugin

_MADE_WITH = ("assay", "numpy", "pandas", "polars")


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
    origin: Origin = Origin(kind="packages", verified=True)
    differs: dict[str, str] = Field(default={}, description="file -> its MD5, where the published one is another")
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
    given: Path | None = None,
    keep_raw: bool = False,
    source: Home | None = None,
) -> Prepared:
    """Make a task's data ready, or return what is ready already.

    What was made by another recipe, or is no longer whole, is made anew, and so is everything with `again`; the old one
    is dropped when the new one is in place. `given` is raw data that the user has already. A miniature's raw data is
    kept only if asked for. From `source`, another home, what is prepared there is copied instead.
    """
    edition, place = _place(home, task, edition, variant)
    with file_lock(home.locks / f"prepare.{task.suite}.{task.name}.{edition}.{variant}"):
        _sweep(home, place)
        if again or not _usable(home, task, edition, variant) or (keep_raw and not (place / "raw").is_dir()):
            try:
                with use_progress(progress):
                    built = (
                        _copy(prepared(source, task, edition, variant), home, place)
                        if source
                        else _build(home, task, edition, variant, place, given, keep_raw, progress)
                    )
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
    command = f"run: assay prepare {_options(task, edition, variant)}"
    try:
        folder = place.resolve(strict=True)
        manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        raise NotPrepared(f"{_named(task, edition, variant)} is not prepared on this machine; {command}") from None
    except ValidationError as error:
        raise NotPrepared(f"{place}/manifest.json cannot be read ({error.errors()[0]['msg']}); {command}") from None
    if manifest.recipe != _recipe(task, variant):
        raise NotPrepared(
            f"{task.id} was prepared by another version of its prepare.py or from another source; {command}"
        )
    public = home.public / manifest.token
    if not public.is_dir():
        raise NotPrepared(f"the public files of {task.id} are gone from {public}; {command}")
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
        raise UsageError(f"{task.id} has no edition {edition!r}; it has: {', '.join(task.editions)}")
    check_variant(task, variant)
    return edition, home.data / task.suite / task.name / edition / variant


def _named(task: Task, edition: str, variant: str) -> str:
    parts = [task.id, *([f"edition {edition}"] if edition != task.edition else [])]
    return ", ".join([*parts, *([f"{variant} data"] if variant != "real" else [])])


def _options(task: Task, edition: str, variant: str) -> str:
    """What follows `assay prepare` to make exactly this."""
    kind, _, seed = variant.partition("-")
    parts = [task.id, *(["--edition", edition] if edition != task.edition else [])]
    parts += [f"--{kind}"] if variant != "real" else []
    return " ".join([*parts, *(["--seed", seed] if seed not in ("", "0") else [])])


def _recipe(task: Task, variant: str) -> str:
    """A hash of all that decides the data's bytes: the source and the task's own code.

    What is shared (`splits`, `tables`, …) is left out: tests pin the bytes that come of it, so it cannot drift unseen,
    and an upgrade of Assay must not ask for everything to be prepared again.
    """
    code = task.folder / "prepare.py"
    if not code.is_file():
        raise UsageError(f"{code} is missing")
    source = task.source.model_dump(mode="json", exclude={"about", "licence"}, exclude_defaults=True)
    parts = [json.dumps(source, sort_keys=True).encode(), code.read_bytes()]
    if variant.startswith("synthetic"):
        parts.append((task.folder / "synthetic.py").read_bytes())
    if task.timed:
        parts += task.starter.values()  # the reference that submissions are timed beside
    beside = (path for path in sorted(task.folder.glob("*.py")) if path != code)
    parts += [path.read_bytes() for path in beside if path.name.encode() in parts[1]]  # what prepare.py names, it uses
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


def _build(
    home: Home,
    task: Task,
    edition: str,
    variant: str,
    place: Path,
    given: Path | None,
    keep_raw: bool,
    progress: Progress,
) -> Path:
    from importlib.metadata import version

    recipe, token = _recipe(task, variant), random_token()
    folder = place.with_name(f".{place.name}.{token}")
    folder.mkdir(mode=0o700, parents=True)
    # The link comes before what it points to, so that a sweep finds every public folder that was ever begun.
    (folder / "public").symlink_to(home.public / token)
    scratch, written, private = (folder / name for name in ("raw", "written", "private"))
    for part in (scratch, written, private):
        part.mkdir(mode=0o700)
    raw = acquire(home, task, variant, scratch, given=given, progress=progress)
    with stage(f"Preparing {task.id}"):
        _plugin(task)(raw.folder, written, private, edition)
        differs = _compared(task, edition, variant, raw, written, private)
        public_files, private_files = publish(written, home.public / token), seal(private)
    shutil.rmtree(written)
    if not keep_raw and raw.origin.kind != "packages":
        shutil.rmtree(scratch)
    manifest = Manifest(
        task=task.id,
        edition=edition,
        variant=variant,
        recipe=recipe,
        token=token,
        made=datetime.now(UTC),
        versions={"python": platform.python_version()} | {name: version(name) for name in _MADE_WITH},
        origin=raw.origin,
        differs=differs,
        raw=raw.files,
        public=public_files,
        private=private_files,
    )
    write_json(folder / "manifest.json", manifest.model_dump(mode="json"))
    os.sync()  # One call is quicker than one for each of thousands of files.
    return folder


def _copy(there: Prepared, home: Home, place: Path) -> Path:
    """Copy what is prepared in another home, and check that it is what its manifest says."""
    token = random_token()
    folder = place.with_name(f".{place.name}.{token}")
    folder.mkdir(mode=0o700, parents=True)
    (folder / "public").symlink_to(home.public / token)
    shutil.copytree(there.private, folder / "private")
    shutil.copytree(there.public, folder / "written")
    found = publish(folder / "written", home.public / token), seal(folder / "private")
    shutil.rmtree(folder / "written")
    if found != (there.manifest.public, there.manifest.private):
        raise SourceError(f"{there.folder} is not what its manifest says; prepare {there.task.id} there again")
    manifest = there.manifest.model_copy(update={"token": token})
    write_json(folder / "manifest.json", manifest.model_dump(mode="json"))
    os.sync()
    return folder


def _plugin(task: Task) -> Callable[[Path, Path, Path, str], None]:
    path = task.folder / "prepare.py"
    function = getattr(load_plugin(path), "prepare", None)
    if not callable(function):
        raise UsageError(f"{path} defines no function prepare(raw, public, private, edition)")
    return cast(Callable[[Path, Path, Path, str], None], function)


def _compared(task: Task, edition: str, variant: str, raw: RawData, public: Path, private: Path) -> dict[str, str]:
    """The files that differ from the published ones; an error unless data that differs was asked for.

    Only the default edition is made to be the same; data for another one must come from an archive that was verified.
    """
    if variant.startswith("synthetic") or not task.data.checksums:
        return {}
    if edition != task.edition:
        if variant == "real" and not raw.origin.verified:
            raise SourceError(
                f"{task.id}: whether this is the published data cannot be told from a folder in edition {edition}; "
                f"give the archive, or accept it with --unverified"
            )
        return {}
    sides = {"public": public, "private": private}
    found = {name: _md5_of(sides[(parts := Path(name).parts)[0]].joinpath(*parts[1:])) for name in task.data.checksums}
    differs = {name: md5 for name, md5 in found.items() if md5 != task.data.checksums[name]}
    if differs and variant == "real":
        lines = (f"\n  {name}: {md5}, published {task.data.checksums[name]}" for name, md5 in differs.items())
        raise SourceError(
            f"{task.id}: {len(differs)} of {len(found)} prepared files differ from the published ones (MD5):"
            f"{''.join(lines)}\nThe raw data is another version; --unverified accepts it and marks what is made from it"
        )
    return differs


def _md5_of(path: Path) -> str:
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
