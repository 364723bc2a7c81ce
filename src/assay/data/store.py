"""Prepared tasks on this machine: complete or absent, with the answers kept away from what labs may see."""

import hashlib
import os
import platform
import secrets
import shutil
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from assay import __version__
from assay.core.disk import atomic_write, file_lock, random_token, sync_folder, write_json
from assay.core.disk_space import check_space, folder_size
from assay.core.errors import NotPrepared, SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress, stage, use_progress
from assay.core.quantities import Model
from assay.core.text import describe_validation_error, one_line
from assay.data.acquire import acquire, check_variant, needs_local_copy
from assay.data.job import PrepareJob, run_prepare
from assay.data.publish import File, publish, seal
from assay.data.raw_data import Origin, RawData
from assay.data.recipe import Recipe, find_change, make_recipe
from assay.tasks import Task
from assay.tasks.model import WebFile, is_miniature

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
    differs: dict[str, str] = Field(default={}, description="file -> its MD5, where it is not the published one")
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


def prepare(
    home: Home,
    task: Task,
    edition: str | None = None,
    variant: str = "real",
    *,
    progress: Progress,
    again: bool = False,
    local_copy: Path | None = None,
    keep_raw: bool = False,
    source: Home | None = None,
) -> Prepared:
    """Prepare a task's data, or return it if it is prepared already.

    Args:
        home: Where prepared data is kept.
        task: The task to prepare.
        edition: The edition to prepare it for; the task's default edition if not named.
        variant: `real`, `unverified` or `synthetic-SEED`.
        progress: Shown the stages of the work.
        again: Prepare again even if the data is up to date.
        local_copy: Raw data that the user already has.
        keep_raw: Keep the raw data of a miniature.
        source: Another home to copy the prepared data from.
    """
    edition, link = _locate(home, task, edition, variant)
    with file_lock(home.locks / f"prepare.{task.suite}.{task.name}.{edition}.{variant}"):
        _remove_leftovers(home, link)
        if again or not _is_usable(home, task, edition, variant) or (keep_raw and not (link / "raw").is_dir()):
            try:
                with use_progress(progress):
                    if source:
                        built = _copy(load_prepared(source, task, edition, variant), home, link)
                    else:
                        builder = _Builder(home, task, task.in_edition(edition), edition, variant, progress)
                        built = builder.build(link, local_copy, keep_raw)
                # The name is a symbolic link because a link, unlike a folder, can be replaced atomically.
                new_link = built.with_name(f"{built.name}.link")
                new_link.symlink_to(built.name)
                new_link.replace(link)
                sync_folder(link.parent)
            finally:
                _remove_leftovers(home, link)
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


def _is_usable(home: Home, task: Task, edition: str, variant: str) -> bool:
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
    if variant == "unverified" and needs_local_copy(task):
        parts += ["--raw", "DIR"]
    if seed not in ("", "0"):
        parts += ["--seed", seed]
    return " ".join(parts)


def _remove_leftovers(home: Home, path: Path) -> None:
    """Remove what failed or killed preparations left and what a newer one replaced; called only under the lock."""
    current = path.readlink().name if path.is_symlink() else None
    for leftover in path.parent.glob(f".{path.name}.*"):
        if leftover.is_symlink():
            leftover.unlink()
        elif leftover.name != current:
            if (public := leftover / "public").is_symlink():
                shutil.rmtree(home.public / public.readlink().name, ignore_errors=True)
            shutil.rmtree(leftover)


def _new_folder(home: Home, path: Path, token: str) -> Path:
    folder = path.with_name(f".{path.name}.{token}")
    folder.mkdir(mode=0o700, parents=True)
    # The link is made before its target, so that leftovers of every public folder ever begun can be found.
    (folder / "public").symlink_to(home.public / token)
    return folder


