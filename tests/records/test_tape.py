"""A tape replays what was recorded, and repeats what a crash interrupted."""

from pathlib import Path

import anyio
import pytest

from assay.models.messages import Message, Reply, ToolCall, Usage
from assay.records import BudgetUsed, EventLog, read_events
from assay.records.events import (
    ActionRequest,
    ActionResult,
    CallFinished,
    CallStarted,
    ModelRequest,
    ModelResult,
    NoteRequest,
    NoteResult,
    PythonRequest,
    PythonResult,
    Started,
)
from assay.records.log import MAX_SIZE, LogTooLarge
from assay.records.tape import Diverged, Tape, past_of

STARTED = Started(trial="test", trial_file_sha256="0" * 64, attempt=1)


class Agent:
    """Makes the calls of a list, one after the other, and takes a snapshot after each change."""

    def __init__(self, path: Path, *, die_before: int | None = None, max_size: int = MAX_SIZE) -> None:
        self.path, self.max_size = path, max_size
        self.done: list[str] = []
        self.die_before = die_before

    async def work(self, calls: list[tuple[str, bool]], *, snapshots: bool = True) -> list[str]:
        past = past_of(read_events(self.path))
        results = []
        with EventLog(self.path, 1, max_size=self.max_size) as log:
            log.append(STARTED)
            tape = Tape(log, past.calls)
            for number, (code, changes) in enumerate(calls):

                async def perform(code: str = code, number: int = number) -> PythonResult:
                    if number == self.die_before:
                        raise KeyboardInterrupt
                    self.done.append(code)
                    return PythonResult(output=f"{code} {number}", seconds=0.0)

                request = PythonRequest(code=code, seconds=1.0)
                used = BudgetUsed(steps=number)
                call = await tape.call(request, perform, step=number, changes=changes, used=lambda used=used: used)
                results.append(call.result.output)
                if changes and snapshots and not tape.replaying:
                    tape.snapshot_taken(f"{number:064}", number)
        return results


CALLS = [("ask", False), ("run", True), ("ask", False), ("ask", False), ("run", True), ("ask", False)]
RESULTS = ["ask 0", "run 1", "ask 2", "ask 3", "run 4", "ask 5"]


def codes(path: Path, **options: int) -> list[str]:
    return [call.request.code for call in past_of(read_events(path), **options).calls]


@pytest.mark.parametrize("die_before", range(6))
def test_a_resumed_trial_makes_only_the_calls_that_are_missing(tmp_path: Path, die_before: int) -> None:
    first = Agent(tmp_path / "log", die_before=die_before)
    with pytest.raises(KeyboardInterrupt):
        anyio.run(first.work, CALLS)
    second = Agent(tmp_path / "log")
    assert anyio.run(second.work, CALLS) == RESULTS
    assert first.done + second.done == [code for code, _ in CALLS]


def test_a_change_without_a_snapshot_is_repeated_together_with_the_calls_after_it(tmp_path: Path) -> None:
    first = Agent(tmp_path / "log", die_before=3)

    async def without_snapshots() -> None:
        await first.work(CALLS, snapshots=False)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(without_snapshots)
    assert codes(tmp_path / "log") == ["ask"]
    assert past_of(read_events(tmp_path / "log")).snapshot is None


def test_a_trial_that_is_interrupted_many_times_ends_the_same_way(tmp_path: Path) -> None:
    done = []
    for die_before in (1, 2, 2, 4, 5, None):
        agent = Agent(tmp_path / "log", die_before=die_before)
        try:
            assert anyio.run(agent.work, CALLS) == RESULTS
        except KeyboardInterrupt:
            assert die_before is not None
        done += agent.done
    assert done == [code for code, _ in CALLS]


def test_an_agent_that_diverges_from_its_record_is_detected(tmp_path: Path) -> None:
    anyio.run(Agent(tmp_path / "log").work, CALLS)
    with pytest.raises(Diverged, match=r"requested python\(code='run'\), the record has python\(code='ask'\)"):
        anyio.run(Agent(tmp_path / "log").work, CALLS[::-1][1:])


def test_the_past_up_to_a_step_ends_with_its_snapshot(tmp_path: Path) -> None:
    anyio.run(Agent(tmp_path / "log").work, CALLS)
    assert codes(tmp_path / "log", up_to_step=1) == ["ask", "run"]
    assert past_of(read_events(tmp_path / "log"), up_to_step=1).snapshot == f"{1:064}"


def test_concurrent_calls_are_replayed_by_lane(tmp_path: Path) -> None:
    async def work(order: list[str]) -> dict[str, str]:
        past = past_of(read_events(tmp_path / "log"))
        with EventLog(tmp_path / "log", 1) as log:
            log.append(STARTED)
            tape = Tape(log, past.calls)

            outputs: dict[str, str] = {}

            async def in_lane(lane: str) -> None:
                async def perform() -> PythonResult:
                    return PythonResult(output=lane, seconds=0.0)

                request = PythonRequest(code="", seconds=1.0)
                call = await tape.call(request, perform, step=0, used=BudgetUsed, lane=lane)
                outputs[lane] = str(call.result.output)

            async with anyio.create_task_group() as tasks:
                for lane in order:
                    tasks.start_soon(in_lane, lane)
            return outputs

    anyio.run(work, ["a", "b", "c"])
    assert anyio.run(work, ["c", "a", "b"]) == {"c": "c", "a": "a", "b": "b"}


