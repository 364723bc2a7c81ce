"""Trajectories of every built-in agent that needs no person, checked by Harbor's own validator."""

import json
import subprocess
from pathlib import Path

import pytest

from assay.agents.agent import agent_names
from outside import newer_python, outside_python
from tiny_run import TESTS

MODEL = f"scripted/{TESTS / 'agents/external_agents/one_command_model.py'}:answer"
CHECK = (
    "import sys; from harbor.utils.trajectory_validator import validate_trajectory as is_valid; "
    "sys.exit(not all([is_valid(path) for path in sys.argv[1:]]))"
)
SETTINGS = {
    "automl": "automl,evaluations=1",
    "external": "external,command=python train.py",
    "sampler": "sampler",
}


@pytest.mark.slow
def test_trajectories_of_all_agents_are_valid(tiny, tmp_path: Path):
    others = {"human", "replay"}  # one needs a person, the other a trial
    agents = [SETTINGS.get(name, name) for name in agent_names() if name not in others]
    done = tiny.call(*tiny.run_words(*agents, time="2m"), "--model", MODEL, "--steps", "3")
    assert done.returncode == 0, done.stderr
    folders = list(tiny.folder.trials())
    again = tiny.call(*tiny.run_words(f"replay,trial={folders[0].path}"))
    assert again.returncode == 0, again.stderr
    done = tiny.call("export", str(tiny.out), "--to", "atif", str(tmp_path / "atif"))
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "atif").rglob("trajectory.json"))
    assert len(files) == len(agents) + 1
    assert {json.loads(file.read_text())["agent"]["name"].split()[0].split(",")[0] for file in files} >= {
        "shell",
        "aide",
    }
    python = outside_python("harbor>=0.24,<0.26", "every-eval-ever>=0.3,<0.4", python=newer_python())
    checked = subprocess.run([python, "-c", CHECK, *map(str, files)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