@dataclass(frozen=True)
class _Builder:
    """One preparation."""

    home: Home
    base: Task  # under the competition's own rules, by which miniatures are made
    task: Task  # in its edition
    edition: str
    variant: str
    progress: Progress

    def build(self, path: Path, local_copy: Path | None, keep_raw: bool) -> Path:
        from importlib.metadata import version

        task, edition, variant = self.task, self.edition, self.variant
        recipe, token = make_recipe(task, edition, variant), random_token()
        folder = _new_folder(self.home, path, token)
        scratch, written, private = (folder / name for name in ("raw", "written", "private"))
        for part in (scratch, written, private):
            part.mkdir(mode=0o700)
        sourced = self.base.model_copy(update={"source": task.source})
        raw = acquire(self.home, sourced, variant, scratch, local_copy=local_copy, progress=self.progress)
        _check_proof(sourced, variant, raw)
        with stage(f"Preparing {task.id}"):
            # Public and private files together hold about as much as the raw data they are made from.
            check_space(folder, folder_size(raw.folder), f"preparing {task.id}")
            secret = self._prepare(raw, written, private)
            differs = _find_differences(task, edition, variant, raw, written, private)
            public_files, private_files = publish(written, self.home.public / token), seal(private)
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
            versions={"python": platform.python_version(), "assay": __version__}
            | {name: version(name) for name in _LIBRARIES},
            origin=raw.origin,
            differs=differs,
            raw=raw.files,
            public=public_files,
            private=private_files,
            secret=secret,
        )
        write_json(folder / "manifest.json", manifest.model_dump(mode="json", by_alias=True))
        os.sync()  # One call is faster than one for each of thousands of files.
        return folder

    def _prepare(self, raw: RawData, public: Path, private: Path) -> bool:
        """Run `prepare.py` and return whether it used the secret seed.

        A missing column or file is a problem of the raw data, not of Assay.
        """
        from polars.exceptions import ColumnNotFoundError

        task, seeds = self.task, list[int]()

        def secret_seed() -> int:
            seeds.append(_read_secret_seed(self.home, task))
            return seeds[-1]

        try:
            run_prepare(PrepareJob(task, raw.folder, public, private, self.edition, self._fetch, secret_seed))
        except (KeyError, ColumnNotFoundError) as error:
            line = next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if _is_own(task, f)), 0)
            code = task.path("prepare.py").relative_to(task.folder.parent)
            raise SourceError(
                f"{task.id}: the raw data is missing what line {line} of {code} needs "
                f"({one_line(str(error.args[0]))}); it is damaged or of another version"
            ) from error
        except FileNotFoundError as error:
            missing = Path(str(error.filename))
            if not missing.is_relative_to(raw.folder):
                raise
            raise SourceError(
                f"{task.id}: the raw data has no {missing.relative_to(raw.folder)}; "
                "it is incomplete or of another version"
            ) from error
        return bool(seeds)

    def _fetch(self, url: str) -> Path:
        from assay.data.sources import http

        listed = next((file for file in self.task.source.files if file.url == url), None)
        file = listed or WebFile(url=url.replace(" ", "%20"), file=url.rpartition("/")[2])
        return http.fetch(self.home, file, progress=NoProgress())


def _read_secret_seed(home: Home, task: Task) -> int:
    """Return the seed of the task's generated hidden data, which is made once per home and never leaves it.

    Labs cannot see it, and it is in no source: otherwise an agent could generate the hidden data itself.
    """
    path = home.data / task.suite / task.name / "secret-seed"
    with file_lock(home.locks / f"secret-seed.{task.suite}.{task.name}"):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, f"{secrets.randbits(32)}\n", mode=0o600)
        return int(path.read_text())


def _is_own(task: Task, frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename) == task.path("prepare.py")


def _copy(there: Prepared, home: Home, path: Path) -> Path:
    """Copy what is prepared in another home, and check it against its manifest."""
    token = random_token()
    check_space(home.data, folder_size(there.private) + folder_size(there.public), f"copying {there.task.id}")
    folder = _new_folder(home, path, token)
    shutil.copytree(there.private, folder / "private")
    shutil.copytree(there.public, folder / "written")
    files = publish(folder / "written", home.public / token), seal(folder / "private")
    shutil.rmtree(folder / "written")
    if files != (there.manifest.public, there.manifest.private):
        raise SourceError(f"{there.folder} does not match its manifest; prepare {there.task.id} there again")
    manifest = there.manifest.model_copy(update={"token": token})
    write_json(folder / "manifest.json", manifest.model_dump(mode="json", by_alias=True))
    os.sync()
    return folder


def _check_proof(task: Task, variant: str, raw: RawData) -> None:
    """Refuse a user's raw data as `real` if nothing proves it: neither its checksum nor those of prepared files."""
    if variant == "real" and raw.origin.kind == "local" and not raw.origin.verified and not task.data.checksums:
        raise SourceError(
            f"{task.id}: no checksum proves that this raw data is the published one; "
            "--unverified accepts it and marks all results"
        )


def _find_differences(
    task: Task, edition: str, variant: str, raw: RawData, public: Path, private: Path
) -> dict[str, str]:
    """Return the files that differ from the published ones; raise unless unverified data was asked for.

    Only the default edition has published files; data for another edition must come from a verified archive.
    """
    if is_miniature(variant) or not task.data.checksums:
        return {}
    if edition != task.edition:
        if variant == "real" and not raw.origin.verified:
            raise SourceError(
                f"{task.id}: a folder cannot be verified for edition {edition}; "
                "pass the archive with --raw, or accept the folder with --unverified"
            )
        return {}
    sides = {"public": public, "private": private}
    digests = {}
    for name in task.data.checksums:
        side, *rest = Path(name).parts
        digests[name] = _md5_of(sides[side].joinpath(*rest))
    differs = {name: md5 for name, md5 in digests.items() if md5 != task.data.checksums[name]}
    if differs and variant == "real":
        lines = (f"\n  {name}: {md5}, published {task.data.checksums[name]}" for name, md5 in differs.items())
        raise SourceError(
            f"{task.id}: {len(differs)} of {len(digests)} prepared files differ from the published ones (MD5):"
            f"{''.join(lines)}\nThe raw data is another version; --unverified accepts it and marks all results"
        )
    return differs


def _md5_of(path: Path) -> str:
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
