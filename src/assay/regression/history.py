"""The history of an agent under development: its versions with labels, dates, code and results.

runs/try/Agent/
    versions/001.json   one file per version, see `Version`
    code/SHA256         the files of all versions, by content
    001/                the run folder of version 1; a version that equals an earlier one uses its run
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from assay.core.diff import unified_diff
from assay.core.disk import atomic_write, file_lock, make_private_folder, write_json
from assay.core.errors import UsageError
from assay.core.quantities import Model, Sha256, Timestamp
from assay.core.table import Column, Table, Value
from assay.core.untrusted import is_plain_name, read_plain
from assay.records import RunFolder, TrialFile
from assay.records.state import now
from assay.records.trial import read_record
from assay.results.claims import Outcome
from assay.runs.hashes import MAX_SOURCE

MAX_LABEL = 200
_COLUMNS = (
    Column("version", "Version", kind="integer"),
    Column("date", "Date", kind="date"),
    Column("label", "Label", min_width=8),
    Column("lines", "Code", kind="text"),
    Column("valid", "Valid", kind="text"),
    Column("against", "Against", kind="integer"),
    Column("outcome", "Outcome"),
    Column("sentence", kind="prose", data_only=True),
)


class VersionResult(Model):
    """What a version did, and how it compares with another one."""

    trials: int
    valid: int
    against: int | None = None
    outcome: Outcome | None = None
    sentence: str = ""


class Version(Model):
    """`versions/001.json`: one version of an agent, and what was found when it was tried last."""

    format: Literal["version/1"] = "version/1"
    number: int = Field(ge=1)
    label: str = Field(default="", max_length=MAX_LABEL)
    created_at: Timestamp
    agent: str
    settings: dict[str, Any] = Field(default={})
    models: dict[str, str] = Field(default={})
    trials: Sha256 = Field(description="hash of the ids of its trials")
    run: int = Field(ge=1, description="number of the version whose run folder has its trials")
    code: dict[str, Sha256] = Field(default={}, description="hashes of its files")
    result: VersionResult | None = None

    @property
    def name(self) -> str:
        """Its number, and its label if it has one."""
        return f"version {self.number}" + (f" ({self.label})" if self.label else "")


@dataclass(frozen=True)
class History:
    """The folder with all versions of an agent."""

    path: Path

    def versions(self) -> list[Version]:
        """Return all versions, the oldest first."""
        paths = sorted((self.path / "versions").glob("*.json"))
        return sorted((read_record(path, Version) for path in paths), key=lambda version: version.number)

    def add(self, file: TrialFile, trials: str, sources: Mapping[str, bytes], label: str) -> Version:
        """Return the newest version if it has these trials; else add one, with its code.

        Args:
            file: One of its trials.
            trials: The hash of the ids of all.
            sources: Its code.
            label: Its label, or nothing.
        """
        if len(label) > MAX_LABEL:
            raise UsageError(f"--label: at most {MAX_LABEL} characters, not {len(label)}")
        with file_lock(self.path / ".adding"):
            known = self.versions()
            newest = known[-1] if known else None
            if newest and newest.trials == trials:
                version = newest.model_copy(update={"label": label or newest.label})
            else:
                number = newest.number + 1 if newest else 1
                version = Version(
                    number=number,
                    label=label,
                    created_at=now(),
                    agent=file.agent,
                    settings=file.settings,
                    models=file.models,
                    trials=trials,
                    run=next((version.run for version in known if version.trials == trials), number),
                    code={name: hashlib.sha256(content).hexdigest() for name, content in sources.items()},
                )
                make_private_folder(self.path / "code")
                for name, digest in version.code.items():
                    atomic_write(self.path / "code" / digest, sources[name])
            if version != newest:
                self.save(version)
        return version

    def save(self, version: Version) -> None:
        """Write the file of a version."""
        make_private_folder(self.path / "versions")
        write_json(self.path / "versions" / f"{version.number:03d}.json", version.model_dump(mode="json"))

    def run_of(self, version: Version) -> RunFolder:
        """Return the run folder with the trials of a version."""
        return RunFolder(self.path / f"{version.run:03d}")

    def find(self, name: str) -> Version:
        """Return a version by its number or label; of several with a label, the newest."""
        versions = self.versions()
        for version in reversed(versions):
            if name in (str(version.number), version.label):
                return version
        known = ", ".join(f"{version.number}{f' ({version.label})' * bool(version.label)}" for version in versions)
        raise UsageError(f"{self.path} has no version {name!r}; it has {known or 'none'}")

    def before(self, version: Version) -> Version | None:
        """Return the newest finished version before another one whose trials are not the same."""
        earlier = (other for other in reversed(self.versions()) if other.number < version.number)
        return next((other for other in earlier if other.result and other.trials != version.trials), None)

    def diff(self, old: Version | None, new: Version) -> Iterator[str]:
        """Yield the changed settings and models, and the lines of a unified diff of the code."""
        for noun, before, after in (
            ("setting", old.settings if old else {}, new.settings),
            ("model", old.models if old else {}, new.models),
        ):
            for name in sorted({*before, *after}):
                if old and before.get(name) != after.get(name):
                    yield f"{noun} {name}: {before.get(name)} -> {after.get(name)}"
        for name in sorted({*(old.code if old else {}), *new.code}):
            texts = [self._read(version, name) for version in (old, new)]
            numbers = [f"{version.number}/{name}" if version and name in version.code else "/dev/null"
                       for version in (old, new)]  # fmt: skip
            yield from unified_diff(texts[0], texts[1], *numbers)

    def count_changes(self, old: Version | None, new: Version) -> tuple[int, int]:
        """Return how many lines of code were added and removed."""
        lines = list(self.diff(old, new))
        added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
        return added, sum(line.startswith("-") and not line.startswith("--- ") for line in lines)

    def to_table(self) -> Table:
        """Return a row per version, the newest last."""
        versions = self.versions()
        rows = [self._record(version, previous) for version, previous in zip(versions, [None, *versions], strict=False)]
        return Table.from_records("versions", _COLUMNS, rows, title=str(self.path))

    def _record(self, version: Version, previous: Version | None) -> dict[str, Value]:
        result = version.result
        added, removed = self.count_changes(previous, version)
        return {
            "version": version.number,
            "date": datetime.fromisoformat(version.created_at),
            "label": version.label or None,
            "lines": f"+{added} −{removed}",
            "valid": f"{result.valid} of {result.trials}" if result else "unfinished",
            "against": result.against if result else None,
            "outcome": result.outcome if result else None,
            "sentence": result.sentence if result else None,
        }

    def _read(self, version: Version | None, name: str) -> Sequence[str]:
        if version is None or name not in version.code:
            return []
        return read_plain(self.path / "code" / version.code[name], MAX_SOURCE).decode("utf-8", "replace").splitlines()


def find_histories(folder: Path) -> list[History]:
    """Return the histories in a folder, such as `runs/try`, by name."""
    return [History(path.parent) for path in sorted(folder.glob("*/versions")) if path.is_dir()]


def name_history(agent: str) -> str:
    """Return the name of an agent's folder: that of its class."""
    name = agent.rpartition(":")[2]
    if not is_plain_name(name):
        raise UsageError(f"{agent}: no folder can be named after it; pass --history DIR")
    return name
