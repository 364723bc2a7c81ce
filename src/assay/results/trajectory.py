"""How a trial went, from its record: what it took, what went wrong on the way, and what ended it.

Everything is read from the event log, never from what an agent printed about itself. Deeds that an interruption made
vain were paid for all the same, so they count: in tokens and money, and in what went wrong.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from assay.agents.mlagentbench.actions import FINAL_ANSWER
from assay.agents.outcomes import OUT_OF_MEMORY
from assay.core.errors import ModelError, ModelUnavailable
from assay.models.messages import Usage
from assay.records import Event, State, TrialFolder, read_events
from assay.tasks import Budget

Trouble = Literal["memory", "time", "connection", "format", "too long", "crash", "machine"]
"""What can go wrong in a trial.

`memory`: code ran out of it. `time`: code or the whole trial ran out of it. `connection`: a model could not be asked.
`format`: a reply or an action that nobody can read. `too long`: more text than a model takes in or gives out. `crash`:
a script, a session or the agent itself failed in any other way. `machine`: the lab or the machine under it failed.
"""
TROUBLES: tuple[Trouble, ...] = get_args(Trouble)

End = Literal["final answer", "content", "gave up", "budget", "crash", "fault", "unfinished"]
"""How an agent's work ended: `content` is an agent that stopped by itself without an action for saying so."""

_OF_ACTIONS: Mapping[str, Trouble] = {
    "memory": "memory",
    "time": "time",
    "connection": "connection",
    "format": "format",
    "arguments": "format",
    "too long": "too long",
    "crash": "crash",
    "disk": "crash",
    "output": "crash",
}
_OF_COMMANDS: Mapping[str, Trouble] = {
    "memory": "memory",
    "time": "time",
    "signal": "crash",
    "disk": "crash",
    "output": "crash",
}


@dataclass(frozen=True)
class Process:
    """How one trial went.

    `submitted` is whether a file was handed in, good or bad. `troubles` are all that were met, also those the agent
    got over; `fatal` is the one that the work ended with, if it ended with one.
    """

    submitted: bool
    end: End
    seconds: float
    waited: float
    steps: int
    usage: Mapping[str, Usage] = field(default_factory=dict)
    troubles: frozenset[Trouble] = frozenset()
    fatal: Trouble | None = None

    @property
    def tokens(self) -> int:
        """Of all roles together."""
        return sum(usage.total_tokens for usage in self.usage.values())

    @property
    def cost(self) -> float | None:
        """Of all roles together in US dollars; None where the price of any reply is not known."""
        return sum(self.usage.values(), Usage.zero()).cost


def trajectory_of(folder: TrialFolder) -> Process:
    """How the trial in a folder went, as far as it has come."""
    events = read_events(folder.events) if folder.events.exists() else []
    return process(events, folder.state, folder.file.budget)


def process(events: Sequence[Event], state: State, budget: Budget) -> Process:
    """How the trial with these events went."""
    submission_entry = next((event.about for event in reversed(events) if event.kind == "submitted"), None)
    counted = State.model_validate(submission_entry["state"]) if submission_entry else state
    deeds = list(_deeds(events))
    end, steps = _end_of(events, deeds), _troubles_by_step(deeds)
    out_of_time: Trouble | None = "time" if end == "budget" and _no_time_left(counted, budget) else None
    met: list[Trouble | None] = [*steps, *_in_questions(deeds), *_in_notes(deeds), *_in_falls(events)]
    return Process(
        submitted=bool(submission_entry and submission_entry["entry"].get("file")),
        end=end,
        seconds=counted.elapsed,
        waited=counted.waited,
        steps=counted.steps,
        usage=_usage(deeds),
        troubles=frozenset(trouble for trouble in [*met, out_of_time] if trouble),
        fatal=out_of_time or _fatal(events, deeds, end, steps),
    )


@dataclass(frozen=True)
class _Deed:
    """Something an agent did and what came of it; `life` counts how often it had to begin from nothing before."""

    what: str
    asked: Mapping[str, Any]
    result: Mapping[str, Any]
    life: int


