"""The run folder: the trials of a plan."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from assay.core.disk import file_lock, make_private_folder, write_json
from assay.core.errors import RecordError, UsageError
from assay.core.quantities import Model, Timestamp
from assay.core.text import quote
from assay.core.untrusted import find_special_entries, is_plain_name, refuse_links
from assay.records.registration import MAX_PLANS, RegisteredPlan
from assay.records.state import Status, now
from assay.records.trial import MissingRecord, TrialFile, TrialFolder, read_record


class RemovedTrial(Model):
    """A trial that the user removed from a run."""

    id: str
    status: Status
    removed_at: Timestamp


class RunFile(Model):
    """`run.json`: which trials belong to the run, in order, which were removed from it, and what it is to find out.

    A plan is registered before its trials are added; a later one that adds tasks or seeds is a further look.
    """

    format: Literal["run/1"] = "run/1"
    created_at: Timestamp
    trials: tuple[str, ...]
    removed: tuple[RemovedTrial, ...] = ()
    plans: Annotated[tuple[RegisteredPlan, ...], Field(max_length=MAX_PLANS)] = ()


@dataclass(frozen=True)
class RunFolder:
    """A folder of trials that a plan asked for."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the run: that of its folder."""
        return self.path.resolve().name

    @property
    def file(self) -> RunFile:
        """Which trials belong to the run."""
        try:
            return read_record(self.path / "run.json", RunFile)
        except MissingRecord:
            raise UsageError(f"{self.path} is not a run folder: it has no run.json") from None

    def trials(self) -> Iterator[TrialFolder]:
        """Its trials, in the order of the plan; `RecordError` if one of them would be outside of the folder."""
        parent = self.path / "trials"
        refuse_links(parent)
        special = find_special_entries(parent)
        for name in dict.fromkeys(self.file.trials):  # an untrusted run may list one trial a million times
            if not is_plain_name(name):
                raise RecordError(f"{self.path}/run.json: {quote(name)} is not a valid name of a trial")
            path = parent / name
            if name in special:
                refuse_links(path)
            yield TrialFolder(path)

    def add(self, files: Iterable[TrialFile], plan: RegisteredPlan | None = None) -> None:
        """Create the trials that do not exist yet, then list them: a run never lists a trial that it does not have.

        With a `plan`, it is registered, unless it is there already. Several processes can add to the same run at once.
        """
        make_private_folder(self.path)
        make_private_folder(self.path / "trials")
        with file_lock(self.path / ".adding"):
            self._add(files, plan)

    def _add(self, files: Iterable[TrialFile], plan: RegisteredPlan | None) -> None:
        before = self.file if (self.path / "run.json").exists() else None
        names = list(before.trials) if before else []
        for file in files:
            TrialFolder(self.path / "trials" / file.id).create(file)
            if file.id not in names:
                names.append(file.id)
        plans = before.plans if before else ()
        if plan is not None and plan.digest not in {known.digest for known in plans}:
            plans = (*plans, plan)
        after = RunFile(
            created_at=before.created_at if before else now(),
            trials=tuple(names),
            removed=before.removed if before else (),
            plans=plans,
        )
        if after != before:
            write_json(self.path / "run.json", after.model_dump(mode="json"))

    def remove(self, trials: Iterable[TrialFolder]) -> None:
        """Remove trials with their records. `run.json` keeps their ids, so that reports can say that they are gone."""
        chosen = list(trials)
        with file_lock(self.path / ".adding"):
            before = self.file
            gone = {folder.path.name: folder.state.status for folder in chosen}
            removed = (RemovedTrial(id=name, status=status, removed_at=now()) for name, status in gone.items())
            after = before.model_copy(
                update={
                    "trials": tuple(name for name in before.trials if name not in gone),
                    "removed": (*before.removed, *removed),
                }
            )
            write_json(self.path / "run.json", after.model_dump(mode="json"))
            for folder in chosen:
                shutil.rmtree(folder.path)
