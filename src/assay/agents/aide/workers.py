"""Asynchronous search: several labs of their own, each of which gets another node as soon as its last one is done.

Which lab ends first is not known in advance, but it is in the record: a trial that is resumed gets the same results in
the same order, so that the policy chooses the same nodes again.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import anyio

T = TypeVar("T")
Job = Callable[[], Awaitable[T]]


class Crew(Protocol[T]):
    """What a search does with labs."""

    async def start(self, lab: int) -> Job[T] | None:
        """Choose what a free lab does next; None if there is nothing left to do."""
        ...

    async def finish(self, result: T) -> None:
        """Put the result of a lab to use, before anything else is chosen."""
        ...


async def keep_busy(labs: int, crew: Crew[T]) -> None:
    """Keep labs busy until there is nothing left to start.

    After the first error nothing is started; what runs then is finished, because it was paid for, and the error is
    raised.
    """
    free, errors = list(range(labs)), list[Exception]()
    send, receive = anyio.create_memory_object_stream[tuple[int, T | Exception]](labs)

    async def work(lab: int, job: Job[T]) -> None:
        try:
            result: T | Exception = await job()
        except Exception as error:  # noqa: BLE001 - raised below, whatever it is
            result = error
        send.send_nowait((lab, result))

    async with send, receive, anyio.create_task_group() as tasks:
        while True:
            try:
                while free and not errors and (job := await crew.start(free[0])):
                    tasks.start_soon(work, free.pop(0), job)
                if len(free) == labs:
                    break
                lab, result = await receive.receive()
                free = sorted([*free, lab])
                if isinstance(result, Exception):
                    raise result
                await crew.finish(result)
            except Exception as error:  # noqa: BLE001 - raised below, whatever it is
                errors.append(error)
    if errors:
        raise errors[0]
