"""Who may write to a trial: one holder at a time, wherever it runs.

On one machine a lock tells whether a holder lives: the kernel lets go of it with the process. Machines that share a
folder cannot rely on locks, so a holder also renews its claim every few seconds, and another may take the trial over
once it has seen no change for long enough, by its own clock that never jumps. Clocks of two machines are not compared.

Each holder has an epoch, one higher than the one before it: its claim, `lease.N`, is a file that only one process can
create, and `lease` tells the newest epoch. Whatever goes into the record is checked against it at the last moment
before it counts; and what a paused holder had ready by then is swept away by the one that takes over, which also goes
on in a log of its own. So a holder that wakes up too late changes nothing any more.
"""

import fcntl
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError

BEAT = 2.0
"""Seconds between two signs of life of a holder."""
LAPSE = 60.0
"""Seconds without any after which another may take over, unless it is told otherwise."""

Said = dict[str, Any]
_UNFINISHED = re.compile(r"\.(state\.json|grade\.json|events\.jsonl)\.[0-9a-f]{24}")
_LENGTH = 512


class LeaseLost(AssayError):
    """Somebody else has taken the trial over; this writer must stop."""


@dataclass(frozen=True)
class Lease:
    """The right to write to a trial folder; `contested` if the holder before may still be alive somewhere."""

    path: Path
    epoch: int
    contested: bool = False

    def check(self) -> None:
        """Raise `LeaseLost` if a newer holder exists."""
        newest = _epoch(self.path)
        if newest > self.epoch:
            raise LeaseLost(f"{self.path.parent}: taken over by epoch {newest}, this is epoch {self.epoch}")


@dataclass(frozen=True)
class Claim:
    """What a holder last said of itself; it says something else every few seconds for as long as it lives."""

    epoch: int
    text: str

    @property
    def machine(self) -> str | None:
        """On which machine, since its last start, the holder runs."""
        return self._said.get("machine")

    @property
    def locked(self) -> bool:
        """Whether the holder has the lock; who took over from one that is only paused has it later, or never."""
        return bool(self._said.get("locked"))

    @property
    def released(self) -> bool:
        """Whether the holder has let go."""
        return bool(self._said.get("released"))

    @property
    def _said(self) -> dict[str, Any]:
        try:
            said = json.loads(self.text)
        except ValueError:  # read while it was being written
            return {}
        return said if isinstance(said, dict) else {}


