"""Why a trial has no valid submission, in words that say what happened."""

import re
import signal
from collections.abc import Sequence

from assay.core.quantities import format_duration
from assay.core.text import one_line
from assay.records.events import (
    AgentCrashed,
    BudgetExhausted,
    CallFinished,
    CommandResult,
    Event,
    ExternalProcessResult,
    PythonResult,
    Reran,
    Started,
)
from assay.records.state import Failure, State, SubmissionEntry

OUT_OF_MEMORY = re.compile(r"\bMemoryError\b|\bout of memory\b|Cannot allocate memory", re.IGNORECASE)
_COMMANDS = (CommandResult, ExternalProcessResult, PythonResult)
_LIMITS: dict[str, Failure] = {
    "time": "out of time",
    "working_time": "out of time",
    "steps": "out of steps",
    "tokens": "out of tokens",
    "cost": "out of money",
}
_LAB_LIMITS: dict[str, Failure] = {
    "time": "out of time",
    "memory": "out of memory",
    "disk": "out of disk space",
    "output": "too much output",
}


def explain_failure(
    events: Sequence[Event], entry: SubmissionEntry | None, why: str | None, state: State
) -> tuple[Failure, str]:
    """Return what kept an agent from a valid submission: the kind of failure, and a sentence.

    A file that was submitted and is invalid is the failure itself. Without one, it is whatever ended the agent's work,
    or the last command if that failed.
    """
    happened = _find_end(events, state)
    if entry is not None and entry.file is not None:
        return "invalid submission", _join(why, happened and happened[1])
    missing = entry.reason if entry else why
    if any(isinstance(event, Reran) and event.cause for event in events):
        return "failed rerun", _join(missing)
    return (happened[0], _join(happened[1], missing)) if happened else ("no submission", _join(missing))


def _find_end(events: Sequence[Event], state: State) -> tuple[Failure, str] | None:
    """Return what ended the agent's work badly."""
    start = max((event.number for event in events if isinstance(event, Started)), default=0)
    recent = [event for event in events if event.number >= start]
    results = [event.result for event in events if isinstance(event, CallFinished)]
    last = next((result for result in reversed(results) if isinstance(result, _COMMANDS)), None)
    for event in reversed(recent):
        if isinstance(event, AgentCrashed):
            return "crash", f"the agent crashed: {one_line(event.message, 300)}"
        if isinstance(event, BudgetExhausted):
            failure = _LIMITS[event.limit]
            after = f" after {format_duration(state.elapsed)}" if failure == "out of time" else ""
            return failure, f"{failure}{after}"
    return _explain_command(last) if last else None


def _explain_command(result: CommandResult | ExternalProcessResult | PythonResult) -> tuple[Failure, str] | None:
    """Return how the last command failed; None if it did not."""
    if result.ended in _LAB_LIMITS:
        failure = _LAB_LIMITS[result.ended]
        after = f" after {format_duration(result.seconds)}" if failure == "out of time" else ""
        return failure, f"{failure}{after}: the last command was killed"
    if isinstance(result, PythonResult) or (result.ended == "exit" and result.code == 0):
        return None
    if OUT_OF_MEMORY.search(result.stderr):
        return "out of memory", f"out of memory: {_last_line(result.stderr)}"
    ended = _describe_code(result.code)
    last_line = _last_line(result.stderr) or _last_line(result.stdout)
    return "failed command", f"{ended}: {last_line}" if last_line else f"{ended}: the last command printed nothing"


def _describe_code(code: int) -> str:
    if code > 128 and code - 128 in {number.value for number in signal.Signals}:
        return f"killed by {signal.Signals(code - 128).name}"
    return f"exit code {code}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return one_line(lines[-1], 200) if lines else ""


def _join(*parts: str | None) -> str:
    return "; ".join(part.rstrip(".") for part in parts if part)
