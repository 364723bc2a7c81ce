"""A disk that is full from any byte on: the kernel asks this module before each write of a process, and it says no.

The process gives up its own writes by a seccomp filter and hands them to a supervisor, which lets them pass, lets the
first bytes of one pass, or has the system call fail with ENOSPC. So the error comes from where it does on a full disk,
at any position, and needs neither a mount nor root.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import select
import struct
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_NUMBERS = {
    "x86_64": {"write": 1, "pwrite64": 18, "writev": 20, "fsync": 74, "fdatasync": 75, "mkdir": 83, "openat": 257},
    "aarch64": {"write": 64, "pwrite64": 68, "writev": 66, "fsync": 82, "fdatasync": 83, "mkdirat": 34, "openat": 56},
}[platform.machine()]
_NAMES = {number: name for name, number in _NUMBERS.items()}
_SECCOMP = {"x86_64": 317, "aarch64": 277}[platform.machine()]
_PIDFD_GETFD, _NO_NEW_PRIVILEGES = 438, 38
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_ALLOW, _NOTIFY, _CONTINUE = 0x7FFF0000, 0x7FC00000, 1
_NOTIFICATION, _RESPONSE = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_LIBRARY = ctypes.CDLL(None, use_errno=True)
UNLIMITED = 2**62


class Disk:
    """A folder that gets full: `space` bytes can be written, `syncs` flushes and `files` new files succeed.

    `written`, `synced` and `created` count what was done since `refill`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder.resolve()) + "/"
        self._shared = memoryview(mmap.mmap(-1, 8 * 8)).cast("q")  # with the process that it is inherited by
        self.refill()

    def refill(self, *, space: int = UNLIMITED, syncs: int = UNLIMITED, files: int = UNLIMITED) -> None:
        """Set what is left, and start to count again."""
        self._shared[:6] = memoryview(struct.pack("=6q", space, syncs, files, 0, 0, 0)).cast("q")

    @property
    def written(self) -> int:
        """Bytes written."""
        return self._shared[3]

    @property
    def synced(self) -> int:
        """Files flushed."""
        return self._shared[4]

    @property
    def created(self) -> int:
        """Files and folders created."""
        return self._shared[5]

    def run(self, work: Callable[[], object]) -> int:
        """Run `work` in a forked process whose writes this one supervises; return its exit code."""
        self._shared[6] = 0
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self._shared[6] = _give_up_writes() + 1
                work()
                code = 0
            except BaseException:  # noqa: BLE001 - the process ends here
                traceback.print_exc()
            finally:
                os._exit(code)
        pidfd = os.pidfd_open(child)
        while not self._shared[6]:
            os.sched_yield()
        listener = _call(_PIDFD_GETFD, pidfd, self._shared[6] - 1, 0)
        try:
            self._supervise(listener)
        finally:
            os.close(listener)
            os.close(pidfd)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _supervise(self, listener: int) -> None:
        """Answer until all processes with the filter have ended."""
        poll = select.poll()
        poll.register(listener)
        while True:
            ((_, event),) = poll.poll()
            if not event & 1:
                return
            notification = bytearray(_NOTIFICATION.size)
            try:
                fcntl.ioctl(listener, _RECEIVE, notification)
            except OSError:  # it was interrupted meanwhile
                continue
            id, pid, _, number, _, _, *arguments = _NOTIFICATION.unpack(notification)
            value, error = self._decide(_NAMES[number], pid, arguments)
            flags = _CONTINUE if value is None and not error else 0
            with suppress(OSError):  # it was killed meanwhile
                fcntl.ioctl(listener, _SEND, bytearray(_RESPONSE.pack(id, value or 0, -error, flags)))

    def _decide(self, name: str, pid: int, arguments: list[int]) -> tuple[int | None, int]:
        """Return what a system call returns, or None if it is executed, and its error."""
        shared = self._shared
        try:
            match name:
                case "write" | "pwrite64" if self._is_here(pid, arguments[0]):
                    size = arguments[2]
                    written = min(size, max(0, shared[0]))
                    shared[0], shared[3] = shared[0] - written, shared[3] + written
                    if written == size:
                        return None, 0
                    return (_write(pid, name, arguments, written), 0) if written else (None, errno.ENOSPC)
                case "writev" if self._is_here(pid, arguments[0]):
                    raise AssertionError("the position of writev is not counted")
                case "fsync" | "fdatasync" if self._is_here(pid, arguments[0]):
                    shared[1], shared[4] = shared[1] - 1, shared[4] + 1
                    return None, errno.ENOSPC if shared[1] < 0 else 0
                case "openat" if arguments[2] & os.O_CREAT and self._is_new(pid, arguments[1]):
                    shared[2], shared[5] = shared[2] - 1, shared[5] + 1
                    return None, errno.ENOSPC if shared[2] < 0 else 0
                case "mkdir" | "mkdirat" if self._is_new(pid, arguments[name == "mkdirat"]):
                    shared[2], shared[5] = shared[2] - 1, shared[5] + 1
                    return None, errno.ENOSPC if shared[2] < 0 else 0
        except ProcessLookupError:
            pass
        return None, 0

    def _is_here(self, pid: int, handle: int) -> bool:
        try:
            return str(Path(f"/proc/{pid}/fd/{handle}").readlink()).startswith(self.folder)
        except FileNotFoundError:
            return False

    def _is_new(self, pid: int, address: int) -> bool:
        path = _read(pid, address, 1024).partition(b"\0")[0].decode(errors="replace")
        return path.startswith(self.folder) and not os.path.lexists(path)


def _give_up_writes() -> int:
    """Have this process and what it starts ask before each write; return the descriptor on which it asks."""
    _LIBRARY.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    numbers = list(_NAMES)
    jumps = [(0x15, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    code = [(0x20, 0, 0, 0), *jumps, (0x06, 0, 0, _ALLOW), (0x06, 0, 0, _NOTIFY)]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("@HxxxxxxQ", len(code), ctypes.addressof(instructions)))
    return _call(_SECCOMP, _SET_FILTER, _NEW_LISTENER, program)


def _write(pid: int, name: str, arguments: list[int], size: int) -> int:
    """Write the first bytes of what a process wanted to write."""
    group = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Tgid:"))
    pidfd = os.pidfd_open(int(group.split()[1]))
    handle = _call(_PIDFD_GETFD, pidfd, arguments[0], 0)
    try:
        content = _read(pid, arguments[1], size)
        return os.write(handle, content) if name == "write" else os.pwrite(handle, content, arguments[3])
    finally:
        os.close(handle)
        os.close(pidfd)


def _read(pid: int, address: int, size: int) -> bytes:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _call(number: int, *arguments: object) -> int:
    result: int = _LIBRARY.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
