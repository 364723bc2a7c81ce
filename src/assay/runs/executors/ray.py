"""Run trials on a Ray cluster, or on a local Ray: each in an actor that outlives its driver.

When a machine dies, Ray restarts its actors on another one, and their trials resume from their last snapshots.
"""

import hashlib
import importlib.util
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from assay.core.disk import atomic_write
from assay.core.errors import AssayError, MissingDependency
from assay.core.home import Home
from assay.records import RunFolder, TrialFolder
from assay.records.lease import LEASE_TIMEOUT, is_held
from assay.runs import worker
from assay.runs.driver import Files
from assay.runs.executors.cluster import Cluster, Job
from assay.runs.job import JobSpec
from assay.runs.retry import Retries

if TYPE_CHECKING:
    from assay.runs.executors.config import ExecutorConfig

_NAMESPACE = "assay"
# Without the first, Ray listens on this machine's public address even if there is no cluster.
_LOOPBACK_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}


class Ray(Cluster):
    """A Ray cluster whose machines share the run's folder; without an `address`, a local Ray."""

    poll_seconds = 1.0

    def __init__(
        self,
        home: Home,
        address: str | None = None,
        *,
        cores: int | None = None,
        source: Path | None = None,
        lapse: float = LEASE_TIMEOUT,
    ) -> None:
        super().__init__(home, source=source, lapse=lapse)
        self._address, self._cores = address, cores
        self._ray: Any = None

    @classmethod
    def from_config(
        cls, config: "ExecutorConfig", run: RunFolder, home: Home, *, cores: int | None, retries: Retries
    ) -> Self:
        """Create the executor that a configuration describes."""
        address = config.on if config.on.startswith("ray://") else config.on.partition(":")[2] or None
        return cls(home, address, cores=cores, source=config.data_source, lapse=config.lease)

    @property
    def description(self) -> str:
        """Its address."""
        return f"Ray at {self._address}" if self._address else "a local Ray"

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Connect, and find the jobs that an earlier driver submitted."""
        self._ray = _connect(self._address, self._cores)
        super().begin(files, at_terminal=at_terminal)

    def submit(self, jobs: Sequence[Job]) -> Sequence[str]:
        """Start an actor for each job as soon as there is room for it."""
        return [self._submit(job) for job in jobs]

    def find_alive(self, ids: Iterable[str]) -> set[str] | None:
        """Return the ids of jobs whose actors are pending, alive or restarting."""
        from ray.util import list_named_actors

        alive = {actor["name"] for actor in list_named_actors(all_namespaces=True) if actor["namespace"] == _NAMESPACE}
        return alive & set(ids)

    def find_running(self, jobs: Mapping[TrialFolder, str]) -> set[TrialFolder]:
        """Return the trials that a process holds."""
        return {folder for folder in jobs if is_held(folder.path) is not False}

    def cancel(self, jobs: Mapping[TrialFolder, str]) -> None:
        """Ask running trials to stop, and keep the others from starting."""
        running = self.find_running(jobs)
        for folder, name in jobs.items():
            try:
                actor = self._ray.get_actor(name, namespace=_NAMESPACE)
            except ValueError:
                continue  # it has ended
            if folder in running:
                actor.stop.remote()
            else:
                self._ray.kill(actor, no_restart=True)

    def _submit(self, job: Job) -> str:
        name = f"{hashlib.sha256(str(job.spec.trial).encode()).hexdigest()[:12]} {job.folder.path.name}"
        resources, largest = job.file.resources, self._largest()
        needs = {"CPU": resources.cores, "memory": job.memory}
        if self._address is None:  # no machine with more will ever join
            needs = {what: min(amount, int(largest.get(what, 0))) for what, amount in needs.items()}
        if job.exclusive:
            needs["CPU"] = int(largest.get("CPU", resources.cores))
        # The id is on disk before the actor exists, so that a resumed run finds it and starts no second one.
        atomic_write(job.folder.path / "job", f"{name}\n")
        self._ray.remote(TrialActor).options(
            name=name,
            namespace=_NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=-1,
            max_concurrency=2,
            num_cpus=needs["CPU"],
            num_gpus=0 if job.exclusive else resources.gpus,
            memory=needs["memory"],
        ).remote(job.spec.model_dump_json())
        return name

    def _largest(self) -> Mapping[str, float]:
        """Return the resources of the machine with the most cores."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return max(nodes, key=lambda resources: resources.get("CPU", 0), default={})


class TrialActor:
    """Runs one trial's process on the machine that Ray chose, and exits when it ends.

    The process is started by the constructor, so it is also started when Ray recreates the actor on another machine,
    whether or not the driver still exists.
    """

    def __init__(self, spec: str) -> None:
        import ray

        self._process = worker.start(JobSpec.model_validate_json(spec))
        actor = ray.get_runtime_context().current_actor

        def exit_with_process() -> None:
            self._process.wait()
            ray.kill(actor, no_restart=True)

        threading.Thread(target=exit_with_process, daemon=True).start()

    def stop(self) -> None:
        """Ask the trial to stop."""
        self._process.terminate()


def _connect(address: str | None, cores: int | None) -> Any:
    """Return the `ray` module, connected to a cluster or started on this machine's loopback interface."""
    if importlib.util.find_spec("ray") is None:
        raise MissingDependency("--on ray", "ray")
    if address is None:
        os.environ.update(_LOOPBACK_ONLY)
    import ray

    local = {"num_cpus": cores, "include_dashboard": False} if address is None else {}
    settings: dict[str, Any] = {"namespace": _NAMESPACE, "log_to_driver": False, "logging_level": "ERROR", **local}
    try:
        # Its workers import from the folder that is current now, before all others: not from that of a stranger.
        with chdir("/"):
            ray.init(address or "local", **settings)
    except (ConnectionError, RuntimeError, ValueError, ImportError) as error:
        raise AssayError(f"cannot connect to Ray at {address or 'this machine'}: {error}") from None
    return ray
