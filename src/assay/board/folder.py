"""A board: a folder of exported runs that were verified before they were added.

    entries/NAME/entry.json     who ran it and what they disclose, and what was verified
    entries/NAME/bundle.zip     the file of `assay export`, unchanged
    entries/NAME/rescored.json  grades that differ from those of the bundle, since graders or tasks were repaired
    unverified/NAME/            results of other harnesses: trials.csv and entry.json
    withdrawn/NAME-TOKEN/       an entry that was taken off the board
    history.jsonl               what was added, rescored and withdrawn, and why

NAME is the beginning of the digest of the run. A bundle comes from a stranger: it is copied first, then unpacked and
verified, and nothing that it says decides what is executed or read on this machine.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from assay.board.history import append_event
from assay.board.seeds import find_sealed_variants
from assay.core.disk import random_token, write_json
from assay.core.errors import AssayError, RecordError, UsageError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.core.quantities import Model, Sha256, Timestamp
from assay.core.text import plural
from assay.core.untrusted import find_special_file, is_plain_name, read_json
from assay.grading.result import Grade
from assay.lab.interface import SandboxName
from assay.records import RunFolder, read_events
from assay.records.bundle import unpack_bundle
from assay.records.copies import Fingerprint, find_copied_entry, take_fingerprint
from assay.records.signature import run_digest, run_digest_if_intact
from assay.records.state import now
from assay.records.trial import read_record
from assay.records.verify import RecordFinding, is_export
from assay.results.frame import Frame
from assay.tasks import Registry
from assay.verification.regrade import grade_again, grades_agree
from assay.verification.run import TrustGrade, verify_run

_NAME_LENGTH = 16
Text = Annotated[str, Field(max_length=400)]


class RunInfo(Model):
    """What the people who ran it say about a run, where its record cannot know."""

    by: Text | None = None
    model_version: Text | None = None
    knowledge_cutoff: Text | None = None
    tools: Text | None = None
    selection: Text | None = None
    link: Text | None = None


class BoardEntry(Model):
    """`entry.json`: a run on the board.

    `grade` is None if it was added although something could not be verified. `signed_by` is the fingerprint of the key
    that the board's maintainer trusts. No other entry has the `fingerprints` of its trials.
    """

    format: Literal["board-entry/2"] = "board-entry/2"
    digest: str
    added_at: Timestamp
    info: RunInfo
    grade: TrustGrade | None
    signed_by: str | None
    established: tuple[str, ...]
    not_established: tuple[str, ...]
    trials: int
    regraded: int
    removed: int
    fingerprints: tuple[Fingerprint, ...]

    @property
    def trust(self) -> str:
        """Its grade in words."""
        return self.grade or "not verified"

    @property
    def name(self) -> str:
        """Its name on the board."""
        return self.digest[:_NAME_LENGTH]


class UnverifiedEntry(Model):
    """`entry.json` of results of another harness: only its word counts."""

    format: Literal["board-unverified/1"] = "board-unverified/1"
    digest: Sha256
    added_at: Timestamp
    info: RunInfo
    harnesses: tuple[Text, ...]
    trials: int

    @property
    def name(self) -> str:
        """Its name on the board."""
        return self.digest[:_NAME_LENGTH]


class Rescored(Model):
    """`rescored.json`: the grades of trials that differ from those of the bundle, by the ids of the trials."""

    format: Literal["board-rescored/1"] = "board-rescored/1"
    grades: dict[str, Grade]


class BundleRefused(AssayError):
    """A bundle does not hold what it claims, or too little of it can be verified; `findings` say what it is."""

    def __init__(self, message: str, findings: Sequence[RecordFinding]) -> None:
        super().__init__(message)
        self.findings = findings


@dataclass(frozen=True)
class BoardFolder:
    """The folder of a board."""

    path: Path

    def entries(self) -> list[BoardEntry]:
        """Return all entries, the oldest first."""
        folder = self.path / "entries"
        entries = [
            read_record(path / "entry.json", BoardEntry)
            for path in (folder.iterdir() if folder.is_dir() else ())
            if is_plain_name(path.name)
        ]
        return sorted(entries, key=lambda entry: (entry.added_at, entry.digest))

    def bundle(self, entry: BoardEntry) -> Path:
        """Return the path of the bundle of an entry."""
        return self.path / "entries" / entry.name / "bundle.zip"

    def unverified(self) -> list[UnverifiedEntry]:
        """Return the results of other harnesses, the oldest first."""
        folder = self.path / "unverified"
        entries = [
            read_record(path / "entry.json", UnverifiedEntry)
            for path in (folder.iterdir() if folder.is_dir() else ())
            if is_plain_name(path.name)
        ]
        return sorted(entries, key=lambda entry: (entry.added_at, entry.digest))

    def rescored(self, entry: BoardEntry) -> Mapping[str, Grade]:
        """Return the grades that replace those of an entry's bundle."""
        path = self.path / "entries" / entry.name / "rescored.json"
        return read_record(path, Rescored).grades if path.is_file() else {}

    def add_unverified(self, frame: Frame, info: RunInfo) -> UnverifiedEntry:
        """Add results of other harnesses, which cannot be verified here and are marked so."""
        if own := [row for row in frame if not row.imported]:
            raise UsageError(f"{own[0].trial} is a trial of Assay: export its run, and add the bundle")
        table = frame.to_table().to_csv().encode()
        entry = UnverifiedEntry(
            digest=hashlib.sha256(table).hexdigest(),
            added_at=now(),
            info=info,
            harnesses=tuple(sorted({row.harness for row in frame})),
            trials=len(frame),
        )
        if any(other.digest == entry.digest for other in self.unverified()):
            raise UsageError(f"these results are on the board already, as {entry.name}")
        folder, unfinished = self.path / "unverified" / entry.name, self.path / f".adding-{random_token()}"
        unfinished.mkdir(parents=True)
        (unfinished / "trials.csv").write_bytes(table)
        write_json(unfinished / "entry.json", entry.model_dump(mode="json"))
        folder.parent.mkdir(exist_ok=True)
        unfinished.rename(folder)
        append_event(self.path, "added", entry.name, entry.digest, f"not verified: {', '.join(entry.harnesses)}")
        return entry

    def rescore(
        self, name: str, reason: str, registry: Registry, home: Home, *, sandbox: SandboxName = "auto"
    ) -> dict[str, tuple[float | None, float | None]]:
        """Grade the submissions of an entry once more with the graders and tasks of today.

        Returns the scores before and after of the trials that changed. The bundle stays as it was.
        """
        entry, changes = self._find(name), dict[str, tuple[float | None, float | None]]()
        before, after = self.rescored(entry), dict[str, Grade]()
        with tempfile.TemporaryDirectory(prefix="assay-board-") as work:
            for folder in open_entry(self, entry, Path(work) / "run").trials():
                if folder.grade is None:
                    continue
                known = before.get(folder.path.name, folder.grade)
                grade = grade_again(folder, registry, home, sandbox)
                if not grades_agree(folder.grade, grade):
                    after[folder.path.name] = grade
                if not grades_agree(known, grade):
                    changes[folder.path.name] = (known.score, grade.score)
        if changes:
            path = self.path / "entries" / entry.name / "rescored.json"
            write_json(path, Rescored(grades=after).model_dump(mode="json"))
            what = f"{plural(len(changes), 'score')} of {entry.trials} changed: {reason}"
            append_event(self.path, "rescored", entry.name, entry.digest, what[:400])
        return changes

    def _find(self, name: str) -> BoardEntry:
        matches = [entry for entry in self.entries() if entry.name.startswith(name)]
        if len(matches) != 1:
            raise UsageError(f"{len(matches)} entries of {self.path} start with {name!r}; see assay board ls")
        return matches[0]

    def add(
        self,
        bundle: Path,
        info: RunInfo,
        registry: Registry,
        home: Home,
        *,
        expected: str | None = None,
        trusted: Collection[str] = (),
        sandbox: SandboxName = "auto",
        allow_unverified: bool = False,
        progress: Progress | None = None,
    ) -> BoardEntry:
        """Verify a bundle and add it; `BundleRefused` if anything in it does not hold."""
        (self.path / "entries").mkdir(parents=True, exist_ok=True)
        # In the folder of the board, so that the verified copy is the one that is kept.
        work = Path(tempfile.mkdtemp(prefix=".adding-", dir=self.path))
        try:
            shutil.copyfile(bundle, work / "bundle.zip")
            run = unpack_bundle(work / "bundle.zip", work / "run")
            entry = self._verify(
                run,
                info,
                registry,
                home,
                expected,
                trusted,
                sandbox,
                allow_unverified=allow_unverified,
                progress=progress,
            )
            folder = work / "entry"
            folder.mkdir()
            (work / "bundle.zip").rename(folder / "bundle.zip")
            write_json(folder / "entry.json", entry.model_dump(mode="json"))
            folder.rename(self.path / "entries" / entry.name)
            append_event(self.path, "added", entry.name, entry.digest)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return entry

    def withdraw(self, name: str, reason: str) -> BoardEntry:
        """Take an entry off the board, with the reason in its history; its files are kept in `withdrawn`."""
        entry, kept = self._find(name), self.path / "withdrawn"
        kept.mkdir(exist_ok=True)
        append_event(self.path, "withdrawn", entry.name, entry.digest, reason)
        (self.path / "entries" / entry.name).rename(kept / f"{entry.name}-{random_token()}")
        return entry

    def _verify(
        self,
        run: RunFolder,
        info: RunInfo,
        registry: Registry,
        home: Home,
        expected: str | None,
        trusted: Collection[str],
        sandbox: SandboxName,
        *,
        allow_unverified: bool,
        progress: Progress | None,
    ) -> BoardEntry:
        if not is_export(run):
            raise UsageError("the file has no index.json; make it with: assay export RUN --out FILE --submissions")
        digest = run_digest_if_intact(run)
        if known := [other.name for other in self.entries() if other.digest == digest]:
            raise UsageError(f"this run is on the board already, as {known[0]}")
        if sealed := find_sealed_variants(self.path) & {trial.file.variant for trial in run.trials()}:
            raise UsageError(
                f"{sorted(sealed)[0]} is sealed, and this run would show its seed; run: assay board reveal {self.path}"
            )
        if errors := list(_check_files(run)):
            raise BundleRefused("the bundle does not hold what it claims", errors)
        verification = verify_run(
            run, digest, registry, home, expected=expected, trusted=trusted, sandbox=sandbox, progress=progress
        )
        if verification.errors:
            raise BundleRefused("the bundle does not hold what it claims", verification.errors)
        if verification.unfinished:
            raise BundleRefused("the run is not finished; resume it and export it again", verification.unfinished)
        if verification.unverified and not allow_unverified:
            raise BundleRefused(
                "scores cannot be verified here; export with --submissions, prepare the data of its tasks, and pass "
                "--tasks DIR for suites of your own, or pass --allow-unverified to add it with a mark",
                verification.unverified,
            )
        assert digest is not None  # there are no errors
        entry = BoardEntry(
            digest=digest,
            added_at=now(),
            info=info,
            grade=verification.grade,
            signed_by=verification.witness.key if verification.witness else None,
            established=tuple(verification.established),
            not_established=tuple(verification.not_established),
            trials=verification.trials,
            regraded=len(verification.regraded),
            removed=verification.removed,
            fingerprints=tuple(take_fingerprint(folder.file, read_events(folder.events)) for folder in run.trials()),
        )
        for other in self.entries():
            if reason := find_copied_entry(entry.fingerprints, other.fingerprints):
                raise BundleRefused(
                    f"it repeats trials of {other.name}, which are on the board already: {reason}",
                    (),
                )
        return entry


