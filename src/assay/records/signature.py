"""The head of a run: one hash over all of its logs, to be published or signed.

A chain of hashes shows that a line was changed, but not that somebody wrote the whole log anew. Whoever wants to rule
that out keeps the head where the forger cannot change it: in a paper, a commit, a mail; or signs it with a key. The
signature is a keyed hash (HMAC-SHA-256), so it can be checked, and made, by whoever has the key.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.core.disk import hash_file, write_json
from assay.core.errors import RecordError, UsageError
from assay.records.events import START, read_events
from assay.records.run import RunFolder
from assay.records.trial import TrialFolder, now, read_record
from assay.records.verify import Finding, exported, is_name

_LEAST_KEY = 16


class Signature(BaseModel):
    """`signature.json`: the head of a run at one moment, and its keyed hash where a key was given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["signature/1"] = "signature/1"
    head: str
    signed_at: str
    hmac_sha256: str | None = None


def run_digest(run: RunFolder) -> str:
    """The head: it changes if any trial is added, removed, renamed, asked for differently, or has another log."""
    if strange := [name for name in run.file.trials if not is_name(name)]:
        raise RecordError(f"{run.path}/run.json: {strange[0]!r} is no name of a trial")
    trials = [
        [folder.path.name, hash_file(folder.path / "trial.json"), _end_of_chain(folder)] for folder in run.trials()
    ]
    content = {"format": "head/1", "created_at": run.file.created_at, "trials": trials}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def head_if_whole(run: RunFolder) -> str | None:
    """The head of a run, or None where a record is too damaged to have one."""
    try:
        return run_digest(run)
    except (RecordError, OSError):
        return None


def sign(run: RunFolder, key: Path | None = None) -> Signature:
    """Write the head of a run into its folder, with a keyed hash if there is a key."""
    head, at = run_digest(run), now()
    signature = Signature(head=head, signed_at=at, hmac_sha256=_keyed(key, head, at) if key else None)
    write_json(run.path / "signature.json", signature.model_dump(mode="json"))
    return signature


def check_head(
    run: RunFolder, found: str | None, *, head: str | None = None, key: Path | None = None
) -> Iterator[Finding]:
    """Whether the head that was found is the one that was published, and the one the run was signed with."""
    if found is None:
        yield Finding("the run", "head", "there is none, because a record is damaged")
        return
    if head is not None and not hmac.compare_digest(found, head.strip().lower()):
        yield Finding("the run", "head", f"it is {found}, not {head.strip().lower()}: records were rewritten")
    if exported(run) and _head_in_index(run) != found:
        yield Finding("the run", "index.json", "it tells another head than the records have: they were changed since")
    path = run.path / "signature.json"
    if not path.exists():
        if key:
            yield Finding("the run", "signature.json", "there is none to be checked with the key")
        return
    signature = read_record(path, Signature)
    if signature.head != found:
        says = f"signed as {signature.head}, but now the head is {found}: records were changed since, or added"
        yield Finding("the run", "signature.json", says)
    if key and not hmac.compare_digest(signature.hmac_sha256 or "", _keyed(key, signature.head, signature.signed_at)):
        yield Finding("the run", "signature.json", "it was not made with this key")


def _head_in_index(run: RunFolder) -> object:
    try:
        content = json.loads((run.path / "index.json").read_bytes())
    except ValueError:
        return None
    return content.get("head") if isinstance(content, dict) else None


def _end_of_chain(folder: TrialFolder) -> str:
    events = read_events(folder.events) if folder.events.exists() else []
    return events[-1].chain if events else START


def _keyed(key: Path, head: str, at: str) -> str:
    try:
        secret = key.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"the key {key} cannot be read: {error.strerror}") from None
    if len(secret) < _LEAST_KEY:
        raise UsageError(
            f"the key {key} is too short to keep a secret; make one with: head -c 32 /dev/urandom | base64 > {key}"
        )
    return hmac.new(secret, f"signature/1\n{at}\n{head}".encode(), hashlib.sha256).hexdigest()
