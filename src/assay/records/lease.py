"""Leases: at most one process at a time may write to a trial, on whatever machine it runs.

On one machine a file lock shows whether a holder is alive: the kernel releases it with the process. Machines that share
a folder cannot rely on locks, so a holder also renews its claim every few seconds, and another process may take over
once it has seen no change for long enough, by its own monotonic clock. Clocks of two machines are never compared.

Each holder has an epoch, one higher than that of the holder before: its claim, `lease.N`, is a file that only one
process can create, and `lease` names the newest epoch. Everything that is written to the record is checked against it
at the last moment. Files that a paused holder was about to put in place are removed by the process that takes over,
which also continues in a copy of the log. So a holder that wakes up too late can no longer change anything.
"""

import fcntl
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
from typing import Literal

from pydantic import ValidationError

from assay.core.disk import PRIVATE, open_private
from assay.core.errors import AssayError, RecordError
from assay.core.quantities import Model
from assay.core.untrusted import read_plain, refuse_links

HEARTBEAT = 2.0
"""Seconds between two renewals of a claim."""
LEASE_TIMEOUT = 60.0
"""Seconds without a renewal after which another process may take over, by default."""

_TEMPORARY = re.compile(r"\.(state\.json|grade\.json|events\.jsonl(\.gz)?|lease)\.[0-9a-f]{24}")
_CLAIM_LENGTH = 512
_MAX_LENGTH = 65_536


class LeaseLost(AssayError):
    """Another process has taken the trial over; this one must stop writing."""


@dataclass(frozen=True)
class Lease:
    """The right to write to a trial folder; `contested` if the previous holder may still be alive somewhere."""

    path: Path
    epoch: int
    contested: bool = False

    def check(self) -> None:
        """Raise `LeaseLost` if there is a newer holder."""
        newest = read_epoch(self.path)
        if newest > self.epoch:
            raise LeaseLost(f"{self.path.parent}: taken over by epoch {newest}, this is epoch {self.epoch}")


class ClaimFile(Model):
    """`lease.N`: who holds the lease of epoch N. The holder rewrites it every few seconds while it is alive.

    `machine` identifies the machine since its last boot, `locked` says whether the holder has the file lock.
    """

    format: Literal["lease/1"] = "lease/1"
    holder: str
    machine: str
    locked: bool
    beat: int = 0
    at: str = ""
    released: bool = False


@dataclass(frozen=True)
class Claim:
    """A claim as it was read at one moment."""

    epoch: int
    text: str

    @property
    def machine(self) -> str | None:
        """The machine, since its last boot, on which the holder runs."""
        return self._content.machine if self._content else None

    @property
    def locked(self) -> bool:
        """Whether the holder has the lock; a process that took over from a paused one gets it later, or never."""
        return self._content is not None and self._content.locked

    @property
    def released(self) -> bool:
        """Whether the holder has released the lease."""
        return self._content is not None and self._content.released

    @property
    def _content(self) -> ClaimFile | None:
        try:
            return ClaimFile.model_validate_json(self.text)
        except ValidationError:  # it was read while being written
            return None


