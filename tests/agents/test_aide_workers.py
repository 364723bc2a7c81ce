"""Labs that do not wait for each other: which one gets the next node, and what happens when one fails."""

from dataclasses import dataclass, field

import anyio
import pytest

from assay.agents.aide.workers import keep_busy


@dataclass
class Work:
    """Jobs that end when they are told to; `ends` has the order, `broken` those that fail."""

    count: int
    ends: list[int]
    broken: tuple[int, ...] = ()
    begun: list[tuple[int, int]] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)
    signals: dict[int, anyio.Event] = field(default_factory=dict)

    async def start(self, lab):
        number = len(self.begun)
        if number == self.count:
            return None
        self.begun.append((number, lab))
        self.signals[number] = anyio.Event()
        self._end_next()

        async def job():
            await self.signals[number].wait()
            if number in self.broken:
                self._end_next()
                raise ValueError(number)
            return number

        return job

    async def finish(self, number):
        self.finished.append(number)
        self._end_next()

    def _end_next(self):
        if self.ends and self.ends[0] in self.signals:
            self.signals[self.ends.pop(0)].set()


@pytest.mark.anyio
async def test_a_slow_job_holds_up_its_own_lab_only():
    work = Work(count=5, ends=[1, 2, 3, 4, 0])
    await keep_busy(2, work)
    assert work.begun == [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert work.finished == [1, 2, 3, 4, 0]


@pytest.mark.anyio
async def test_after_a_failure_nothing_starts_and_what_runs_is_finished():
    work = Work(count=9, ends=[1, 0], broken=(1,))
    with pytest.raises(ValueError, match="1"):
        await keep_busy(2, work)
    assert len(work.begun) == 2 and work.finished == [0]
