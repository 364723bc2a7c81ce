"""The walk-through in `docs/add-an-agent.md` works as it is written: its files are written, its commands are run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.agents.agent import agent_names
from assay.core.home import Home
from assay.records import RunFolder, read_events

DOCS = Path(__file__).parents[2] / "docs"
STEP = re.compile(r"(?:^`(?P<file>[^`\n]+)`\n\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_a_reader_who_does_what_the_page_says_has_an_agent(home: Home, tmp_path: Path) -> None:
    said = ""
    for step in STEP.finditer((DOCS / "add-an-agent.md").read_text()):
        if step["language"] == "console":
            for line in step["text"].splitlines():
                if line.startswith("$ "):
                    said += run(line.removeprefix("$ "), home, tmp_path)
        else:
            assert step["file"], f"no file name above:\n{step['text']}"
            (tmp_path / step["file"]).write_text(step["text"])
    assert "Loop,tries=3 · scripted/answers.json" in said
    (trial,) = RunFolder(tmp_path / "runs/loop").trials()
    assert trial.grade is not None and trial.grade.valid_submission
    assert (trial.state.steps, trial.state.validations) == (2, 2)
    asked = [event.about for event in read_events(trial.events) if event.about.get("what") == "ask"]
    told = [about["messages"][-1]["text"] for about in asked if "messages" in about]
    assert "name 'undefined' is not defined" in told[1]


def test_the_agent_on_the_page_is_as_short_as_it_says() -> None:
    page = (DOCS / "add-an-agent.md").read_text()
    (agent,) = [step["text"] for step in STEP.finditer(page) if step["file"] == "loop.py"]
    lines = [line for line in agent.partition("class Loop")[2].splitlines() if line.strip()]
    assert "in thirty lines" in page and len(agent.splitlines()) <= 40 and len(lines) <= 30


def test_the_page_of_agents_tells_of_every_one() -> None:
    page = (DOCS / "agents.md").read_text()
    assert [name for name in agent_names() if f"`{name}`" not in page] == []


def run(command: str, home: Home, folder: Path) -> str:
    """Run a line of the page as a shell would."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "ASSAY_HOME": str(home.root), "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout
