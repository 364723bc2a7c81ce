"""How results of commands and format checks are described to models and people."""

from assay.agents.workbench import Workbench
from assay.core.text import cut_middle
from assay.lab.interface import Ended
from assay.records.events import CommandResult, FailureCause
from assay.records.failure import OUT_OF_MEMORY

LIMITS: dict[Ended, tuple[FailureCause, str]] = {
    "time": ("time", "was killed because it exceeded its time limit"),
    "memory": ("memory", "was killed because it ran out of memory"),
    "disk": ("disk", "was killed because it filled the disk"),
    "output": ("output", "was killed because it printed too much"),
}
"""The failure cause and the description of each lab limit that can end a command."""
VALID = "The format of the submission is valid. This says nothing about its score."
NO_OUTPUT = "(no output)"


async def check_submission(bench: Workbench) -> str:
    """Check the format of the submission in the workspace, and describe the result."""
    reason = await bench.validate()
    return VALID if reason is None else f"The submission is invalid: {reason.rstrip('.')}."


def describe_end(completed: CommandResult) -> tuple[FailureCause | None, str]:
    """Return why a command failed, if it did, and a phrase that says how it ended."""
    if completed.ended in LIMITS:
        return LIMITS[completed.ended]
    if completed.ended == "signal":
        return "crash", f"was killed by signal {completed.code - 128}"
    if completed.succeeded:
        return None, "succeeded"
    cause: FailureCause = "memory" if OUT_OF_MEMORY.search(completed.stderr) else "crash"
    return cause, f"failed with exit code {completed.code}"


def format_streams(stdout: str, stderr: str, max_length: int) -> str:
    """Return both output streams under their names, each cut to half of `max_length`."""
    streams = [("stdout", stdout), ("stderr", stderr)]
    parts = [f"{name}:\n{cut_middle(text.rstrip(), max_length // 2)}" for name, text in streams if text.strip()]
    return "\n\n".join(parts) or NO_OUTPUT
