"""Whether the calls in a trial's log are those of the agent and the models that the trial names.

A record may come from anywhere: only agents that are installed here are loaded, and only if they read no file for it.
"""

import hashlib
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from assay.agents import Agent
from assay.agents.agent import AGENTS, agent_class
from assay.core.errors import AssayError
from assay.core.text import quote
from assay.records import TrialFile, TrialFolder, read_events
from assay.records.events import CallFinished, CallStarted, Event, ModelResult, Submitted
from assay.records.verify import RecordFinding
from assay.runs.hashes import hash_of_agent
from assay.tasks import Task

ATTRIBUTION = "attribution"
"""The part of a finding on who did the work."""


def check_attribution(folder: TrialFolder, file: TrialFile, task: Task) -> Iterator[RecordFinding]:
    """Yield what does not fit the agent, its label or its models; what cannot be told is a remark."""
    name = folder.path.name
    events = read_events(folder.events)
    calls = [event for event in events if isinstance(event, CallStarted)]
    has_reply = any(
        isinstance(event, CallFinished) and isinstance(event.result, ModelResult) and event.result.reply
        for event in events
    )
    made_by_starter = _is_starting_file(events, task)
    if not calls and not made_by_starter:
        yield RecordFinding(name, ATTRIBUTION, "it has a submission, but no call of the agent that made it")
    agent = _load_agent(file)
    if agent is None:
        if file.models and not has_reply and not made_by_starter:
            message = f"no reply of {', '.join(sorted(set(file.models.values())))} is recorded"
            yield RecordFinding(name, ATTRIBUTION, message, "unverified")
        message = (
            f"the label and the calls are not compared with agent {quote(file.agent)}, which is not installed here"
        )
        yield RecordFinding(name, ATTRIBUTION, message, "remark")
        return
    label = agent.label(file.agent) + (f" · {file.models['main']}" if "main" in file.models else "")
    if file.label != label:
        yield RecordFinding(
            name, "trial.json", f"the label is {quote(file.label)}, but its settings give {quote(label)}"
        )
    use = agent.model_use()
    if use == "none" and file.models:
        yield RecordFinding(name, ATTRIBUTION, f"agent {file.agent} asks no model, but the trial names one")
    if use != "none" and file.models and not has_reply and not made_by_starter:
        message = f"agent {file.agent} submitted, but no reply of {file.models.get('main')} is recorded"
        yield RecordFinding(name, ATTRIBUTION, message, "error" if use == "required" else "unverified")
    if use == "required" and not file.models:
        yield RecordFinding(name, ATTRIBUTION, f"agent {file.agent} asks models, but the trial has none")
    if foreign := next((call for call in calls if not agent.makes(call.request, task)), None):
        message = f"event {foreign.number} is a {foreign.request.type} call that agent {file.agent} never makes"
        yield RecordFinding(name, ATTRIBUTION, message)
    needed = agent.calls[:1]
    if calls and needed and not made_by_starter and not any(call.request.type in needed for call in calls):
        yield RecordFinding(name, ATTRIBUTION, f"agent {file.agent} submitted without any {needed[0]} call")


def _load_agent(file: TrialFile) -> Agent | None:
    """Return the agent as it was planned; None unless it is installed here as it was, and its settings name no file."""
    if AGENTS.entry(file.agent) is None or file.hashes.get("agent") not in (None, hash_of_agent(file.agent)):
        return None
    kind = agent_class(file.agent)
    if kind.settings_name_files(file.settings):
        return None
    try:
        return kind.model_validate(file.settings)
    except (AssayError, ValidationError):
        return None


def _is_starting_file(events: Sequence[Event], task: Task) -> bool:
    """Whether nothing was submitted, or a file that every agent finds in its workspace."""
    submitted = next((event for event in events if isinstance(event, Submitted)), None)
    if submitted is None or submitted.submission.file is None:
        return True
    content = task.starter.get(task.submission.file)
    return content is not None and hashlib.sha256(content).hexdigest() == submitted.submission.sha256
