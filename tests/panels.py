"""Run a task's reference solutions on the host, with the files that are copied into the lab."""

import subprocess
import sys
from pathlib import Path

from assay.audit.reference_panel import panel_files
from assay.tasks import Task


def run_panel(task: Task, folder: Path, argument: str) -> str:
    """Run one solution, or list their names with `--list`, in this folder; return what was printed."""
    for name, content in panel_files(task).items():
        (folder / name).write_bytes(content)
    command = [sys.executable, "run_panel.py", argument]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
