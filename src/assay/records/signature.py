"""The digest of a run: one hash of all of its logs, to be published or signed.

A hash chain reveals that a line was changed, but not that the whole log was rewritten. To rule that out, keep the
digest where a forger cannot change it: in a paper, a commit, an email; or sign it with a key. The signature is a keyed
hash (HMAC-SHA-256), so anyone who has the key can check it, and make it.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from assay.core.disk import write_json
from assay.core.errors import RecordError, UsageError
from assay.core.quantities import Model
from assay.core.untrusted import read_json, read_plain
from assay.records.log import last_chain
from assay.records.run import RunFolder
from assay.records.state import now
from assay.records.trial import MissingRecord, read_record
from assay.records.verify import RecordFinding, is_export

_MIN_KEY_LENGTH = 16
_RUN = "the run"


class Signature(Model):
    """`signature.json`: the digest of a run at one moment, and its keyed hash if it was signed with a key."""

    format: Literal["signature/2"] = "signature/2"
    digest: str
    signed_at: str
    hmac_sha256: str | None = None


def run_digest(run: RunFolder) -> str:
    """Return the digest; adding, removing, renaming or redefining a trial, or rewriting its log, changes it."""
    trials = [
        [folder.path.name, _hash(folder.path / "trial.json"), last_chain(folder.events)] for folder in run.trials()
    ]
    content = {"format": "digest/1", "created_at": run.file.created_at, "trials": trials}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def run_digest_if_intact(run: RunFolder) -> str | None:
    """Return the digest of a run, or None if a record is too damaged to have one."""
    try:
        return run_digest(run)
    except (RecordError, OSError):
        return None


def sign(run: RunFolder, key: Path | None = None) -> Signature:
    """Write the digest of a run to its folder, with a keyed hash if there is a key."""
    digest, at = run_digest(run), now()
    signature = Signature(digest=digest, signed_at=at, hmac_sha256=_keyed_hash(key, digest, at) if key else None)
    write_json(run.path / "signature.json", signature.model_dump(mode="json"))
    return signature


def check_digest(
    run: RunFolder, digest: str | None, *, expected: str | None = None, key: Path | None = None
) -> Iterator[RecordFinding]:
    """Compare the digest of a run with the published one, and with the one it was signed with."""
    if digest is None:
        yield RecordFinding(_RUN, "digest", "there is none, because a record is damaged")
        return
    if expected is not None and digest != expected.strip().lower():
        yield RecordFinding(_RUN, "digest", f"it is {digest}, not {expected.strip().lower()}: records were rewritten")
    if is_export(run) and _digest_in_index(run) != digest:
        yield RecordFinding(_RUN, "index.json", "its digest is not that of the records: they were changed since")
    try:
        signature = read_record(run.path / "signature.json", Signature)
    except MissingRecord:
        if key:
            yield RecordFinding(_RUN, "signature.json", "there is none to check with the key")
        return
    except RecordError as error:
        yield RecordFinding(_RUN, "signature.json", str(error))
        return
    if signature.digest != digest:
        message = f"signed as {signature.digest}, but now the digest is {digest}: records were changed since, or added"
        yield RecordFinding(_RUN, "signature.json", message)
    if key:
        own = _keyed_hash(key, signature.digest, signature.signed_at)
        if not hmac.compare_digest((signature.hmac_sha256 or "").encode(), own.encode()):
            yield RecordFinding(_RUN, "signature.json", "it was not made with this key")


def _hash(path: Path) -> str:
    return hashlib.sha256(read_plain(path)).hexdigest()


def _digest_in_index(run: RunFolder) -> object:
    try:
        content = read_json(run.path / "index.json")
    except (FileNotFoundError, RecordError):
        return None
    return content.get("digest") if isinstance(content, dict) else None


def _keyed_hash(key: Path, digest: str, at: str) -> str:
    try:
        secret = key.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"cannot read the key {key}: {error.strerror}") from None
    if len(secret) < _MIN_KEY_LENGTH:
        raise UsageError(
            f"the key {key} is too short to be secret; make one with: head -c 32 /dev/urandom | base64 > {key}"
        )
    return hmac.new(secret, f"signature/2\n{at}\n{digest}".encode(), hashlib.sha256).hexdigest()
