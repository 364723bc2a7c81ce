"""The walk-through in `docs/add-an-agent.md` works as written, and `docs/agents.md` is complete."""

import re
from pathlib import Path

import pytest
from pages import BLOCK, ROOT, follow_page

from assay.agents.agent import agent_names
from assay.agents.external.profile import Profile
from assay.records import RunFolder, read_events
from assay.records.prompts import Prompts
from command_line import Assay

PAGE = ROOT / "docs" / "add-an-agent.md"


@pytest.mark.slow
def test_following_the_page_creates_an_agent_that_recovers_from_an_error(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = follow_page(PAGE, assay)
    assert "Loop tries=3 · scripted/answers.json" in output
    (trial,) = RunFolder(tmp_path / "runs/loop").trials()
    assert trial.grade is not None and trial.grade.valid_submission
    assert (trial.state.steps, trial.state.validations) == (2, 2)
    prompts = Prompts(read_events(trial.events))
    assert "name 'undefined' is not defined" in prompts.messages(prompts.calls[1])[-1].text


def test_the_agent_on_the_page_is_as_short_as_promised() -> None:
    page = PAGE.read_text()
    (agent,) = [block["text"] for block in BLOCK.finditer(page) if block["file"] == "loop.py"]
    lines = [line for line in agent.partition("class Loop")[2].splitlines() if line.strip()]
    assert "in thirty lines" in page and len(agent.splitlines()) <= 40 and len(lines) <= 30


def test_the_page_about_agents_describes_every_field_and_placeholder_of_a_profile() -> None:
    page = (ROOT / "docs" / "agents.md").read_text().partition("### Profiles")[2]
    placeholders = re.findall(r"`({\w+})`", Profile.__doc__ or "")
    assert len(placeholders) > 10
    names = [*(name for name in Profile.model_fields if name != "included"), *placeholders]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_page_about_agents_describes_every_agent() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    assert [name for name in agent_names() if f"`{name}`" not in page] == []
