"""What every act of an agent rests on: the tape, the clock, and the workspace as it was last kept."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import Lock, to_thread

from assay.agents.serialize import Contents, collect
from assay.agents.session import Session
from assay.agents.terminal import TERMINAL
from assay.lab.interface import Lab
from assay.lab.snapshots import Snapshot, load_snapshot
from assay.records import Clock
from assay.records.tape import Deed, Tape
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.models import Models


class Footing:
    """Does things and writes them down, plays back what was done before, and keeps the workspace."""

    def __init__(
        self,
        task: Task,
        lab: Lab,
        clock: Clock,
        tape: Tape,
        seed: int,
        store: Path,
        *,
        form: Callable[[bytes], str | None],
        models: "Models | None" = None,
        kept: str | None = None,
        terminal: Path = TERMINAL,
        description: str | None = None,
    ) -> None:
        self.task = task
        self.description = task.description if description is None else description
        self.seed = seed
        self.clock = clock
        self._lab = lab
        self._tape = tape
        self._store = store
        self._form = form
        self._models = models
        self._last: Snapshot | None = None
        self._to_restore = kept
        self._restoring = Lock()
        self._reached: tuple[float, int, int] = (0.0, 0, 0)
        self._contents = Contents(store)
        self.terminal = terminal
        self.validations = 0
        self._changed = False
        self._session: Session | None = None
        self._session_open = False

    @property
    def lab(self) -> Lab:
        """The lab itself, for what lives in it for long; whoever uses it tells with `record` what it does."""
        return self._lab

    async def record(
        self, what: str, request: Mapping[str, Any], do: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Do something in the lab that has no other name here, and write down what came of it."""
        return await self._deed(what, request, do, changes=True)

    async def leave_past(self) -> Sequence[Deed]:
        """What was done before the trial was interrupted, for an agent that cannot be played back.

        Nothing of it is repeated or answered again: it stays in the record, what it used up is used up, and the
        workspace is as it was last kept.
        """
        past = self._tape.leave_past()
        for deed in past:
            self._catch_up(deed.used)
            if deed.what == "ask" and "message" in deed.result and self._models:
                from assay.models import Reply

                self._models.remember(Reply.model_validate(deed.result))
        await self._live()
        return past

    async def fault_of(self, content: bytes) -> str | None:
        """What is wrong with the form of a submission; not something that an agent asked for."""
        return await to_thread.run_sync(self._form, content)

    async def collect(self, patterns: Sequence[str], most: int) -> list[str]:
        """Copy files of the workspace that match a pattern into the record's folder, up to `most` bytes in all."""
        return await collect(self._lab, self._store.parent / "trajectory", patterns, most)

    def kept_content(self, digest: str) -> bytes:
        """What a file held when the workspace was kept, by its hash."""
        return self._contents.give({"sha256": digest})

    async def keep(self) -> None:
        """Keep what the workspace holds now, which somebody who lives in the lab may have changed."""
        self._changed = True
        await self.snapshot()

    async def snapshot(self) -> None:
        """Keep what the workspace holds now; what did not change costs nothing."""
        if self._tape.playing or self._to_restore:
            return
        if self._changed or self._last is None:
            self._last = await self._lab.snapshot(self._store, self._last)
        self._tape.kept(self._last.id, self.clock.steps)
        self._changed = False

    async def note(self, what: str, **about: Any) -> None:
        """Write down what an agent thinks worth knowing about its own course."""

        async def do() -> dict[str, Any]:
            return {}

        await self._deed("note", {"what": what}, do, **about)

    async def _deed(
        self,
        what: str,
        request: Mapping[str, Any],
        do: Callable[[], Awaitable[dict[str, Any]]],
        *,
        changes: bool = False,
        lane: str = "",
        **about: Any,
    ) -> dict[str, Any]:
        async def live() -> dict[str, Any]:
            await self._live()
            self._changed = self._changed or changes
            return await do()

        playing = self._tape.playing
        deed = await self._tape.deed(
            what,
            request,
            live,
            changes=changes,
            used=lambda: self.clock.used,
            lane=lane,
            step=self.clock.steps,
            **about,
        )
        if playing:
            self._catch_up(deed.used)
        return deed.result

    def _catch_up(self, used: Mapping[str, Any]) -> None:
        """Go on from what was used up when a deed was done; of deeds side by side, the one that ended last counts."""
        reached = (used["elapsed"], used["steps"], used["tokens"])
        if reached >= self._reached:
            self._reached = reached
            self.clock.set(used)

    async def _live(self) -> None:
        """Before the first thing that is done for real again, make the workspace what it was."""
        async with self._restoring:
            if self._to_restore:
                self._last = load_snapshot(self._store, self._to_restore)
                await self._lab.restore(self._store, self._last)
                self._to_restore = None

    def _allowed(self, seconds: float | None) -> float:
        """Time for one part of a step: never more than is left."""
        return min(seconds or self.clock.seconds_left, self.clock.seconds_left)

    async def tell_budget(self, allowed: float) -> dict[str, str]:
        """Put what is left where code in the lab can read it, and say what it finds in its variables."""
        await self._lab.write_status(json.dumps(self.clock.left).encode())
        return {"SEED": str(self.seed), "PYTHONHASHSEED": str(self.seed), "DEADLINE": f"{time.time() + allowed:.0f}"}
