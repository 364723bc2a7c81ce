"""The interface of a lab: a sealed workspace in which commands run."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, Protocol

from assay.lab.snapshots import Snapshot

if TYPE_CHECKING:
    from anyio.abc import SocketListener

    from assay.tasks.model import Resources

SandboxName = str
"""`auto` (the strongest that works here), `bubblewrap`, `podman`, `docker`, `landlock`, `none`, or a sandbox from
outside: registered under `assay.sandboxes`, or `path.py:name`."""
Network = Literal["none", "models"]
Layout = Literal["workspace", "mlebench"]
"""Where code in a lab finds things: in `/workspace`, or in `/home` as in MLE-bench's container."""
Ended = Literal["exit", "signal", "time", "memory", "disk", "output"]


@dataclass(frozen=True)
class Limits:
    """What all processes in a lab may use together; `file_size` and `output` limit a single file or command."""

    memory: int = 4 * 10**9
    processes: int = 512
    cores: float = 1
    disk: int = 2 * 10**9
    file_size: int = 2 * 10**9
    output: int = 100 * 10**6

    @classmethod
    def from_resources(cls, resources: "Resources", processes: int = 512) -> "Limits":
        """Return the limits for the resources that a task or a trial asks for."""
        return cls(memory=resources.memory, cores=resources.cores, disk=resources.disk, processes=processes)


@dataclass(frozen=True)
class Share:
    """Which of several labs side by side this is: they divide the processors, the memory and the GPUs of the trial."""

    number: int = 0
    count: int = 1

    def of(self, gpus: tuple[int, ...]) -> tuple[int, ...]:
        """Return the GPUs of this lab; where there are fewer than labs, several labs have the same one."""
        if self.count == 1 or not gpus:
            return gpus
        return gpus[self.number :: self.count] or (gpus[self.number % len(gpus)],)


WHOLE = Share()


@dataclass(frozen=True)
class Setup:
    """The configuration of a lab. The names of mounted folders must not reveal the task.

    A `pinned` lab is confined to as many processors as it has cores. Other labs get a share of processor time, which
    lets a short burst use all processors.

    `image` is for containers only, which otherwise show the machine's own programs; its C library must not be older
    than that of the machine on which the environment was built.

    `tools` is a second environment, that of an agent that runs inside the lab. With network `models`, code in the lab
    can connect to the harness through a unix socket, and to nothing else.

    `weights` is a folder of pretrained weights, which the lab sees read-only.

    `devices` are nodes below /dev that the lab sees in addition to the usual ones: those of its GPUs.

    `links` are absolute paths that lead to folders of the workspace, such as `/logs` to `.harbor/logs`, for programs
    that expect the layout of another harness. Only bubblewrap has them.

    With layout `mlebench`, which not every sandbox has, the workspace is `/home`, and `/home/data` also has
    `description.md`, with the text of `description`.
    """

    environment: Path
    data: Path | None = None
    tools: Path | None = None
    weights: Path | None = None
    network: Network = "none"
    limits: Limits = Limits()
    variables: Mapping[str, str] = field(default_factory=dict)
    pinned: bool = False
    image: str | None = None
    devices: tuple[Path, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    layout: Layout = "workspace"
    description: str = ""


@dataclass(frozen=True)
class Output:
    """The output of a command: its start, its end, and its total size in bytes."""

    head: bytes
    tail: bytes
    total: int

    @property
    def text(self) -> str:
        """The output as text, with a note in place of an omitted middle."""
        omitted = self.total - len(self.head) - len(self.tail)
        between = f"\n… {omitted:,} bytes omitted …\n".encode() if omitted > 0 else b""
        return (self.head + between + self.tail).decode(errors="replace")


@dataclass(frozen=True)
class ResourceSample:
    """What a command and everything it started used, `seconds` after its start.

    `cpu` is processor time so far in seconds, `memory` the resident memory at that moment in bytes, and `disk` the
    bytes of the whole workspace.
    """

    seconds: float
    cpu: float
    memory: int
    disk: int


@dataclass(frozen=True)
class Completed:
    """How a command ended. No process that it started is still running.

    `code` is the exit code in the convention of a shell: 128 plus the signal for a command that was killed by a signal,
    so 137 for one that the harness killed.
    """

    ended: Ended
    code: int
    stdout: Output
    stderr: Output
    seconds: float
    samples: tuple[ResourceSample, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether it exited by itself with code 0."""
        return self.ended == "exit" and self.code == 0


@dataclass(frozen=True)
class Sealing:
    """The isolation of a lab, for the record: `sealed` is False if code in it could reach the answers.

    `enforced` says how each protection and limit is enforced, `missing` why the others are not.
    """

    sandbox: SandboxName
    sealed: bool
    network: Literal["none", "models", "host"]
    enforced: Mapping[str, str]
    missing: Mapping[str, str]


@dataclass(frozen=True)
class LabPaths:
    """The paths of the workspace, environments and status folder as code in the lab sees them."""

    workspace: str
    environment: str
    status: str
    tools: str | None = None
    layout: Layout = "workspace"


class Process(Protocol):
    """A long-lived process in a lab, connected by its standard input and output."""

    async def send(self, data: bytes) -> None:
        """Write to its standard input."""
        ...

    async def receive(self, size: int) -> bytes:
        """Read exactly `size` bytes from its standard output; `LabError` if it ends first."""
        ...

    async def receive_some(self, max_bytes: int) -> bytes:
        """Read its next output, at least one byte and at most `max_bytes`; `LabError` if it ends first."""
        ...

    async def pause(self) -> None:
        """Freeze it and all its descendants, so that the workspace can be accessed."""
        ...

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        ...

    async def kill(self) -> Completed:
        """Kill it and everything it started."""
        ...


class Lab(Protocol):
    """A sealed workspace in which commands run. Paths are relative to the workspace."""

    sealing: Sealing
    paths: LabPaths

    async def run(
        self, command: Sequence[str], *, seconds: float, stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Completed:
        """Run a command in a fresh sandbox, and kill everything it started when it ends or its time is up."""
        ...

    async def start(self, command: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Process:
        """Start a long-lived process; the harness can access the workspace only while it is paused or has ended."""
        ...

    async def read(self, path: str, *, max_size: int) -> bytes:
        """Return the content of a regular file; `UnsafePath` if it exceeds `max_size`, or is a link, pipe or folder."""
        ...

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a regular file, and create missing parent folders."""
        ...

    async def link_data(self) -> None:
        """Link the contents of the data folder into the root of the workspace, too."""
        ...

    def files(self) -> AsyncIterator[PurePosixPath]:
        """Yield the regular files of the workspace in order of their names, without the data folder."""
        ...

    async def snapshot(self, store: Path, before: Snapshot | None = None) -> Snapshot:
        """Store the content of the workspace in `store`; files unchanged since `before` are not read."""
        ...

    async def restore(self, store: Path, snapshot: Snapshot) -> None:
        """Restore the workspace to a snapshot."""
        ...

    async def change_stamp(self, path: str) -> tuple[int, ...] | None:
        """Return a value that changes when a regular file does, or None; nothing needs to be paused."""
        ...

    async def listen(self, name: str) -> "SocketListener":
        """Listen on a unix socket that the lab sees as `name` in its status folder; requires network `models`."""
        ...

    async def write_status(self, content: bytes) -> None:
        """Replace `budget.json` in the status folder, which the lab can only read."""
        ...

    def kill_after(self, seconds: float) -> None:
        """Kill everything that runs in the lab `seconds` from now, even if the event loop is blocked then."""
        ...
