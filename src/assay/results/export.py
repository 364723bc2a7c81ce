"""Export of a run into one zip file that a leaderboard can show and verify, with published-format grading reports.

Of the snapshots it has the manifests that each trial's last one is read from: the names and hashes of the files in the
workspace, which show where the submission comes from. With submissions it has also the contents of snapshots where they
decide about integrity.
The same records give the same file, to the byte.
"""

import hashlib
import json
import re
import zlib
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.core.disk import random_token
from assay.core.errors import RecordError, UsageError
from assay.core.untrusted import MAX_CONTENT, read_plain, refuse_links
from assay.formats.zip_writer import DEFLATED, Packed, ZipWriter
from assay.grading.batch import NotGraded, make_report
from assay.grading.integrity import MAX_FILE
from assay.grading.result import Grade
from assay.lab.snapshots import load_snapshot
from assay.records import RunFolder, TrialFolder, read_events
from assay.records.log import open_log
from assay.records.origin import find_last_snapshot
from assay.records.signature import run_digest
from assay.results.frame import read_frame

_MAX_NAME = 200
_TRIAL_FILES = ("trial.json", "state.json", "grade.json", "submission/manifest.json")


def export_run(run: RunFolder, path: Path, *, submissions: bool = False) -> str:
    """Write the zip file and return the digest of the run, which is also in its `index.json`.

    Submissions are included only on request; their hashes always are.
    """
    if path.exists():
        raise UsageError(f"{path} already exists; choose another file")
    digest, members = run_digest(run), _members(run, submissions)
    index = {
        "format": "export/1",
        "digest": digest,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }
    temporary = path.with_name(f".{path.name}.{random_token()}")
    try:
        with temporary.open("xb") as file, ZipWriter(file) as archive:
            archive.add("index.json", _packed(_json(index)))
            for name, content in members.items():
                archive.add(name, _packed(content))
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)
    return digest


def build_reports(run: RunFolder) -> dict[str, dict[str, Any]]:
    """Return the grading report of every agent and seed, by the path that the published tools expect.

    Grades of different suites, editions or variants are never in one report. Trials without a grade are listed
    separately; forks and trials that were rerun are left out.
    """
    by_report: dict[tuple[str, str], list[Grade | NotGraded]] = defaultdict(list)
    for number, outcome in enumerate(read_frame(run), 1):
        if not outcome.counts:
            continue
        rules = _file_name(f"{outcome.rules.suite}-{outcome.edition}-{outcome.variant}")
        path = f"{rules}/{_file_name(outcome.agent)}/seed-{outcome.seed:03}_grading_report.json"
        why = outcome.reason or f"the trial is {outcome.status}"
        name = outcome.task.partition("/")[2]
        by_report[path, outcome.agent].append(outcome.grade or NotGraded(number, name, why))
    return {path: make_report(grades) | {"agent": agent} for (path, agent), grades in sorted(by_report.items())}


def _members(run: RunFolder, submissions: bool) -> dict[str, bytes]:
    members = {"run.json": read_plain(run.path / "run.json")}
    with suppress(FileNotFoundError):
        members["signature.json"] = read_plain(run.path / "signature.json")
    for folder in run.trials():
        refuse_links(folder.path / "submission", folder.snapshots, folder.snapshots / "manifests")
        snapshot = find_last_snapshot(read_events(folder.events))
        manifests = list[str]()
        if snapshot:
            with suppress(RecordError):  # without them it cannot be said where the submission comes from
                manifests = [f"snapshots/manifests/{id}.json" for id in load_snapshot(folder.snapshots, snapshot).chain]
        with suppress(FileNotFoundError), open_log(folder.events) as log:
            lines = log.read(MAX_CONTENT + 1)
            if len(lines) > MAX_CONTENT:
                raise RecordError(f"{folder.events} has more than {MAX_CONTENT:,} bytes, which no export can have")
            members[f"trials/{folder.path.name}/events.jsonl"] = lines
        for name in (*_TRIAL_FILES, *manifests):
            with suppress(FileNotFoundError):
                members[f"trials/{folder.path.name}/{name}"] = read_plain(folder.path / name, MAX_CONTENT)
        if submissions and (submission := folder.submission):
            with suppress(FileNotFoundError):
                name = f"trials/{folder.path.name}/submission/{submission.name}"
                members[name] = read_plain(submission, MAX_CONTENT)
        if submissions and (grade := folder.grade) and grade.integrity:
            members |= _read_traces(folder)
    for name, content in build_reports(run).items():
        members[f"reports/{name}"] = _json(content)
    return dict(sorted(members.items()))


def _read_traces(folder: TrialFolder) -> dict[str, bytes]:
    """Return the snapshots of a trial, which its integrity was judged by, without files too large to be judged."""
    refuse_links(folder.snapshots / "objects")
    members: dict[str, bytes] = {}
    for kind in ("manifests", "objects"):
        for path in sorted((folder.snapshots / kind).iterdir()):
            if kind == "manifests" or path.stat().st_size <= MAX_FILE:
                members[f"trials/{folder.path.name}/snapshots/{kind}/{path.name}"] = read_plain(path, MAX_CONTENT)
    return members


def _file_name(label: str) -> str:
    """Return the label of an agent as a folder name; a hash keeps labels with special characters distinct."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-._")[:_MAX_NAME] or "agent"
    return plain if plain == label else f"{plain}-{hashlib.sha256(label.encode()).hexdigest()[:6]}"


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _packed(content: bytes) -> Packed:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = compressor.compress(content) + compressor.flush()
    return Packed(DEFLATED, zlib.crc32(content), len(content), [packed], len(packed))
