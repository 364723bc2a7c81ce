"""What a lab is to everybody outside `assay.lab`: a sealed place with a workspace, in which commands run."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, Protocol

from assay.lab.snapshots import Snapshot

if TYPE_CHECKING:
    from anyio.abc import SocketListener

SandboxName = Literal["bubblewrap", "docker", "none"]
Network = Literal["none", "models"]
Ended = Literal["exit", "signal", "time", "memory", "disk", "output"]


@dataclass(frozen=True)
class Limits:
    """What everything in a lab may use together; `file_size` and `output` hold for a single file or command."""

    memory: int = 4 * 10**9
    processes: int = 512
    cores: float = 1
    disk: int = 2 * 10**9
    file_size: int = 2 * 10**9
    output: int = 100 * 10**6


@dataclass(frozen=True)
class Setup:
    """What a lab is made of. Every bound folder has a name that tells nothing about the task.

    A pinned lab stays on as many processors as it has cores, and its code cannot change that: a share of processor time
    alone, which is how labs are limited otherwise, lets a short burst use all of them.

    `image` is for sandbox `docker` alone; its C library must not be older than that of the machine the environment was
    built on.

    `tools` is a second environment, which belongs to an agent that lives in the lab and not to the task. With network
    `models`, the harness can listen for code in the lab on a socket; there is still no way to any other machine.

    `devices` are nodes of the machine's /dev that the lab sees besides the harmless ones: those of its GPUs.
    """

    environment: Path
    data: Path | None = None
    tools: Path | None = None
    network: Network = "none"
    limits: Limits = Limits()
    variables: Mapping[str, str] = field(default_factory=dict)
    pinned: bool = False
    image: str = "debian:stable-slim"
    devices: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Output:
    """What a command printed: its beginning, its end, and how many bytes it printed in all."""

    head: bytes
    tail: bytes
    total: int

    @property
    def text(self) -> str:
        """The output as text, with a note where the middle is left out."""
        left_out = self.total - len(self.head) - len(self.tail)
        between = f"\n… {left_out:,} bytes left out …\n".encode() if left_out > 0 else b""
        return (self.head + between + self.tail).decode(errors="replace")


@dataclass(frozen=True)
class Completed:
    """How a command ended. Nothing it started is still running.

    `code` is as a shell tells it: 128 and the signal's number for a command that a signal ended, 137 for one we killed.
    """

    ended: Ended
    code: int
    stdout: Output
    stderr: Output
    seconds: float

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.ended == "exit" and self.code == 0


@dataclass(frozen=True)
class Sealing:
    """Which walls stand around a lab, for the record: `sealed` is False if any code in it could reach the answers.

    `enforced` says of each wall and limit by what means it holds, `missing` of the others why they do not.
    """

    sandbox: SandboxName
    sealed: bool
    network: Literal["none", "models", "host"]
    enforced: Mapping[str, str]
    missing: Mapping[str, str]


@dataclass(frozen=True)
class LabPaths:
    """Where code in a lab finds what it was given."""

    workspace: str
    environment: str
    status: str
    tools: str | None = None


class Process(Protocol):
    """A long-lived process in a lab, spoken to over its standard input and output."""

    async def send(self, data: bytes) -> None:
        """Write to its standard input."""
        ...

    async def receive(self, size: int) -> bytes:
        """Read exactly `size` bytes of its standard output; `LabError` if it ends first."""
        ...

    async def receive_some(self, max_bytes: int) -> bytes:
        """Read what it printed next, at least one byte and at most `max_bytes`; `LabError` if it ends first."""
        ...

    async def pause(self) -> None:
        """Hold it and everything it started still, so that the workspace can be read, written and kept meanwhile."""
        ...

    async def unpause(self) -> None:
        """Let it go on after a pause."""
        ...

    async def kill(self) -> Completed:
        """End it and everything it started."""
        ...


class Lab(Protocol):
    """A sealed place with a workspace. Paths are relative to the workspace."""

    sealing: Sealing
    paths: LabPaths

    async def run(
        self, command: Sequence[str], *, seconds: float, stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Completed:
        """Run one command in a sandbox of its own, and end everything it started."""
        ...

    async def start(self, command: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Process:
        """Start a long-lived process; the workspace is read and written by us only while it is paused or over."""
        ...

    async def read(self, path: str, *, max_size: int) -> bytes:
        """Return the content of a plain file; `UnsafePath` if it is larger than `max_size`, a link, pipe or folder."""
        ...

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a plain file, making the folders above it."""
        ...

    def files(self) -> AsyncIterator[PurePosixPath]:
        """The plain files in the workspace, without the data folder, in order of their names."""
        ...

    async def snapshot(self, store: Path, before: Snapshot | None = None) -> Snapshot:
        """Keep the workspace's present content in `store`; files unchanged since `before` cost nothing."""
        ...

    async def restore(self, store: Path, snapshot: Snapshot) -> None:
        """Make the workspace what it was at `snapshot`."""
        ...

    async def change_stamp(self, path: str) -> tuple[int, ...] | None:
        """Something that changes when a plain file does, told without holding anything still; None if there is none."""
        ...

    async def listen(self, name: str) -> "SocketListener":
        """Listen on a socket that code in the lab finds as `name` in its status folder; network `models` allows it."""
        ...

    async def write_status(self, content: bytes) -> None:
        """Replace what `budget.json` in the lab's read-only status folder says."""
        ...
