"""Why a trial has no valid submission, in words that say what happened."""

import re
import signal
from collections import Counter
from collections.abc import Sequence

from assay.core.quantities import format_duration
from assay.core.text import one_line, plural
from assay.records.events import (
    GAVE_UP,
    AgentCrashed,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandResult,
    Event,
    ExternalProcessResult,
    NodeRequest,
    NoteRequest,
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

    A file that was submitted and is invalid is the failure itself. Without one, it is whatever ended the agent's work:
    a limit or a crash, that it gave up or that none of its scripts worked, or the last command if that failed.
    """
    happened = _find_end(events, state)
    if entry is not None and entry.file is not None:
        return "invalid submission", _join(why, happened and happened[1])
    missing = entry.reason if entry else why
    if any(isinstance(event, Reran) and event.cause for event in events):
        return "failed rerun", _join(missing)
    if (gave_up := _explain_end_of_work(events)) and not _find_stop(events, state):
        return "no submission", _join(gave_up, missing)
    return (happened[0], _join(happened[1], gave_up, missing)) if happened else ("no submission", _join(missing))


def _explain_end_of_work(events: Sequence[Event]) -> str | None:
    """Return why the agent itself stopped, or that none of its scripts worked; None if neither is in the log."""
    requests = [event.request for event in events if isinstance(event, CallStarted)]
    notes = [request for request in requests if isinstance(request, NoteRequest) and request.topic == GAVE_UP]
    if notes:
        return f"the agent gave up: {one_line(notes[-1].reason, 300)}" if notes[-1].reason else "the agent gave up"
    nodes = [request.node for request in requests if isinstance(request, NodeRequest)]
    if not nodes or any(node.good for node in nodes):
        return None
    reason, count = Counter(one_line(node.reason, 200) for node in nodes).most_common(1)[0]
    return f"none of {plural(len(nodes), 'script')} worked" + (f", {count} of them: {reason}" if reason else "")


def _find_end(events: Sequence[Event], state: State) -> tuple[Failure, str] | None:
    """Return what ended the agent's work badly."""
    results = [event.result for event in events if isinstance(event, CallFinished)]
    last = next((result for result in reversed(results) if isinstance(result, _COMMANDS)), None)
    return _find_stop(events, state) or (_explain_command(last) if last else None)


def _find_stop(events: Sequence[Event], state: State) -> tuple[Failure, str] | None:
    """Return the crash or the limit that ended the agent's work."""
    start = max((event.number for event in events if isinstance(event, Started)), default=0)
    for event in reversed([event for event in events if event.number >= start]):
        if isinstance(event, AgentCrashed):
            return "crash", f"the agent crashed: {one_line(event.message, 300)}"
        if isinstance(event, BudgetExhausted):
            failure = _LIMITS[event.limit]
            after = f" after {format_duration(state.elapsed)}" if failure == "out of time" else ""
            return failure, f"{failure}{after}"
    return None


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
