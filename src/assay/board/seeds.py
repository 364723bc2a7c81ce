"""Sealed seeds of a board: chosen in secret, published by their hash, and revealed when nobody can use them any more.

The miniatures of sealed seeds are test worlds that nobody could train or tune on. The hash, which the history of the
board publishes at once, shows afterwards that the seeds were not chosen by the results.
"""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Literal

from assay.board.history import append_event, read_history
from assay.core.disk import write_json
from assay.core.errors import RecordError, UsageError
from assay.core.quantities import Model
from assay.core.untrusted import read_json

_FILE = "sealed.json"
_BITS = 31


class SealedSeeds(Model):
    """`sealed.json`, which only the maintainer has: never publish it before the seeds are revealed."""

    format: Literal["board-seeds/1"] = "board-seeds/1"
    seeds: tuple[int, ...]
    salt: str

    @property
    def digest(self) -> str:
        """The SHA-256 of the seeds and the salt, as `{"salt": "…", "seeds": […]}`."""
        content = {"seeds": list(self.seeds), "salt": self.salt}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def variants(self) -> frozenset[str]:
        """The variants of data that the seeds make."""
        return frozenset(f"synthetic-{seed}" for seed in self.seeds)


def seal_seeds(board: Path, count: int) -> SealedSeeds:
    """Choose seeds, keep them in the board's folder, and publish their hash in its history."""
    path = board / _FILE
    if path.exists():
        raise UsageError(f"{path} has sealed seeds already; reveal them first with: assay board reveal {board}")
    board.mkdir(parents=True, exist_ok=True)
    sealed = SealedSeeds(seeds=tuple(secrets.randbits(_BITS) for _ in range(count)), salt=secrets.token_hex(16))
    write_json(path, sealed.model_dump(mode="json"), mode=0o600)
    append_event(board, "sealed", digest=sealed.digest, reason=f"{count} seeds with this SHA-256: {sealed.digest}")
    return sealed


def reveal_seeds(board: Path) -> SealedSeeds:
    """Publish the sealed seeds in the board's history; everybody can compare them with the hash."""
    sealed = _read_seeds(board)
    if sealed is None:
        raise UsageError(f"{board} has no sealed seeds")
    if not any(event.action == "sealed" and event.digest == sealed.digest for event in read_history(board)):
        raise RecordError(f"{board / _FILE} is not what was sealed: no hash in the history is that of these seeds")
    content = json.dumps({"salt": sealed.salt, "seeds": list(sealed.seeds)}, sort_keys=True)
    append_event(board, "revealed", digest=sealed.digest, reason=content)
    (board / _FILE).unlink()
    return sealed


def find_sealed_variants(board: Path) -> frozenset[str]:
    """Return the variants of data whose seeds are still sealed."""
    sealed = _read_seeds(board)
    return sealed.variants if sealed else frozenset()


def _read_seeds(board: Path) -> SealedSeeds | None:
    try:
        return SealedSeeds.model_validate(read_json(board / _FILE))
    except FileNotFoundError:
        return None