def _deeds(events: Iterable[Event]) -> Iterator[_Deed]:
    """All deeds that were done; their numbers begin anew whenever the trial is taken up."""
    begun: dict[int, Mapping[str, Any]] = {}
    life = 0
    for event in events:
        if event.kind in ("started", "anew"):
            begun = {}
            life += event.kind == "anew"
        elif event.kind == "action":
            begun[event.about["deed"]] = event.about
        elif event.kind == "observation" and event.about["deed"] in begun:
            asked = begun.pop(event.about["deed"])
            yield _Deed(asked["what"], asked, event.about["result"], life)


def _usage(deeds: Iterable[_Deed]) -> dict[str, Usage]:
    """What the replies to each role's questions took."""
    used: dict[str, Usage] = {}
    for deed in deeds:
        if deed.what == "ask" and "usage" in deed.result:
            role = deed.asked["request"]["role"]
            used[role] = used.get(role, Usage.zero()) + Usage.model_validate(deed.result["usage"])
    return used


def _troubles_by_step(deeds: Iterable[_Deed]) -> list[Trouble | None]:
    """What went wrong in each step, in order. A step that is an action is judged as such, not by its parts."""
    acts: dict[tuple[int, int], Trouble | None] = {}
    commands: dict[tuple[int, int], Trouble | None] = {}
    for deed in deeds:
        step = (deed.life, deed.asked.get("step", 0))
        if deed.what == "act":
            acts[step] = _OF_ACTIONS.get(deed.result["cause"]) or acts.get(step)
        elif deed.what == "run" and deed.asked["changes"]:
            commands[step] = _in_command(deed.result) or commands.get(step)
    return [troubles for _, troubles in sorted((commands | acts).items())]


def _in_command(result: Mapping[str, Any]) -> Trouble | None:
    if result["ended"] != "exit":
        return _OF_COMMANDS[result["ended"]]
    if result["code"] == 0:
        return None
    return "memory" if OUT_OF_MEMORY.search(result["stderr"]) else "crash"


def _in_questions(deeds: Iterable[_Deed]) -> Iterator[Trouble]:
    for deed in deeds:
        if deed.what == "ask" and "too_long" in deed.result:
            yield "too long"
        elif deed.what == "ask" and "fault" in deed.result:
            yield "connection"


def _in_notes(deeds: Iterable[_Deed]) -> Iterator[Trouble]:
    """What agents write down themselves, such as a reply they could not read."""
    for deed in deeds:
        if deed.what == "note" and (trouble := _OF_ACTIONS.get(deed.asked.get("cause", ""))):
            yield trouble


def _in_falls(events: Iterable[Event]) -> Iterator[Trouble]:
    for event in events:
        if event.kind == "crashed":
            yield "crash"
        elif event.kind == "broke":
            yield _fault(event)


def _fault(broke: Event) -> Trouble:
    return (
        "connection" if broke.about["why"].startswith((ModelError.__name__, ModelUnavailable.__name__)) else "machine"
    )


def _end_of(events: Sequence[Event], deeds: Sequence[_Deed]) -> End:
    last_start = max((event.number for event in events if event.kind == "started"), default=0)
    kinds = {event.kind for event in events if event.number >= last_start}
    if "submitted" not in kinds:
        return "fault" if "broke" in kinds else "unfinished"
    if "crashed" in kinds or "budget" in kinds:
        return "crash" if "crashed" in kinds else "budget"
    last = deeds[-1] if deeds else None
    if last and last.what == "note" and last.asked["request"]["what"] == "gave up":
        return "gave up"
    acts = [deed for deed in deeds if deed.what == "act"]
    answered = acts and acts[-1].asked["request"]["name"] == FINAL_ANSWER and acts[-1].result["cause"] is None
    return "final answer" if answered else "content"


def _fatal(
    events: Sequence[Event], deeds: Sequence[_Deed], end: End, steps: Sequence[Trouble | None]
) -> Trouble | None:
    if end == "crash":
        return "crash"
    if end == "fault":
        return _fault(next(event for event in reversed(events) if event.kind == "broke"))
    if end == "gave up" and (trouble := _OF_ACTIONS.get(deeds[-1].asked.get("cause", ""))):
        return trouble
    return steps[-1] if steps and end != "unfinished" else None


def _no_time_left(state: State, budget: Budget) -> bool:
    working = budget.working is not None and state.elapsed - state.waited >= budget.working
    return state.elapsed >= budget.time or working
