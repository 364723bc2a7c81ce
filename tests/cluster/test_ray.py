"""Runs on Ray: nodes and drivers die, and every trial is finished exactly once."""

import os
import signal

import pytest
from namespaces import ADDRESS
from ray_nodes import CLIENTS

from assay.records import read_events

pytestmark = pytest.mark.slow


def test_a_local_ray_listens_on_loopback_only(on_local_ray):
    process = on_local_ray.start(*on_local_ray.patient("--on", "ray", trials=1))
    on_local_ray.wait_half_way(process, trials=1)
    listening = on_local_ray.listening()
    on_local_ray.gate.touch()
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert listening and [address for address in listening if "127.0.0.1" not in address] == []
    on_local_ray.check_complete(trials=1)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_trials_survive_their_driver_and_none_is_started_twice(on_ray, ray_nodes, where):
    on = f"ray:{ray_nodes.address}" if where == "inside" else f"ray://{ADDRESS}:{CLIENTS}"
    process = on_ray.start(*on_ray.patient("--on", on, "-c", "resources.cores=2", trials=3))
    on_ray.wait_half_way(process, trials=2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    on_ray.gate.touch()
    result = on_ray.call("resume", str(on_ray.out), "--quiet")
    assert result.returncode == 0, result.stderr
    on_ray.check_complete(trials=3)
    assert [trial.attempts for trial in on_ray.folder.trials()] == [1, 1, 1]


def test_stopping_a_run_stops_its_trials(on_ray, ray_nodes):
    process = on_ray.start(*on_ray.patient("--on", f"ray:{ray_nodes.address}", "-c", "resources.cores=2", trials=3))
    on_ray.wait_half_way(process, trials=2)
    on_ray.interrupt(process)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130, stderr
    states = sorted((trial.state.status, trial.state.cause or "") for trial in on_ray.folder.trials())
    assert states == [("stopped", "user"), ("stopped", "user"), ("waiting", "")]


def test_trials_of_a_dead_node_resume_on_another(on_ray, ray_nodes):
    process = on_ray.start(*on_ray.patient("--on", f"ray:{ray_nodes.address}", "-c", "resources.cores=2", trials=2))
    on_ray.wait_half_way(process, trials=2)
    ray_nodes.cut_power(1)
    on_ray.gate.touch()
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    on_ray.check_complete(trials=2)
    epochs = [{event.epoch for event in read_events(trial.events)} for trial in on_ray.folder.trials()]
    assert sorted(epochs, key=len) == [{1}, {1, 2}]