@contextmanager
def hold(folder: Path, expired: Claim | None = None, *, machine: str | None = None) -> Iterator[Lease | None]:
    """Take a trial for this process; yields None when another has it.

    `expired` is a claim that was watched until its holder counted as gone: it is taken over if it is still the same.
    """
    machine = machine or this_machine()
    handle = os.open(folder / "lease", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # In this order: the epoch to be claimed follows from what was known before the last claim was judged, so that
        # whoever takes the trial in between has that epoch, and it is not to be had again.
        locked, known, before = _locked(handle), _epoch(folder / "lease"), newest_claim(folder)
        gone = _gone(before, locked, machine)
        if not gone and (before is None or before != expired):
            yield None
            return
        holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        me = {"format": "lease/1", "holder": holder, "machine": machine, "locked": locked is True}
        epoch = 1 + max(known, before.epoch if before else 0)
        lease = _take(folder, handle, epoch, me, contested=not gone)
        if lease is None:
            yield None
            return
        with _signs_of_life(folder / f"lease.{lease.epoch}", me, handle):
            yield lease
    finally:
        os.close(handle)


class Watch:
    """Finds out whether leases have expired, by watching their claims on a clock that never jumps."""

    def __init__(self, lapse: float = LAPSE, now: Callable[[], float] = time.monotonic) -> None:
        self._lapse, self._now = lapse, now
        self._seen: dict[Path, tuple[Claim, float]] = {}

    def expired(self, folder: Path) -> Claim | None:
        """The claim of a holder that has not stirred for too long; None while it may live. To be asked repeatedly."""
        claim = newest_claim(folder)
        if claim is None or claim.released:
            return None
        seen, since = self._seen.get(folder, (None, 0.0))
        if claim != seen:
            self._seen[folder] = (claim, self._now())
            return None
        return claim if self._now() - since >= self._lapse else None


def is_held(folder: Path) -> bool | None:
    """Whether a process has a trial; None where only watching it can tell, because its holder is elsewhere."""
    try:
        handle = os.open(folder / "lease", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared and for a moment: should a trial's process want it just then, it is tried again by its run.
        locked = _locked(handle, fcntl.LOCK_SH)
        claim = newest_claim(folder)
    finally:
        os.close(handle)
    if locked is False:
        return True
    return False if _gone(claim, locked, this_machine()) else None


def seems_held(folder: Path) -> bool:
    """Whether somebody seems to be at a trial: good enough to be shown, not to decide by.

    It goes by the times of files, which are another machine's.
    """
    held, claim = is_held(folder), newest_claim(folder)
    if held is not None or claim is None:
        return bool(held)
    try:
        return time.time() - (folder / f"lease.{claim.epoch}").stat().st_mtime < LAPSE
    except FileNotFoundError:
        return True


def newest_claim(folder: Path) -> Claim | None:
    """The claim of the last process that took a trial, if it left one."""
    while epochs := _claimed(folder):
        try:
            return Claim(epochs[-1], (folder / f"lease.{epochs[-1]}").read_text())
        except FileNotFoundError:
            continue  # swept away by a newer holder just now
    return None


@cache
def this_machine() -> str:
    """A name for this machine since its last start: what a lock can tell about, it tells about this."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        start = "unknown"
    return f"{socket.gethostname()} {start}"


def _gone(claim: Claim | None, locked: bool | None, machine: str) -> bool:
    """Whether it is certain that no living process has the trial."""
    if locked is False:
        return False
    if claim is None or claim.released:
        return True
    return locked is True and claim.locked and claim.machine == machine


def _locked(handle: int, kind: int = fcntl.LOCK_EX) -> bool | None:
    """Lock a file if nobody else has; None where the file system has no locks."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _take(folder: Path, handle: int, epoch: int, me: Said, *, contested: bool) -> Lease | None:
    """Be the holder of an epoch, unless somebody else is quicker."""
    path = folder / "lease"
    if not _claim(folder, epoch, me):
        return None
    if _epoch(path) < epoch:
        os.pwrite(handle, f"{epoch}\n".encode(), 0)
        os.fsync(handle)
    # Whoever was paused on the way here may find that others have long gone on.
    newest = max([_epoch(path), *_claimed(folder)])
    if newest > epoch:
        (folder / f"lease.{epoch}").unlink(missing_ok=True)
        return None
    for older in _claimed(folder)[:-1]:
        (folder / f"lease.{older}").unlink(missing_ok=True)
    if contested:
        _sweep(folder)
    return Lease(path, epoch, contested)


def _claim(folder: Path, epoch: int, me: Said) -> bool:
    """Create the claim of an epoch; a link is made by one process only, on network file systems too."""
    beside = folder / f".lease.{secrets.token_hex(12)}"
    beside.write_text(_saying(me, 0))
    try:
        os.link(beside, folder / f"lease.{epoch}")
    except FileExistsError:
        # Where a server's answer was lost the link is ours all the same, and the file has two names.
        return beside.stat().st_nlink == 2
    finally:
        beside.unlink()
    return True


def _sweep(folder: Path) -> None:
    """Remove files that the holder before was about to put in place: it cannot do so any more."""
    for path in folder.iterdir():
        if _UNFINISHED.fullmatch(path.name):
            path.unlink(missing_ok=True)
    for path in (folder / "submission").glob(".*"):
        path.unlink(missing_ok=True)


@contextmanager
def _signs_of_life(path: Path, me: Said, handle: int) -> Iterator[None]:
    """Renew a claim for as long as this block lasts, and then release it."""
    over = threading.Event()
    beating = threading.Thread(target=_beat, args=(path, me, os.dup(handle), over), name="signs of life", daemon=True)
    beating.start()
    try:
        yield
    finally:
        over.set()
        beating.join(BEAT)  # on a file system that hangs it would never end


def _beat(path: Path, me: Said, lock: int, over: threading.Event) -> None:
    try:
        beat, released = 0, False
        while not released:
            released = over.wait(BEAT)
            beat += 1
            me = {**me, "locked": me["locked"] or _locked(lock) is True}
            with suppress(OSError):  # the disk may come back; until then nobody can see that we live
                if not _renew(path, _saying(me, beat, released=released)):
                    return  # somebody else has taken over
    finally:
        os.close(lock)


def _renew(path: Path, saying: str) -> bool:
    """Change a claim; it is opened and closed each time, for that is when network file systems pass on what is new."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        os.pwrite(handle, saying.encode(), 0)
    finally:
        os.close(handle)
    return True


def _saying(me: Said, beat: int, *, released: bool = False) -> str:
    at = datetime.now(UTC).isoformat(timespec="seconds")  # for people; nothing goes by it
    return json.dumps({**me, "beat": beat, "at": at, "released": released}).ljust(_LENGTH - 1) + "\n"


def _claimed(folder: Path) -> list[int]:
    """The epochs whose claims are there, in order."""
    found = (re.fullmatch(r"lease\.(\d+)", path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in found if match)


def _epoch(path: Path) -> int:
    """The newest epoch; opened each time, so that what other machines wrote is seen."""
    return int(path.read_text() or 0)
