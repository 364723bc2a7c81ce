"""Clusters of several machines, simulated on this one."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from namespaces import SCRATCH, Namespaces
from patient import HALF
from small_slurm import SmallSlurm

from assay.core.home import Home
from command_line import Assay
from tiny_run import TinyRun, prepare_tiny

PATIENT = Path(__file__).with_name("patient.py")
# Without the last one, Ray's client server sometimes breaks the processes it starts.
RAY = {"RAY_TMPDIR": SCRATCH, "RAY_USAGE_STATS_ENABLED": "0", "GRPC_ENABLE_FORK_SUPPORT": "0"}


class ClusterRun(TinyRun):
    """A run of the tiny suite on a cluster; `assay` runs commands outside of it, in this process."""

    def __init__(self, home: Home, out: Path, *, inside: Sequence[str], assay: Assay) -> None:
        super().__init__(home, out, inside=inside)
        self.assay = assay

    def wait_until(
        self, process: "subprocess.Popen[str]", happened: Callable[[], bool], *, interval: float = 0.2
    ) -> None:
        """Wait like any run, but look less often: asking a cluster takes a process, and trials wait at their gate."""
        super().wait_until(process, happened, interval=interval)

    def patient(self, *words: str, trials: int, steps: int = 8, cost: float = 0.0) -> list[str]:
        """Return the arguments of a run whose agents wait half-way until the gate is opened."""
        agent = f"{PATIENT}:Patient,steps={steps},cost={cost},gate={self.gate}"
        limits = ["--seeds", str(trials), "--time", "300s", "--memory", "1GB", "-c", "lease=10s"]
        return ["run", "tiny", "--agent", agent, *limits, "--out", str(self.out), "--quiet", *words]

    @property
    def gate(self) -> Path:
        """The file that lets agents continue once it exists."""
        return self.out.with_name("gate")

    def wait_half_way(self, process: "subprocess.Popen[str]", trials: int) -> None:
        """Wait until so many trials have reached the gate."""
        there = [HALF] * trials
        self.wait_until(process, lambda: [kinds.count("snapshot_taken") for kinds in self.events().values()] == there)
        assert process.poll() is None, process.communicate()

    def interrupt(self, process: "subprocess.Popen[str]") -> None:
        """Send SIGINT to the command itself, not to nsenter, which only waits for it."""
        (pid,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(pid), signal.SIGINT)

    def listening(self) -> set[str]:
        """Return the addresses on which any process listens."""
        listening = subprocess.run([*self._inside, "ss", "-Hltn"], capture_output=True, text=True, check=True).stdout
        return {line.split()[3] for line in listening.splitlines()}

    def check_complete(self, trials: int, steps: int = 8) -> None:
        """Check that no trial is lost or graded twice, and that all records verify."""
        folders = list(self.folder.trials())
        assert len(folders) == trials
        for folder in folders:
            assert folder.state.status == "done", folder.state
            kinds = self.events()[folder.path.name]
            assert (kinds.count("submitted"), kinds.count("graded")) == (1, 1)
            assert folder.state.steps == steps
        verified = self.assay("verify", self.out)
        assert verified.returncode == 0, verified.stdout + verified.stderr


class RayNodes:
    """Ray with two nodes of two cores each."""

    def __init__(self) -> None:
        self._namespaces = Namespaces(route=True)
        self.inside, self.complete = self._namespaces.inside, True
        command = [*self.inside, sys.executable, str(Path(__file__).with_name("ray_nodes.py"))]
        self._process = subprocess.Popen(
            command, env={**os.environ, **RAY}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._replies, self._commands = self._process.stdout, self._process.stdin
        self.address = self._replies.readline().strip()

    def cut_power(self, number: int) -> None:
        """Kill everything that runs on a node, all at once; the others remain."""
        self.complete = False
        self._commands.write(f"cut {number}\n")
        self._commands.flush()
        assert self._replies.readline() == "cut\n"

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._namespaces.close()


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    """Namespaces with a default route, so that there seems to be a network."""
    network = Namespaces(route=True)
    yield network
    network.close()


@pytest.fixture(scope="module")
def running_ray() -> Iterator[list[RayNodes]]:
    """The Ray that tests of this module share, once one of them has started it: that takes seconds."""
    running: list[RayNodes] = []
    yield running
    for nodes in running:
        nodes.close()


@pytest.fixture
def ray_nodes(running_ray: list[RayNodes]) -> Iterator[RayNodes]:
    """Ray with two nodes; if the test cuts the power of one, the next test gets a new Ray."""
    if not running_ray:
        running_ray.append(RayNodes())
    (nodes,) = running_ray
    yield nodes
    if not nodes.complete:
        running_ray.clear()
        nodes.close()


@pytest.fixture
def on_ray(ray_nodes: RayNodes, home: Home, tmp_path: Path, assay: Assay) -> Iterator[ClusterRun]:
    """A prepared tiny suite, and a folder for its run on the two nodes."""
    yield from make_run(ClusterRun(home, tmp_path / "run", inside=ray_nodes.inside, assay=assay), RAY)


@pytest.fixture
def on_local_ray(namespaces: Namespaces, home: Home, tmp_path: Path, assay: Assay) -> Iterator[ClusterRun]:
    """The same where no Ray is running yet."""
    yield from make_run(ClusterRun(home, tmp_path / "run", inside=namespaces.inside, assay=assay), RAY)


@pytest.fixture
def slurm() -> Iterator[SmallSlurm]:
    """Slurm with two nodes. Its folder has a short name, because it makes sockets there, whose paths are bounded."""
    with TemporaryDirectory(prefix="slurm-", dir="/var/tmp") as folder:
        cluster = SmallSlurm(Path(folder))
        yield cluster
        cluster.close()


@pytest.fixture
def on_slurm(slurm: SmallSlurm, home: Home, tmp_path: Path, assay: Assay) -> Iterator[ClusterRun]:
    """A prepared tiny suite, and a folder that all nodes share."""
    yield from make_run(ClusterRun(home, tmp_path / "run", inside=slurm.inside, assay=assay), slurm.variables)


def make_run(run: ClusterRun, variables: Mapping[str, str]) -> Iterator[ClusterRun]:
    """Prepare the tiny suite and yield its run, with environment variables."""
    prepare_tiny(run.home)
    run.variables = dict(variables)
    yield run
    run.close()
