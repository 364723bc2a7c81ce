"""Trials on a Ray cluster, or on a Ray that is started here: each is kept by an actor that outlives its driver.

Where a machine dies, Ray starts the actors it had on another one, and their trials go on from their last snapshots.
"""

import hashlib
import importlib.util
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.disk import atomic_write
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.records import TrialFolder
from assay.records.lease import LAPSE, is_held
from assay.runs import worker
from assay.runs.driver import Files
from assay.runs.executors.cluster import Cluster, Job
from assay.runs.worker import JobSpec

_NAMESPACE = "assay"
# Ray listens on the address that other machines know this one by, unless it is told that there is no cluster.
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}


class Ray(Cluster):
    """A Ray cluster whose machines share the run's folder; without an `address`, a Ray on this machine alone."""

    patience = 1.0

    def __init__(
        self,
        home: Home,
        address: str | None = None,
        *,
        cores: int | None = None,
        source: Path | None = None,
        lapse: float = LAPSE,
    ) -> None:
        super().__init__(home, source=source, lapse=lapse)
        self._address, self._cores = address, cores
        self._ray: Any = None

    @property
    def place(self) -> str:
        """Its address."""
        return f"Ray at {self._address}" if self._address else "a Ray of this machine"

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Connect, and find what an earlier driver left."""
        self._ray = _connected(self._address, self._cores)
        super().begin(files, at_terminal=at_terminal)

    def submit(self, errands: Sequence[Job]) -> Sequence[str]:
        """Have Ray start an actor for each errand where there is room for it."""
        return [self._submit(errand) for errand in errands]

    def present(self, names: Iterable[str]) -> set[str] | None:
        """Errands whose actors wait, live, or are being started again."""
        from ray.util import list_named_actors

        there = {actor["name"] for actor in list_named_actors(all_namespaces=True) if actor["namespace"] == _NAMESPACE}
        return there & set(names)

    def begun(self, errands: Mapping[TrialFolder, str]) -> set[TrialFolder]:
        """Those whose trials somebody holds."""
        return {folder for folder in errands if is_held(folder.path) is not False}

    def cancel(self, errands: Mapping[TrialFolder, str]) -> None:
        """Ask trials that run to stop, and have the others never start."""
        begun = self.begun(errands)
        for folder, name in errands.items():
            try:
                actor = self._ray.get_actor(name, namespace=_NAMESPACE)
            except ValueError:
                continue  # it is over
            if folder in begun:
                actor.stop.remote()
            else:
                self._ray.kill(actor, no_restart=True)

    def _submit(self, errand: Job) -> str:
        name = f"{hashlib.sha256(str(errand.order.trial).encode()).hexdigest()[:12]} {errand.folder.path.name}"
        resources, largest = errand.file.resources, self._largest()
        needs = {"CPU": resources.cores, "memory": errand.memory}
        if self._address is None:  # no other machine will ever join that has more
            needs = {what: min(amount, int(largest.get(what, 0))) for what, amount in needs.items()}
        if errand.alone:
            needs["CPU"] = int(largest.get("CPU", resources.cores))
        # First on disk, so that whoever takes the run up finds it, and no other is started.
        atomic_write(errand.folder.path / "job", f"{name}\n")
        self._ray.remote(Keeper).options(
            name=name,
            namespace=_NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=-1,
            max_concurrency=2,
            num_cpus=needs["CPU"],
            num_gpus=0 if errand.alone else resources.gpus,
            memory=needs["memory"],
        ).remote(errand.order.model_dump_json())
        return name

    def _largest(self) -> Mapping[str, float]:
        """What the machine with the most cores has."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return max(nodes, key=lambda resources: resources.get("CPU", 0), default={})


class Keeper:
    """Keeps one trial's process on the machine that Ray chose, and leaves when it ends.

    The process is started when the actor is made: so it is also when Ray makes it anew on another machine, whether or
    not the driver is still there.
    """

    def __init__(self, order: str) -> None:
        import ray

        self._process = worker.start(JobSpec.model_validate_json(order))
        actor = ray.get_runtime_context().current_actor

        def leave() -> None:
            self._process.wait()
            ray.kill(actor, no_restart=True)

        threading.Thread(target=leave, daemon=True).start()

    def stop(self) -> None:
        """Ask the trial to stop."""
        self._process.terminate()


def _connected(address: str | None, cores: int | None) -> Any:
    """Ray itself, connected to a cluster or started on this machine's loopback interface."""
    if importlib.util.find_spec("ray") is None:
        raise AssayError("--on ray needs Ray; install it with: pip install 'assay[ray]'")
    if address is None:
        os.environ.update(_ON_LOOPBACK)
    import ray

    ours = {"num_cpus": cores, "include_dashboard": False} if address is None else {}
    settings: dict[str, Any] = {"namespace": _NAMESPACE, "log_to_driver": False, "logging_level": "ERROR", **ours}
    try:
        ray.init(address or "local", **settings)
    except (ConnectionError, RuntimeError, ValueError, ImportError) as error:
        raise AssayError(f"Ray cannot be reached at {address or 'this machine'}: {error}") from None
    return ray
