"""Fixtures for tests of results: one real run of the tiny suite by scripted agents, in which much goes wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.records import RunFolder
from tiny_run import prepare_tiny

TESTS = Path(__file__).parent.parent
SCRIPTED = TESTS / "agents" / "simple_agents.py"
UNREADABLE = "I would rather not say."


def say(action: str, **arguments: object) -> str:
    """A reply with an action."""
    return f"Action: {action}\nAction Input: {json.dumps(arguments)}"


def run_script(name: str, code: str) -> list[str]:
    """Replies that write a script and execute it."""
    return [say("Write File", file_name=name, content=code), say("Execute Script", script_name=name)]


STORIES: dict[str, list[object]] = {
    # Has every problem there is and recovers from each.
    "tough": [
        *run_script("a.py", "raise ValueError('no')"),
        *run_script("b.py", "raise MemoryError"),
        *run_script("c.py", "import time; time.sleep(60)"),
        UNREADABLE,
        {"error": "too long"},
        say("Understand File", file_name="description.md", things_to_look_for="a rule"),
        say("Execute Script", script_name="train.py"),
        say("Final Answer", final_answer="Tails."),
    ],
    # Never gives a readable reply.
    "mute": [say("Execute Script", script_name="train.py"), *[UNREADABLE] * 5],
    # Ends with a script that fails, without a submission.
    "clumsy": [*run_script("a.py", "raise MemoryError"), *[UNREADABLE] * 5],
    # Submits a file that cannot be graded.
    "vague": [
        say("Write File", file_name="submission.csv", content="coin,side\n"),
        say("Final Answer", final_answer="?"),
    ],
    # Its provider rejects the requests.
    "refused": [say("List Files", dir_path="."), {"error": "refused"}],
}


@pytest.fixture(scope="session")
def scripted_run(shared_home: Callable[[str, Callable[[Home], None]], Home]) -> RunFolder:
    """The run, which all workers share; trials of agents with a model are named after its script."""
    return RunFolder(shared_home("scripted-run", run_stories).root / "run")


def run_stories(home: Home) -> None:
    """Run all stories in a home."""
    folder = home.root
    for name, replies in STORIES.items():
        (folder / f"{name}.json").write_text(json.dumps(replies))
    (folder / "fast.json").write_text(json.dumps([{"error": "refused"}]))
    models = [word for name in STORIES for word in ("--model", f"scripted/{folder / name}.json")]
    agents = ["act,add_actions=Write File,script_seconds=10s", *(f"{SCRIPTED}:{name}" for name in OTHERS)]
    prepare_tiny(home)
    result = _assay(
        folder, "run", "tiny", *(word for agent in agents for word in ("--agent", agent)), *models,
        "--role", f"fast=scripted/{folder / 'fast.json'}", "--out", str(folder / "run"), "--quiet",
    )  # fmt: skip
    assert result.returncode == 1 and (folder / "run" / "run.json").is_file(), result.stderr  # one could not run


OTHERS = ("Steps", "Crashes", "Idles", "Greedy")


def _assay(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "assay", "--tasks", str(TESTS / "tiny"), *words],
        env=os.environ | {"ASSAY_HOME": str(root), "ASSAY_ATTEMPTS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
