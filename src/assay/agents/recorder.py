"""Carries out an agent's calls and records them, replays recorded ones, and saves and restores the workspace."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import Lock

from assay.agents.observation import ActionFailed, Observation
from assay.lab.interface import Lab
from assay.lab.snapshots import Snapshot, load_snapshot
from assay.records import BudgetUsed, Clock, EventLog, OutOfBudget
from assay.records.content_store import ContentStore
from assay.records.events import ActionRequest, ActionResult, AnyRequest, ModelRequest, ModelResult
from assay.records.prompts import PromptRecorder
from assay.records.tape import AResult, Call, Past, Tape

if TYPE_CHECKING:
    from assay.models import Message, Sampling, Tool


class Recorder:
    """The record of a trial while its agent works.

    `past` is what earlier attempts recorded: its calls are replayed, and its last snapshot is restored before the first
    new call. `store` is the folder of the trial's snapshots.
    """

    def __init__(self, log: EventLog, lab: Lab, clock: Clock, store: Path, past: Past | None = None) -> None:
        past = past or Past()
        self.clock = clock
        self.contents = ContentStore(store)
        self._lab = lab
        self._store = store
        self._tape = Tape(log, past.calls)
        self._prompts = PromptRecorder(past.prompts)
        self._to_restore = past.snapshot
        self._restoring = Lock()
        self._snapshot: Snapshot | None = None
        self._changed = False
        self._latest = BudgetUsed()
        self.after_snapshot: Callable[[Snapshot], Awaitable[None]] | None = None

    @property
    def replaying(self) -> bool:
        """Whether recorded calls are left to replay."""
        return self._tape.replaying

    @property
    def trial_folder(self) -> Path:
        """The folder of the trial's record."""
        return self._store.parent

    async def call(
        self,
        request: AnyRequest,
        perform: Callable[[], Awaitable[AResult]],
        result_type: type[AResult],
        *,
        changes: bool = False,
        lane: str = "",
    ) -> AResult:
        """Carry out a call and record it, or return the recorded result. `changes`: it may change the workspace."""
        _, result = await self._call(request, perform, result_type, changes=changes, lane=lane)
        return result

    async def ask_model(
        self,
        role: str,
        messages: "Sequence[Message]",
        tools: "Sequence[Tool]",
        perform: Callable[[], Awaitable[ModelResult]],
        *,
        tool_choice: str | None,
        lane: str,
        sampling: "Sampling | None" = None,
    ) -> ModelResult:
        """Call a model; of the prompt, only what the log does not have yet is recorded."""
        replayed = self._tape.replays(lane)
        if replayed:
            request = ModelRequest(role=role)
        else:
            request = self._prompts.request(role, messages, tools, tool_choice)
            request = request.model_copy(update={"sampling": sampling})
        call, result = await self._call(request, perform, ModelResult, lane=lane)
        if not replayed:
            self._prompts.add_prompt(call.number, messages, tools)
            if result.reply:
                self._prompts.add_reply(call.number, result.reply.message)
        return result

    async def act(self, request: ActionRequest, perform: Callable[[], Awaitable[Observation]]) -> Observation:
        """Record an action around the calls that `perform` makes, and take a snapshot after it."""
        began = self.clock.elapsed
        exhausted: OutOfBudget | None = None
        with self._tape.action(request, step=self.clock.steps) as action:
            try:
                observation = await perform()
            except ActionFailed as failure:
                observation = failure.observation
            except OutOfBudget as error:
                exhausted, observation = error, Observation(f"The trial is over: {error}.", "budget")
            replayed = self._tape.replays()
            if not replayed:
                await self.restore()
            seconds = round(self.clock.elapsed - began, 3)
            new = ActionResult(observation=observation.text, cause=observation.cause, seconds=seconds)
            call = action.finish(new, self.clock.used)
        if replayed:
            self._catch_up(call.used)
        result = call.expect(ActionResult)
        if not replayed:
            self._prompts.add_observation(call.number, result.observation)
        await self.snapshot()
        if exhausted:
            raise exhausted
        return Observation(result.observation, result.cause)

    async def skip_replay(self) -> Sequence[Call]:
        """Replay nothing and return the recorded calls: they stay in the record, and what they used is used."""
        calls = self._tape.skip_replay()
        for call in calls:
            self._catch_up(call.used)
        await self.restore()
        return calls

    async def snapshot(self, *, force: bool = False, only_changed: bool = False) -> None:
        """Save the workspace; what did not change costs nothing.

        `force`: it may have changed outside of calls. `only_changed`: a workspace that was saved since the last call
        that could change it is not recorded again.
        """
        if self._tape.replays() or self._to_restore:
            return
        if only_changed and self._snapshot and not self._changed:
            return
        if force or self._changed or self._snapshot is None:
            self._snapshot = await self._lab.snapshot(self._store, self._snapshot)
        self._tape.snapshot_taken(self._snapshot.id, self.clock.steps)
        self._changed = False
        if self.after_snapshot:
            await self.after_snapshot(self._snapshot)

    async def restore(self) -> None:
        """Restore the workspace of the last snapshot, before anything new happens in it."""
        async with self._restoring:
            if self._to_restore:
                self._snapshot = load_snapshot(self._store, self._to_restore)
                await self._lab.restore(self._store, self._snapshot)
                self._to_restore = None

    async def _call(
        self,
        request: AnyRequest,
        perform: Callable[[], Awaitable[AResult]],
        result_type: type[AResult],
        *,
        changes: bool = False,
        lane: str = "",
    ) -> tuple[Call, AResult]:
        async def perform_live() -> AResult:
            await self.restore()
            self._changed = self._changed or changes
            return await perform()

        replayed = self._tape.replays(lane)
        call = await self._tape.call(
            request,
            perform_live,
            step=self.clock.steps,
            used=lambda: self.clock.used,
            changes=changes,
            lane=lane,
        )
        if replayed:
            self._catch_up(call.used)
        return call, call.expect(result_type)

    def _catch_up(self, used: BudgetUsed) -> None:
        """Set the clock to what was used after a recorded call; of concurrent calls, the one that ended last counts."""
        latest = self._latest
        if (used.elapsed, used.steps, used.tokens) >= (latest.elapsed, latest.steps, latest.tokens):
            self._latest = used
            # Another lane may have begun a step that this call, which ended before, does not count.
            self.clock.set(used.model_copy(update={"steps": max(used.steps, self.clock.steps)}))
