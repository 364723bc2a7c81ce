"""Building the files of a task: get its raw data, prove it, run `prepare.py`, and publish what that wrote."""

import secrets
import shutil
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import atomic_write, file_lock
from assay.core.disk_space import check_space, folder_size
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress, stage
from assay.core.text import one_line
from assay.data.acquire import acquire
from assay.data.job import PrepareJob, run_prepare
from assay.data.proof import check_proof, compare_prepared
from assay.data.publish import File, publish, seal
from assay.data.raw_data import RawData
from assay.data.recipe import Recipe, make_recipe
from assay.tasks import Task
from assay.tasks.model import WebFile


@dataclass(frozen=True)
class Built:
    """What was written, from which raw data and by which recipe; see `Manifest`."""

    recipe: Recipe
    raw: RawData
    differs: dict[str, str]
    public: dict[str, File]
    private: dict[str, File]
    secret: bool


@dataclass(frozen=True)
class Builder:
    """One preparation: from raw data to the public and private files of a task."""

    home: Home
    base: Task  # under the competition's own rules, by which miniatures are made
    task: Task  # in its edition
    edition: str
    variant: str
    progress: Progress

    def build(self, folder: Path, public: Path, user_copy: Path | None, *, keep_raw: bool) -> Built:
        """Write the private files below `folder` and the public ones to `public`."""
        task, edition, variant = self.task, self.edition, self.variant
        recipe = make_recipe(task, edition, variant)
        scratch, written, private = (folder / name for name in ("raw", "written", "private"))
        for part in (scratch, written, private):
            part.mkdir(mode=0o700)
        sourced = self.base.model_copy(update={"source": task.source})
        raw = acquire(self.home, sourced, variant, scratch, user_copy=user_copy, progress=self.progress)
        check_proof(task, edition, variant, raw)
        with stage(f"Preparing {task.id}"):
            # Public and private files together hold about as much as the raw data they are made from.
            check_space(folder, folder_size(raw.folder), f"preparing {task.id}")
            secret = self.prepare(raw.folder, written, private)
            differs = compare_prepared(task, edition, variant, written, private)
            public_files, private_files = publish(written, public), seal(private)
        shutil.rmtree(written)
        if not keep_raw and raw.origin.kind != "packages":
            shutil.rmtree(scratch)
        return Built(recipe, raw, differs, public_files, private_files, secret)

    def prepare(self, raw: Path, public: Path, private: Path) -> bool:
        """Run `prepare.py` and return whether it used the secret seed.

        A missing column or file is a problem of the raw data, not of Assay.
        """
        task, seeds = self.task, list[int]()

        def secret_seed() -> int:
            seeds.append(_read_secret_seed(self.home, task))
            return seeds[-1]

        try:
            run_prepare(PrepareJob(task, raw, public, private, self.edition, self._fetch, secret_seed))
        except _missing_column_errors() as error:
            line = next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if _is_own(task, f)), 0)
            code = task.path("prepare.py").relative_to(task.folder.parent)
            raise SourceError(
                f"{task.id}: the raw data is missing what line {line} of {code} needs "
                f"({one_line(str(error.args[0]))}); it is damaged or of another version"
            ) from error
        except FileNotFoundError as error:
            missing = Path(str(error.filename))
            if not missing.is_relative_to(raw):
                raise
            raise SourceError(
                f"{task.id}: the raw data has no {missing.relative_to(raw)}; it is incomplete or of another version"
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


def _missing_column_errors() -> tuple[type[Exception], ...]:
    """Return what a missing column raises, in polars only if it is in use: it takes long to load."""
    polars = sys.modules.get("polars")
    return (KeyError,) if polars is None else (KeyError, polars.exceptions.ColumnNotFoundError)


def _is_own(task: Task, frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename) == task.path("prepare.py")
