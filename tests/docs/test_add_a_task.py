"""The walk-through in `docs/add-a-task.md` works as it is written: its files are written, its commands are run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.home import Home

PAGE = Path(__file__).parents[2] / "docs" / "add-a-task.md"
STEP = re.compile(r"(?:^`(?P<file>[^`\n]+)`\n\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_a_reader_who_does_what_the_page_says_has_a_task(home: Home, tmp_path: Path) -> None:
    said = ""
    for step in STEP.finditer(PAGE.read_text()):
        if step["language"] == "console":
            for line in step["text"].splitlines():
                if line.startswith("$ "):
                    said += run(line.removeprefix("$ "), home, tmp_path)
        else:
            assert step["file"], f"no file name above:\n{step['text']}"
            (tmp_path / step["file"]).write_text(step["text"])
    assert "my-suite/cells: prepared" in said
    assert "is a valid submission for my-suite/cells" in said
    assert re.search(r"rank \d of 4, itself and 3 reference solutions", said)
    assert (tmp_path / "my-suite/cells/measured.json").is_file()


def run(command: str, home: Home, folder: Path) -> str:
    """Run a line of the page as a shell would."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "ASSAY_HOME": str(home.root), "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout
