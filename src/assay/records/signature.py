"""The digest of a run: one hash of all of its logs, to be published or signed.

A hash chain reveals that a line was changed, but not that the whole log was rewritten. To rule that out, keep the
digest where a forger cannot change it: in a paper, a commit, an email; or sign it with an Ed25519 key. A signature says
that the owner of the key had this run when it was signed: which trials, what was planned, every event and grade.
"""

import base64
import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from assay.core.disk import write_json
from assay.core.errors import RecordError
from assay.core.quantities import Model, Sha256, Timestamp
from assay.core.untrusted import read_json, read_plain
from assay.records.keys import fingerprint, is_signed_by, load_private_key, public_key
from assay.records.log import last_chain, read_events_backwards
from assay.records.run import RunFolder
from assay.records.state import now
from assay.records.trial import MissingRecord, read_record
from assay.records.verify import RecordFinding, is_export

_RUN = "the run"
_CLOCK_DIFFERENCE = timedelta(hours=1)


class Signature(Model):
    """`signature.json`: the digest of a run at one moment, and its signature if it was signed with a key."""

    format: Literal["signature/3"] = "signature/3"
    digest: Sha256
    signed_at: Timestamp
    public_key: str | None = None
    ed25519: str | None = None

    @property
    def message(self) -> bytes:
        """What is signed."""
        return f"assay {self.format}\n{self.signed_at}\n{self.digest}\n".encode()


@dataclass(frozen=True)
class Witness:
    """The owner of a key that the reader trusts, who signed the run: the key's fingerprint, and when."""

    key: str
    signed_at: str


def run_digest(run: RunFolder) -> str:
    """Return the digest; adding, removing, renaming or redefining a trial, or rewriting its log, changes it."""
    trials = [
        [folder.path.name, _hash(folder.path / "trial.json"), last_chain(folder.events)] for folder in run.trials()
    ]
    file = run.file
    removed = [trial.model_dump(mode="json") for trial in file.removed]
    content = {"format": "digest/2", "created_at": file.created_at, "removed": removed, "trials": trials}
    content |= {"plans": [plan.model_dump(mode="json") for plan in file.plans]} if file.plans else {}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def run_digest_if_intact(run: RunFolder) -> str | None:
    """Return the digest of a run, or None if a record is too damaged to have one."""
    try:
        return run_digest(run)
    except (RecordError, OSError):
        return None


def sign(run: RunFolder, key: Path | None = None) -> Signature:
    """Write the digest of a run to its folder, signed if there is a key."""
    signature = Signature(digest=run_digest(run), signed_at=now())
    if key:
        private = load_private_key(key)
        signature = signature.model_copy(update={"public_key": public_key(private)})
        signed = private.sign(signature.message)
        signature = signature.model_copy(update={"ed25519": base64.b64encode(signed).decode()})
    write_json(run.path / "signature.json", signature.model_dump(mode="json"))
    return signature


def check_digest(
    run: RunFolder, digest: str | None, *, expected: str | None = None, trusted: Collection[str] = ()
) -> Iterator[RecordFinding | Witness]:
    """Compare the digest of a run with the published one, and with the one it was signed with.

    Yields a `Witness` if it was signed with one of the `trusted` public keys; if there are any, it must be.
    """
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
        if trusted:
            yield RecordFinding(_RUN, "signature.json", "there is none to check with the trusted key")
        return
    except RecordError as error:
        yield RecordFinding(_RUN, "signature.json", str(error))
        return
    if signature.digest != digest:
        message = f"signed as {signature.digest}, but now the digest is {digest}: records were changed since, or added"
        yield RecordFinding(_RUN, "signature.json", message)
    elif problem := _find_wrong_date(run, signature):
        yield RecordFinding(_RUN, "signature.json", problem)
    else:
        yield from _check_key(signature, trusted)


def _check_key(signature: Signature, trusted: Collection[str]) -> Iterator[RecordFinding | Witness]:
    key = signature.public_key
    if key is None or signature.ed25519 is None:
        if trusted:
            yield RecordFinding(_RUN, "signature.json", "it has a digest, but was not signed with a key")
        return
    if not trusted:
        message = f"it names the key {fingerprint(key)}, which was not checked; pass --trust with the public key"
        yield RecordFinding(_RUN, "signature.json", message, "remark")
    elif key not in trusted:
        yield RecordFinding(_RUN, "signature.json", f"it names the key {fingerprint(key)}, which is not a trusted one")
    elif not is_signed_by(key, signature.ed25519, signature.message):
        yield RecordFinding(_RUN, "signature.json", f"it was not made with the key {fingerprint(key)}")
    else:
        yield Witness(fingerprint(key), signature.signed_at)


def _find_wrong_date(run: RunFolder, signature: Signature) -> str | None:
    """Return why a run cannot have been signed at that time, or None."""
    signed_at = datetime.fromisoformat(signature.signed_at).astimezone(UTC)
    if signed_at > datetime.now(UTC) + _CLOCK_DIFFERENCE:
        return f"it was signed at {signature.signed_at}, which is in the future"
    for folder in run.trials():
        last = next(read_events_backwards(folder.events), None)
        if last and last.time > signed_at + _CLOCK_DIFFERENCE:
            return f"it was signed at {signature.signed_at}, before {folder.path.name} had ended"
    return None


def _hash(path: Path) -> str:
    return hashlib.sha256(read_plain(path)).hexdigest()


def _digest_in_index(run: RunFolder) -> object:
    try:
        content = read_json(run.path / "index.json")
    except (FileNotFoundError, RecordError):
        return None
    return content.get("digest") if isinstance(content, dict) else None
