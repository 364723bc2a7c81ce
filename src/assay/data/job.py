"""What a task's code is called with: `prepare(job)` of `prepare.py`, `synthesize(job, make)` of `synthetic.py`.

A job holds everything the code may use. A task does not read `task.toml`, open a home or look up paths by itself, so
what it writes depends only on the job and on the files that `assay.data.recipe` hashes.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import SourceError, UsageError
from assay.core.garbage import keep_freed_memory, pause_garbage_collection
from assay.tasks import Task, load_plugin


def _no_download(url: str) -> Path:
    raise SourceError(f"{url} is needed, but downloads are not available here")


def _fresh_seed() -> int:
    return secrets.randbits(32)


@dataclass(frozen=True)
class PrepareJob:
    """Turn raw data into public files, which agents see, and private ones, which they never see."""

    task: Task  # under the rules of `edition`; of these, only `submission` and `data` may decide what is written
    raw: Path  # read-only
    public: Path  # an empty folder
    private: Path  # an empty folder
    edition: str
    fetch: Callable[[str], Path] = _no_download  # download a URL, or reuse an earlier download, and return the file
    secret_seed: Callable[[], int] = _fresh_seed  # for hidden data that is generated: a seed that only this home knows

    @property
    def columns(self) -> list[str]:
        """The columns that a submission must have besides its id, in the order of `task.toml`."""
        return list(self.task.submission.columns)

    def find_or_fetch(self, name: str) -> Path:
        """Return a file of `[[source.files]]` that is not in Kaggle's archive: the user's own copy, or a download."""
        own = self.raw / name
        if own.is_file():
            return own
        url = next(file.url for file in self.task.source.files if file.file == name)
        try:
            return self.fetch(url)
        except SourceError as error:
            raise SourceError(
                f"{self.task.id} needs {name}, which is not in Kaggle's archive: {error}; "
                "or put your own copy into an extracted folder, and pass the folder with --raw"
            ) from None


@dataclass(frozen=True)
class SynthesisJob:
    """Write miniature raw data that looks like the real data; it is the same in every edition."""

    task: Task  # under the competition's own rules, without those of an edition
    raw: Path  # an empty folder

    @property
    def columns(self) -> list[str]:
        """The columns that the competition asks for besides the id, in the order of `task.toml`."""
        return list(self.task.submission.columns)


def run_prepare(job: PrepareJob) -> None:
    """Run the task's `prepare.py`, or its edition's own version of it."""
    prepare = _load_function(job.task.path("prepare.py"), "prepare", "prepare(job)")
    keep_freed_memory()
    prepare(job)


def run_synthesize(task: Task, seed: int, raw: Path) -> None:
    """Run a task's `synthetic.py`; the same seed gives the same files."""
    from assay.data.miniature import Miniature

    synthesize = _load_function(task.folder / "synthetic.py", "synthesize", "synthesize(job, make)")
    synthesize(SynthesisJob(task, raw), Miniature(seed))


def _load_function(path: Path, name: str, signature: str) -> Callable[..., Any]:
    with pause_garbage_collection(keep=True):
        function = getattr(load_plugin(path), name, None)
    if not callable(function):
        raise UsageError(f"{path} does not define {signature}")
    return function  # type: ignore[no-any-return]
