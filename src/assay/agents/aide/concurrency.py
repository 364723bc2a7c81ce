"""Several things done at once, all of them to their end."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

Result = TypeVar("Result")


async def side_by_side(jobs: Sequence[Callable[[], Awaitable[Result]]]) -> list[Result]:
    """What came of all jobs, in their order; where some failed, what the first of these raised.

    A failure does not cut the others short: a reply that was paid for must get into the record.
    """
    results: dict[int, Result] = {}
    failures: dict[int, Exception] = {}

    async def do(place: int, job: Callable[[], Awaitable[Result]]) -> None:
        try:
            results[place] = await job()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again below
            failures[place] = error

    async with anyio.create_task_group() as tasks:
        for place, job in enumerate(jobs):
            tasks.start_soon(do, place, job)
    if failures:
        raise failures[min(failures)]
    return [results[place] for place in sorted(results)]
