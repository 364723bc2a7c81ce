"""Whether the calls in a trial's log are those of the agent and the models that the trial names.

A record may come from anywhere: only agents that are installed here are loaded, and only if they read no file for it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from assay.agents import Agent
from assay.agents.agent import AGENTS, agent_class
from assay.agents.pressure import begins_round
from assay.core.errors import AssayError
from assay.core.text import quote
from assay.models.settings import MAIN
from assay.records import TrialFile, TrialFolder, read_events
from assay.records.events import CallFinished, CallStarted, Inapplicable, ModelResult, Submitted
from assay.records.origin import find_origin
from assay.records.verify import ORIGIN, Level, RecordFinding
from assay.runs.hashes import hash_of_agent
from assay.tasks import Task

ATTRIBUTION = "attribution"
"""The part of a finding on who did the work."""


def check_attribution(folder: TrialFolder, file: TrialFile, task: Task) -> Iterator[RecordFinding]:
    """Yield what does not fit the agent, its label, its models or the path of the submission.

    An agent whose code has changed since the trial may behave differently, so a difference to it is only a doubt.
    """
    name = folder.path.name
    events = read_events(folder.events)
    submitted = next((event for event in events if isinstance(event, Submitted)), None)
    if submitted and submitted.submission.file:
        origin = find_origin(folder, events, submitted, path=task.submission.file)
        if origin.verdict == "contradicted":
            yield RecordFinding(name, ORIGIN, f"{task.submission.file}: {origin.reason}")
    calls = [event for event in events if isinstance(event, CallStarted) and not begins_round(event.request)]
    work = _Work(
        calls,
        has_reply=any(
            isinstance(event, CallFinished) and isinstance(event.result, ModelResult) and event.result.reply
            for event in events
        ),
        needs_author=not _is_starting_file(submitted, task),
    )
    if not calls and work.needs_author:
        yield RecordFinding(name, ATTRIBUTION, "it has a submission, but no call of the agent that made it")
    excused = any(isinstance(event, Inapplicable) for event in events)
    kind = agent_class(file.agent) if AGENTS.entry(file.agent) else None
    if kind is None or kind.settings_name_files(file.settings):
        yield from _compare_unknown(name, file, work)
        if excused:
            message = f"it is left out of results, as agent {quote(file.agent)} says that it cannot work on the task"
            yield RecordFinding(name, ATTRIBUTION, message, "unverified")
        return
    unchanged = file.hashes.get("agent") == hash_of_agent(file.agent)
    try:
        agent = kind.model_validate(file.settings)
    except (AssayError, ValidationError):
        level: Level = "error" if unchanged else "unverified"
        yield RecordFinding(name, ATTRIBUTION, f"these are no settings of agent {file.agent}", level)
        return
    for message, level in _compare_agent(file, agent, task, work):
        yield RecordFinding(name, ATTRIBUTION, message, level if unchanged else "unverified")
    if excused and agent.inapplicable(task) is None:
        message = f"it is left out of results, but agent {file.agent} can work on {task.id}"
        yield RecordFinding(name, ATTRIBUTION, message, "error" if unchanged else "unverified")


@dataclass(frozen=True)
class _Work:
    """What a log shows of an agent's work, and whether there is a submission that somebody must have made."""

    calls: Sequence[CallStarted]
    has_reply: bool
    needs_author: bool


def _compare_unknown(name: str, file: TrialFile, work: _Work) -> Iterator[RecordFinding]:
    """Compare a trial with what is true of every agent."""
    if file.models and not work.has_reply and work.needs_author:
        message = f"no reply of {', '.join(sorted(set(file.models.values())))} is recorded"
        yield RecordFinding(name, ATTRIBUTION, message, "unverified")
    agent, label = file.agent.rpartition(":")[2], file.label
    model = f" · {file.models.get(MAIN)}" if file.models else ""
    if not (f"{label} ".startswith(f"{agent} ") and label.endswith(model)):
        message = f"the label {quote(label)} does not name agent {quote(agent)} and its model"
        yield RecordFinding(name, ATTRIBUTION, message, "unverified")
    elif file.agent != agent and AGENTS.entry(agent):
        message = f"the label is that of the installed agent {agent}, but the agent is {quote(file.agent)}"
        yield RecordFinding(name, ATTRIBUTION, message, "unverified")
    message = f"calls and label are not compared with those of agent {quote(file.agent)}, which is not installed here"
    yield RecordFinding(name, ATTRIBUTION, message, "remark")


def _compare_agent(file: TrialFile, agent: Agent, task: Task, work: _Work) -> Iterator[tuple[str, Level]]:
    """Compare a trial with an agent that is installed here."""
    label = agent.label(file.agent) + (f" · {file.models.get(MAIN)}" if file.models else "")
    if file.label != label:
        yield f"the label is {quote(file.label)}, but its settings give {quote(label)}", "error"
    use = agent.model_use()
    if use == "none" and file.models:
        yield f"agent {file.agent} asks no model, but the trial names one", "error"
    if use == "required" and not file.models:
        yield f"agent {file.agent} asks models, but the trial has none", "error"
    if use != "none" and file.models and not work.has_reply and work.needs_author:
        level: Level = "error" if use == "required" else "unverified"
        yield f"agent {file.agent} submitted, but no reply of {file.models.get(MAIN)} is recorded", level
    if foreign := next((call for call in work.calls if not agent.makes(call.request, task)), None):
        yield f"event {foreign.number} is a {foreign.request.type} call that agent {file.agent} never makes", "error"
    needed = agent.calls[:1]
    if work.needs_author and work.calls and needed and not any(call.request.type in needed for call in work.calls):
        yield f"agent {file.agent} submitted without any {needed[0]} call", "error"


def _is_starting_file(submitted: Submitted | None, task: Task) -> bool:
    """Whether nothing was submitted, or a file that every agent finds in its workspace."""
    if submitted is None or submitted.submission.file is None:
        return True
    content = task.starter.get(task.submission.file)
    return content is not None and hashlib.sha256(content).hexdigest() == submitted.submission.sha256
