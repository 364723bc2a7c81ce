"""A board: a folder of exported runs that were verified before they were added.

    entries/NAME/entry.json     who ran it and what they disclose, and what was verified
    entries/NAME/bundle.zip     the file of `assay export`, unchanged

NAME is the beginning of the digest of the run. A bundle comes from a stranger: it is copied first, then unpacked and
verified, and nothing that it says decides what is executed or read on this machine.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from assay.core.disk import write_json
from assay.core.errors import AssayError, RecordError, UsageError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.core.quantities import Model, Timestamp
from assay.core.untrusted import find_special_file, is_plain_name, read_json
from assay.lab.interface import SandboxName
from assay.records import RunFolder
from assay.records.bundle import unpack_bundle
from assay.records.log import last_chain
from assay.records.signature import Signature, run_digest, run_digest_if_intact
from assay.records.state import now
from assay.records.trial import MissingRecord, read_record
from assay.records.verify import UNFINISHED, RecordFinding, is_export
from assay.results.verification import verify_run
from assay.tasks import Registry

_NAME_LENGTH = 16
Signed = Literal["no", "digest only", "with a key, not checked", "with a key, checked"]
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
    """`entry.json`: a run on the board. `logs` are the last hashes of its trials' logs, which no other entry has."""

    format: Literal["board-entry/1"] = "board-entry/1"
    digest: str
    added_at: Timestamp
    info: RunInfo
    signed: Signed
    trials: int
    regraded: int
    removed: int
    logs: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name on the board."""
        return self.digest[:_NAME_LENGTH]


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

    def add(
        self,
        bundle: Path,
        info: RunInfo,
        registry: Registry,
        home: Home,
        *,
        expected: str | None = None,
        key: Path | None = None,
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
                run, info, registry, home, expected, key, sandbox, allow_unverified=allow_unverified, progress=progress
            )
            self._refuse_known(entry)
            folder = work / "entry"
            folder.mkdir()
            (work / "bundle.zip").rename(folder / "bundle.zip")
            write_json(folder / "entry.json", entry.model_dump(mode="json"))
            folder.rename(self.path / "entries" / entry.name)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return entry

    def _verify(
        self,
        run: RunFolder,
        info: RunInfo,
        registry: Registry,
        home: Home,
        expected: str | None,
        key: Path | None,
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
        findings = list(_check_files(run))
        findings += verify_run(
            run, digest, registry, home, expected=expected, key=key, sandbox=sandbox, progress=progress
        )
        if errors := [finding for finding in findings if finding.level == "error"]:
            raise BundleRefused("the bundle does not hold what it claims", errors)
        unfinished = [finding for finding in findings if finding.part == UNFINISHED]
        if unfinished:
            raise BundleRefused("the run is not finished; resume it and export it again", unfinished)
        unverified = [finding for finding in findings if finding.part in ("grade", "task")]
        if unverified and not allow_unverified:
            raise BundleRefused(
                "scores cannot be verified here; export with --submissions, prepare the data of its tasks, and pass "
                "--tasks DIR for suites of your own, or pass --allow-unverified to add it with a mark",
                unverified,
            )
        assert digest is not None  # there are no errors
        folders = list(run.trials())
        return BoardEntry(
            digest=digest,
            added_at=now(),
            info=info,
            signed=_describe_signature(run, key),
            trials=len(folders),
            regraded=len(folders) - len({finding.trial for finding in unverified}),
            removed=len(run.file.removed),
            logs=tuple(last_chain(folder.events) for folder in folders if folder.events.exists()),
        )

    def _refuse_known(self, entry: BoardEntry) -> None:
        for other in self.entries():
            if shared := set(other.logs) & set(entry.logs):
                raise UsageError(f"{len(shared)} of its trials are on the board already, in {other.name}")


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


def _describe_signature(run: RunFolder, key: Path | None) -> Signed:
    try:
        signature = read_record(run.path / "signature.json", Signature)
    except MissingRecord:
        return "no"
    if signature.hmac_sha256 is None:
        return "digest only"
    return "with a key, checked" if key else "with a key, not checked"
