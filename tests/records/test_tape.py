"""A tape plays back what was done, and does again what a crash interrupted."""

from pathlib import Path

import anyio
import pytest

from assay.records import EventLog, read_events
from assay.records.tape import Diverged, Past, Tape, past_of


class Agent:
    """Does what a list says, one deed after the other, and keeps the workspace after each change."""

    def __init__(self, path: Path, *, die_before: int | None = None) -> None:
        self.path = path
        self.done: list[str] = []
        self.die_before = die_before

    async def work(self, deeds: list[tuple[str, bool]], *, snapshots: bool = True) -> list[str]:
        past = past_of(read_events(self.path)) if self.path.exists() else Past()
        results = []
        with EventLog(self.path, 1) as log:
            log.append("started")
            tape = Tape(log, past.deeds)
            for number, (what, changes) in enumerate(deeds):

                async def do(what: str = what, number: int = number) -> dict[str, str]:
                    if number == self.die_before:
                        raise KeyboardInterrupt
                    self.done.append(what)
                    return {"of": f"{what} {number}"}

                deed = await tape.deed(what, {"arg": what}, do, changes=changes, used=lambda n=number: {"steps": n})
                results.append(deed.result["of"])
                if changes and snapshots and not tape.playing:
                    tape.kept(f"snapshot-{number}", number)
        return results


DEEDS = [("ask", False), ("run", True), ("ask", False), ("ask", False), ("run", True), ("ask", False)]
RESULTS = ["ask 0", "run 1", "ask 2", "ask 3", "run 4", "ask 5"]


@pytest.mark.parametrize("die_before", range(6))
def test_a_trial_that_is_taken_up_again_does_only_what_was_not_done(tmp_path: Path, die_before: int) -> None:
    first = Agent(tmp_path / "log", die_before=die_before)
    with pytest.raises(KeyboardInterrupt):
        anyio.run(first.work, DEEDS)
    second = Agent(tmp_path / "log")
    assert anyio.run(second.work, DEEDS) == RESULTS
    assert first.done + second.done == [what for what, _ in DEEDS]


def test_a_change_without_a_snapshot_is_done_again_and_so_is_what_followed(tmp_path: Path) -> None:
    first = Agent(tmp_path / "log", die_before=3)

    async def without_snapshots() -> None:
        await first.work(DEEDS, snapshots=False)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(without_snapshots)
    past = past_of(read_events(tmp_path / "log"))
    assert [deed.what for deed in past.deeds] == ["ask"]
    assert past.snapshot is None


def test_interrupted_many_times_over_it_still_comes_to_the_same_end(tmp_path: Path) -> None:
    done = []
    for die_before in (1, 2, 2, 4, 5, None):
        agent = Agent(tmp_path / "log", die_before=die_before)
        try:
            assert anyio.run(agent.work, DEEDS) == RESULTS
        except KeyboardInterrupt:
            assert die_before is not None
        done += agent.done
    assert done == [what for what, _ in DEEDS]


def test_an_agent_that_asks_for_something_else_is_noticed(tmp_path: Path) -> None:
    anyio.run(Agent(tmp_path / "log").work, DEEDS)
    with pytest.raises(Diverged, match="it asked for run, last time for ask"):
        anyio.run(Agent(tmp_path / "log").work, DEEDS[::-1][1:])


def test_the_past_up_to_a_step_ends_with_its_snapshot(tmp_path: Path) -> None:
    anyio.run(Agent(tmp_path / "log").work, DEEDS)
    past = past_of(read_events(tmp_path / "log"), up_to_step=1)
    assert [deed.what for deed in past.deeds] == ["ask", "run"]
    assert past.snapshot == "snapshot-1"


def test_what_is_done_side_by_side_is_played_back_by_lane(tmp_path: Path) -> None:
    async def work(order: list[str]) -> dict[str, str]:
        past = past_of(read_events(tmp_path / "log")) if (tmp_path / "log").exists() else Past()
        with EventLog(tmp_path / "log", 1) as log:
            log.append("started")
            tape = Tape(log, past.deeds)

            async def in_lane(lane: str) -> str:
                async def do() -> dict[str, str]:
                    return {"lane": lane}

                deed = await tape.deed("ask", {}, do, changes=False, used=dict, lane=lane)
                return str(deed.result["lane"])

            return {lane: await in_lane(lane) for lane in order}

    anyio.run(work, ["a", "b", "c"])
    assert anyio.run(work, ["c", "a", "b"]) == {"c": "c", "a": "a", "b": "b"}