def open_entry(board: BoardFolder, entry: BoardEntry, folder: Path) -> RunFolder:
    """Unpack the bundle of an entry into a new folder; `RecordError` if it is not the one that was verified."""
    run = unpack_bundle(board.bundle(entry), folder)
    if run_digest(run) != entry.digest:
        raise RecordError(f"{board.bundle(entry)} is not the run that was verified: its digest differs")
    return run


def _check_files(run: RunFolder) -> Iterator[RecordFinding]:
    """Compare the files of a bundle with the hashes in its index."""
    where = "the bundle"
    if special := find_special_file(run.path):
        yield RecordFinding(where, special, "it is a link or a special file")
        return
    try:
        content = read_json(run.path / "index.json")
        files = content["files"]
        if content.get("format") != "export/1" or not isinstance(files, dict):
            raise TypeError
    except (RecordError, LookupError, TypeError, AttributeError):
        yield RecordFinding(where, "index.json", "it is not an index of a format that this version reads")
        return
    present = {path.relative_to(run.path).as_posix(): path for path in run.path.rglob("*") if path.is_file()}
    for name in sorted(files.keys() - present.keys()):
        yield RecordFinding(where, str(name), "the index lists it, but it is missing")
    for name, path in sorted(present.items()):
        if name == "index.json":
            continue
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if files.get(name) != digest:
            yield RecordFinding(where, name, "its hash is not the one in the index")
