"""What a trial did, as a tape: recorded while it happens, and played back to an agent that is started again.

An agent is ordinary code that knows nothing of interruptions. Everything it does to the world goes through the tape as
a deed: it is asked for, done, and its result written down. When a trial is taken up again, the agent begins anew, and
the tape answers with the results of last time, until there are none left; then deeds are done again for real. So a
reply that was paid for is never asked for twice, and no agent needs code for resuming.

A deed that changes the workspace counts as done once a snapshot was taken after it: what a crash interrupted is done
again, on the workspace as it was at the last snapshot.
"""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import RecordError
from assay.records.events import Event, EventLog

Result = dict[str, Any]

_BEGUN, _DONE, _KEPT = "action", "observation", "snapshot"


@dataclass(frozen=True)
class Deed:
    """One thing an agent did: what it asked for, what came of it, what was used up by then, what else is known."""

    what: str
    request: Mapping[str, Any]
    result: Result
    used: Mapping[str, Any]
    changes: bool
    lane: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


class Diverged(RecordError):
    """An agent that was started again asked for something else than last time."""


class Tape:
    """Records deeds, after playing back those of the past.

    What an agent does side by side goes in lanes: within a lane deeds follow each other, between lanes they need not.
    """

    def __init__(self, log: EventLog, past: Sequence[Deed] = ()) -> None:
        self._log = log
        self._in_order = tuple(past)
        self._past: dict[str, deque[Deed]] = {}
        for deed in past:
            self._past.setdefault(deed.lane, deque()).append(deed)
        self._number = 0

    @property
    def playing(self) -> bool:
        """Whether results of the past are left."""
        return any(self._past.values())

    def leave_past(self) -> Sequence[Deed]:
        """Play nothing back: what was done before, in order, for an agent that is started anew on what it left."""
        self._past.clear()
        return self._in_order

    async def deed(
        self,
        what: str,
        request: Mapping[str, Any],
        do: Callable[[], Awaitable[Result]],
        *,
        changes: bool,
        used: Callable[[], Mapping[str, Any]],
        lane: str = "",
        **about: Any,
    ) -> Deed:
        """Do something and write down what came of it, or say what came of it last time.

        `request` is what must be the same when the agent is started again; `about` is only for the record.
        """
        if self._past.get(lane):
            before = self._past[lane].popleft()
            if (before.what, _text(before.request)) != (what, _text(request)):
                raise Diverged(f"the agent does not repeat itself: it asked for {what}, last time for {before.what}")
            return before
        self._number += 1
        number = self._number
        self._log.add(_BEGUN, deed=number, what=what, lane=lane, request=dict(request), changes=changes, **about)
        result = await do()
        deed = Deed(what, request, result, used(), changes, lane)
        # What changes the workspace counts only with the snapshot after it, which puts both on disk.
        write = self._log.add if changes else self._log.append
        write(_DONE, deed=number, what=what, result=result, used=dict(deed.used))
        return deed

    def kept(self, snapshot: str, step: int) -> None:
        """Say that the workspace was kept after all that was done so far."""
        self._log.append(_KEPT, id=snapshot, step=step)


@dataclass(frozen=True)
class Past:
    """What the log of a trial says of earlier attempts: deeds to be played back, and the workspace they led to."""

    deeds: tuple[Deed, ...] = ()
    snapshot: str | None = None


def past_of(events: Sequence[Event], *, up_to_step: int | None = None) -> Past:
    """The deeds that need not be done again, in order; with `up_to_step`, only those before that step's snapshot.

    Deeds after the last snapshot are kept as long as they change nothing, such as a model's reply to what was kept.
    """
    kept: list[Deed] = []
    since: list[Deed] = []
    begun: dict[int, Mapping[str, Any]] = {}
    snapshot: str | None = None
    for event in events:
        if event.kind == "started":
            since, begun = _harmless(since), {}
        elif event.kind == "anew":
            kept, since, snapshot, begun = [], [], None, {}
        elif event.kind == _BEGUN:
            begun[event.about["deed"]] = event.about
        elif event.kind == _DONE and event.about["deed"] in begun:
            asked, told = begun.pop(event.about["deed"]), event.about
            since.append(
                Deed(
                    asked["what"],
                    asked["request"],
                    told["result"],
                    told["used"],
                    asked["changes"],
                    asked["lane"],
                    about=asked,
                )
            )
        elif event.kind == _KEPT:
            if up_to_step is not None and event.about["step"] > up_to_step:
                return Past(tuple(kept), snapshot)
            kept, since, snapshot = kept + since, [], event.about["id"]
    return Past(tuple(kept + (_harmless(since) if up_to_step is None else [])), snapshot)


def _harmless(deeds: list[Deed]) -> list[Deed]:
    """Those before the first that changes the workspace."""
    first = next((place for place, deed in enumerate(deeds) if deed.changes), len(deeds))
    return deeds[:first]


def _text(request: Mapping[str, Any]) -> str:
    return json.dumps(dict(request), sort_keys=True)
