"""A research trial whose process is killed at random moments comes to the same end, and pays for no answer twice."""

import multiprocessing
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from assay.lab.snapshots import load_snapshot
from assay.records import RunFolder, read_events
from assay.runs.plan import Plan
from assay.runs.trial import conduct

AGENTS = Path(__file__).parent
TINY = AGENTS.parent / "tiny"
KILLS = 3
COUNTING = """
import sys
sys.path.append({folder!r})
import brain

def answer(messages, tools):
    with open({calls!r}, "a") as file:
        file.write("asked\\n")
    return brain.answer(messages, tools)
"""


class Researched:
    """A trial of the research agent on the coin task, each attempt at it a process of its own."""

    def __init__(self, home, coin, folder):
        self.home, self.calls = home, folder / "calls"
        folder.mkdir()
        brain = folder / "counting.py"
        brain.write_text(COUNTING.format(folder=str(AGENTS), calls=str(self.calls)))
        models = {"main": f"scripted/{brain}:answer"}
        plan = Plan((coin,), (("research", {}),), (models,), tasks_folder=TINY)
        self.run = RunFolder(folder / "run")
        self.run.add(plan.trials(home))
        (self.trial,) = self.run.trials()

    def attempt(self, events=sys.maxsize):
        """Let it work in a process until its log has so many events, then kill that; True if it was killed."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["assay.runs.trial", "assay.models.scripted"])
        process = context.Process(target=conduct, args=(self.trial.path, self.home))
        process.start()
        while process.is_alive() and len(self.events()) < events:
            pass
        process.kill()
        process.join()
        return process.exitcode != 0

    def events(self):
        """Its log so far."""
        return read_events(self.trial.events) if self.trial.events.exists() else []

    def asked(self):
        """How often the model was really asked."""
        return len(self.calls.read_text().splitlines())

    def told(self):
        """What came of every deed, in order: of one that had to be done again, what counted in the end."""
        begun, found = {}, {}
        for event in self.events():
            if event.kind == "action":
                begun[event.about["deed"]] = event.about
            elif event.kind == "observation" and event.about["what"] == "act":
                asked = begun[event.about["deed"]]
                found[asked["step"]] = (asked["request"], untimed(event.about["result"]))
        return [found[step] for step in sorted(found)]

    def replies(self):
        """Every reply in the log, in order."""
        told = [event.about for event in self.events() if event.kind == "observation" and event.about["what"] == "ask"]
        return [reply["result"]["message"]["text"] for reply in told]

    def workspace(self):
        """What the workspace held in the end."""
        last = [event for event in self.events() if event.kind == "snapshot"][-1]
        kept = load_snapshot(self.trial.snapshots, last.about["id"])
        return {name: file.sha256 for name, file in kept.files.items()}


def untimed(result):
    """What an agent was told, without how long it took."""
    return result["cause"], re.sub(r"after \d+\.\d seconds", "after a while", result["observation"])


@pytest.fixture(scope="module")
def whole(coin_home, coin, tmp_path_factory):
    """The trial as it goes when nobody interrupts it."""
    one = Researched(coin_home, coin, tmp_path_factory.mktemp("whole") / "trial")
    assert not one.attempt()
    assert (one.trial.state.status, one.trial.grade.score) == ("done", 1.0)
    assert one.asked() == len(one.replies())
    return one


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_trial_killed_at_random_moments_ends_as_if_it_had_not_been(whole, coin_home, coin, tmp_path, seed):
    one = Researched(coin_home, coin, tmp_path / "trial")
    moments = sorted(random.Random(seed).sample(range(1, len(whole.events())), KILLS))
    killed = sum(one.attempt(moment) for moment in moments)
    assert killed
    resume = [sys.executable, "-m", "assay", "resume", str(one.run.path), "--quiet"]
    subprocess.run(resume, env=os.environ | {"ASSAY_HOME": str(coin_home.root)}, check=True)
    assert (one.trial.state.status, one.trial.state.steps) == ("done", whole.trial.state.steps)
    assert one.trial.submission.read_bytes() == whole.trial.submission.read_bytes()
    assert one.trial.grade.score == whole.trial.grade.score and one.trial.grade.sealed
    assert one.told() == whole.told()
    assert one.workspace() == whole.workspace()
    assert one.replies() == whole.replies()
    # An answer can be lost only if the kill comes between its arrival and the log: at most one to each kill.
    assert len(whole.replies()) <= one.asked() <= len(whole.replies()) + killed
    kinds = Counter(event.kind for event in one.events())
    assert (kinds["submitted"], kinds["graded"], kinds["anew"]) == (1, 1, 0)