@pytest.mark.parametrize("kept", range(1, 8))
def test_an_action_starts_before_its_parts_even_when_it_is_resumed(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "log"

    async def work() -> None:
        past = past_of(read_events(path))
        with EventLog(path, 1) as log:
            log.append(STARTED)
            tape = Tape(log, past.calls)

            async def perform() -> NoteResult:
                return NoteResult()

            with tape.action(ActionRequest(name="Think"), step=1) as action:
                for topic in ("one", "two"):
                    await tape.call(NoteRequest(topic=topic), perform, step=1, used=BudgetUsed)
                action.finish(ActionResult(observation="Done.", seconds=0.0), BudgetUsed())

    anyio.run(work)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 7
    path.write_bytes(b"".join(lines[:kept]))
    anyio.run(work)
    events = read_events(path)
    calls = [call.request for call in past_of(events).calls]
    assert calls == [NoteRequest(topic="one"), NoteRequest(topic="two"), ActionRequest(name="Think")]
    starts = {event.number: event for event in events if isinstance(event, CallStarted)}
    for event in starts.values():
        if isinstance(event.request, NoteRequest):
            assert isinstance(starts[event.action].request, ActionRequest) and event.action < event.number
    finished = [event.call for event in events if isinstance(event, CallFinished)]
    assert len(finished) == len(set(finished)) == 3


def test_a_live_result_is_what_will_be_replayed(tmp_path: Path) -> None:
    async def work() -> ModelResult:
        past = past_of(read_events(tmp_path / "log"))
        with EventLog(tmp_path / "log", 1) as log:
            log.append(STARTED)

            async def perform() -> ModelResult:
                odd = {"nan": float("nan"), "tuple": (1, 2), "text": "half of a smile: \ud83d"}
                message = Message(role="assistant", tool_calls=(ToolCall(id="1", name="odd", arguments=odd),))
                return ModelResult(
                    reply=Reply(
                        message=message, stop="stop", usage=Usage(), model="m", number=0, seconds=0.1, waited=0.0
                    )
                )

            call = await Tape(log, past.calls).call(ModelRequest(role="main"), perform, step=0, used=BudgetUsed)
            return call.result

    live, replayed = anyio.run(work), anyio.run(work)
    assert live == replayed
    arguments = live.reply.message.tool_calls[0].arguments
    assert arguments == {"nan": None, "tuple": [1, 2], "text": "half of a smile: ?"}


def test_an_agent_whose_log_is_too_large_makes_no_more_calls(tmp_path: Path):
    agent = Agent(tmp_path / "log", max_size=10_000)
    with pytest.raises(LogTooLarge):
        anyio.run(agent.work, [("x" * 1_000, False)] * 100)
    assert len(agent.done) < 20
    assert (tmp_path / "log").stat().st_size < 20_000
    with EventLog(tmp_path / "log", 1) as log:  # the end of the trial is still recorded
        assert log.append(STARTED).number == len(read_events(tmp_path / "log")) - 1


def test_calls_that_ran_at_once_are_replayed_in_the_order_in_which_they_ended(tmp_path: Path) -> None:
    async def work(wait: bool) -> list[str]:
        ended, over = list[str](), anyio.Event()
        past = past_of(read_events(tmp_path / "log")).calls
        with EventLog(tmp_path / "log", 1) as log:
            log.append(STARTED)
            tape = Tape(log, past)

            async def call(lane: str) -> None:
                async def perform() -> NoteResult:
                    assert wait, "it is carried out again"
                    await over.wait() if lane == "slow" else over.set()
                    return NoteResult()

                await tape.call(NoteRequest(topic=lane), perform, step=0, used=BudgetUsed, lane=lane)
                ended.append(lane)

            async with anyio.create_task_group() as tasks:
                for lane in ("slow", "fast"):
                    tasks.start_soon(call, lane)
        return ended

    assert anyio.run(work, True) == ["fast", "slow"] == anyio.run(work, False)


def test_a_reply_in_a_lane_is_kept_when_the_main_lane_is_interrupted_after_a_change(tmp_path: Path) -> None:
    async def done() -> NoteResult:
        return NoteResult()

    async def work() -> None:
        with EventLog(tmp_path / "log", 1) as log:
            log.append(STARTED)
            tape = Tape(log)
            for topic, lane, changes in (("write", "", True), ("ask", "lane", False), ("after", "", False)):
                request = NoteRequest(topic=topic)
                await tape.call(request, done, step=0, used=BudgetUsed, changes=changes, lane=lane)

    anyio.run(work)
    assert [call.request.topic for call in past_of(read_events(tmp_path / "log")).calls] == ["ask"]