@contextmanager
def acquire_lease(folder: Path, expired: Claim | None = None, *, machine: str | None = None) -> Iterator[Lease | None]:
    """Acquire a trial for this process; yields None if another process holds it.

    `expired` is a claim that was watched until its holder counted as dead: it is taken over if it has not changed.
    """
    machine = machine or machine_id()
    refuse_links(folder / "lease")
    handle = os.open(folder / "lease", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
    try:
        # In this order: the epoch to claim follows from what was known before the last claim was judged, so a process
        # that acquires the trial in between has that epoch, and it cannot be claimed twice.
        locked = _try_lock(handle)
        known = read_epoch(folder / "lease")
        before = newest_claim(folder)
        gone = _is_gone(before, locked, machine)
        if not gone and (before is None or before != expired):
            yield None
            return
        holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        claim = ClaimFile(holder=holder, machine=machine, locked=locked is True)
        epoch = 1 + max(known, before.epoch if before else 0)
        lease = _take(folder, handle, epoch, claim, contested=not gone)
        if lease is None:
            yield None
            return
        with _heartbeat(folder / f"lease.{lease.epoch}", claim, handle):
            yield lease
    finally:
        os.close(handle)


class LeaseWatch:
    """Finds out whether leases have expired, by watching claims on a monotonic clock."""

    def __init__(self, timeout: float = LEASE_TIMEOUT, now: Callable[[], float] = time.monotonic) -> None:
        self._timeout, self._now = timeout, now
        self._seen: dict[Path, tuple[Claim, float]] = {}

    def expired(self, folder: Path) -> Claim | None:
        """Return a claim that was not renewed for too long; None while its holder may be alive. Call it repeatedly."""
        claim = newest_claim(folder)
        if claim is None or claim.released:
            return None
        seen, since = self._seen.get(folder, (None, 0.0))
        if claim != seen:
            self._seen[folder] = (claim, self._now())
            return None
        return claim if self._now() - since >= self._timeout else None


def is_held(folder: Path) -> bool | None:
    """Whether a process holds a trial; None if its holder is on another machine and has to be watched to find out."""
    refuse_links(folder / "lease")
    try:
        handle = os.open(folder / "lease", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # A shared lock for a moment: should a trial's process want the lock just then, its run tries again.
        locked = _try_lock(handle, fcntl.LOCK_SH)
        claim = newest_claim(folder)
    finally:
        os.close(handle)
    if locked is False:
        return True
    return False if _is_gone(claim, locked, machine_id()) else None


def appears_held(folder: Path) -> bool:
    """Whether a process seems to hold a trial: good enough to display, but not to base decisions on.

    It compares file times, which may come from another machine's clock.
    """
    held, claim = is_held(folder), newest_claim(folder)
    if held is not None or claim is None:
        return bool(held)
    try:
        return time.time() - (folder / f"lease.{claim.epoch}").stat().st_mtime < LEASE_TIMEOUT
    except FileNotFoundError:
        return True


def newest_claim(folder: Path) -> Claim | None:
    """Return the claim of the last process that acquired a trial, if there is one."""
    while epochs := _claimed_epochs(folder):
        try:
            content = read_plain(folder / f"lease.{epochs[-1]}", _MAX_LENGTH)
            return Claim(epochs[-1], content.decode(errors="replace"))
        except FileNotFoundError:
            continue  # a newer holder has just removed it
    return None


def read_epoch(path: Path) -> int:
    """Return the newest epoch; the file is opened each time so that changes by other machines are seen."""
    try:
        content = read_plain(path, _MAX_LENGTH)
    except FileNotFoundError:
        return 0
    try:
        return int(content[:20] or b"0")
    except ValueError:
        raise RecordError(f"{path} does not contain the number of a lease") from None


@cache
def machine_id() -> str:
    """Return a name for this machine since its last boot: file locks only work between processes on one machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = "unknown"
    return f"{socket.gethostname()} {boot}"


def _is_gone(claim: Claim | None, locked: bool | None, machine: str) -> bool:
    """Whether it is certain that no living process holds the trial."""
    if locked is False:
        return False
    if claim is None or claim.released:
        return True
    return locked is True and claim.locked and claim.machine == machine


def _try_lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool | None:
    """Lock a file unless another process has; None if the file system has no locks."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _take(folder: Path, handle: int, epoch: int, claim: ClaimFile, *, contested: bool) -> Lease | None:
    """Become the holder of an epoch, unless another process is faster."""
    path = folder / "lease"
    if not _create_claim(folder, epoch, claim):
        return None
    if read_epoch(path) < epoch:
        os.pwrite(handle, f"{epoch}\n".encode(), 0)
        os.fsync(handle)
    # A process that was paused on its way here may find that others have held the trial since.
    newest = max([read_epoch(path), *_claimed_epochs(folder)])
    if newest > epoch:
        (folder / f"lease.{epoch}").unlink(missing_ok=True)
        return None
    for older in _claimed_epochs(folder)[:-1]:
        (folder / f"lease.{older}").unlink(missing_ok=True)
    _remove_temporary_files(folder)
    return Lease(path, epoch, contested)


def _create_claim(folder: Path, epoch: int, claim: ClaimFile) -> bool:
    """Create the claim of an epoch; only one process can create a link, on network file systems too."""
    temporary = folder / f".lease.{secrets.token_hex(12)}"
    try:
        with open(temporary, "x", opener=open_private) as file:
            file.write(_claim_text(claim))
        os.link(temporary, folder / f"lease.{epoch}")
    except (FileExistsError, FileNotFoundError):  # not found: another process has become the holder, and removed it
        with suppress(FileNotFoundError):
            # If only the server's answer was lost, the link is ours, and the file has two names.
            return temporary.stat().st_nlink == 2
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _remove_temporary_files(folder: Path) -> None:
    """Remove files that the previous holder was about to put in place: it is dead, or must no longer do so."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)
    for name in ("submission", "snapshots/objects", "snapshots/manifests"):
        for path in (folder / name).glob(".*"):
            path.unlink(missing_ok=True)


@contextmanager
def _heartbeat(path: Path, claim: ClaimFile, handle: int) -> Iterator[None]:
    """Renew a claim while this block lasts, and then release it."""
    over = threading.Event()
    thread = threading.Thread(
        target=_renew_until_over, args=(path, claim, os.dup(handle), over), name="lease heartbeat", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(HEARTBEAT)  # on a file system that hangs it would never end


def _renew_until_over(path: Path, claim: ClaimFile, lock: int, over: threading.Event) -> None:
    try:
        released = False
        while not released:
            released = over.wait(HEARTBEAT)
            locked = claim.locked or _try_lock(lock) is True
            claim = claim.model_copy(update={"beat": claim.beat + 1, "locked": locked, "released": released})
            with suppress(OSError):  # the disk may come back; until then this process looks dead to others
                if not _rewrite(path, _claim_text(claim)):
                    return  # another process has taken over
    finally:
        os.close(lock)


def _rewrite(path: Path, text: str) -> bool:
    """Overwrite a claim; it is opened and closed each time because network file systems publish changes on close."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        os.pwrite(handle, text.encode(), 0)
    finally:
        os.close(handle)
    return True


def _claim_text(claim: ClaimFile) -> str:
    """Return a claim as text of fixed length. Its time is for people: nothing depends on it."""
    stamped = claim.model_copy(update={"at": datetime.now(UTC).isoformat(timespec="seconds")})
    return stamped.model_dump_json().ljust(_CLAIM_LENGTH - 1) + "\n"


def _claimed_epochs(folder: Path) -> list[int]:
    """Return the epochs that have claims, in order."""
    matches = (re.fullmatch(r"lease\.([0-9]{1,9})", path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)
