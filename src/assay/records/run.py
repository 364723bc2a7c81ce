"""The run folder: a plan's trials, side by side."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.core.disk import file_lock, write_json
from assay.core.errors import UsageError
from assay.records.trial import TrialFile, TrialFolder, now, read_record


class RunFile(BaseModel):
    """`run.json`: which trials belong to the run, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["run/1"] = "run/1"
    created_at: str
    trials: tuple[str, ...]


@dataclass(frozen=True)
class RunFolder:
    """A folder of trials that a plan asked for."""

    path: Path

    @property
    def name(self) -> str:
        """What the run is called: its folder's name."""
        return self.path.resolve().name

    @property
    def file(self) -> RunFile:
        """What belongs to the run."""
        if not (self.path / "run.json").exists():
            raise UsageError(f"{self.path} is not a run folder: it has no run.json")
        return read_record(self.path / "run.json", RunFile)

    def trials(self) -> Iterator[TrialFolder]:
        """Its trials, in the order of the plan."""
        for name in self.file.trials:
            yield TrialFolder(self.path / "trials" / name)

    def add(self, files: Iterable[TrialFile]) -> None:
        """Create the trials that are not there yet, and then list them: a run never lists what it does not hold.

        Several can add to the same run at once.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with file_lock(self.path / ".adding"):
            self._add(files)

    def _add(self, files: Iterable[TrialFile]) -> None:
        exists = (self.path / "run.json").exists()
        listed, created = (self.file.trials, self.file.created_at) if exists else ((), now())
        wanted = list(listed)
        for file in files:
            TrialFolder(self.path / "trials" / file.id).create(file)
            if file.id not in listed:
                wanted.append(file.id)
        if not exists or tuple(wanted) != listed:
            write_json(
                self.path / "run.json", RunFile(created_at=created, trials=tuple(wanted)).model_dump(mode="json")
            )
