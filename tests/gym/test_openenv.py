"""The server for OpenEnv, with the real package: its own client acts in labs."""

import json
import subprocess

import pytest

from outside import outside_python
from tiny_run import TESTS, prepare_tiny

PROGRAM = """
import json, socket, sys, threading, time
from pathlib import Path
import uvicorn
from openenv.core.generic_client import GenericEnvClient
from assay.core.home import Home
from assay.gym import World
from assay.gym.openenv import create_server

world = World("tiny/coin", folder=Path(sys.argv[1]))
listener = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(create_server(world, home=Home(Path(sys.argv[2]))), log_level="error"))
threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
while not server.started:
    time.sleep(0.05)
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
lines = []
with GenericEnvClient(base_url=url).sync() as first, GenericEnvClient(base_url=url).sync() as second:
    for client in (first, second):
        result = client.reset(seed=1)
        lines.append(result.observation["text"])
    first.step({"tool": "bash", "text": "echo mine > note"})
    lines.append(second.step({"tool": "bash", "text": "cat note"}).observation["text"])
    first.step({"tool": "bash", "text": "python train.py"})
    table = "pd.read_csv('data/test.csv').assign(side=0)"
    code = f"import pandas as pd; {table}.to_csv('submission.csv', index=False)"
    first.step({"tool": "python", "text": code})
    result = first.step({"tool": "submit"})
    score = result.observation["info"]["grade"]["score"]
    lines.append([result.done, result.reward, score, first.state()["step_count"]])
server.should_exit = True
print("RESULT" + json.dumps(lines))
"""


@pytest.mark.slow
def test_clients_of_openenv_act_in_labs_of_their_own_to_a_grade(home):
    prepare_tiny(home)
    python = outside_python("openenv-core>=0.3,<0.4", "gymnasium>=1.0,<2")
    done = subprocess.run(
        [python, "-c", PROGRAM, TESTS / "tiny", home.root], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    first, second, others, (ended, reward, score, steps) = json.loads(done.stdout.rpartition("RESULT")[2])
    assert first == second and "Guess which side of each coin is up" in first
    assert "No such file" in others
    # Two thirds of the coins show 0; the answers have reward 1, and there is no sample submission: 0 is the floor.
    assert (ended, score, steps) == (True, pytest.approx(2 / 3, abs=1e-5), 4)
    assert reward == pytest.approx(2 / 3, abs=1e-5)
