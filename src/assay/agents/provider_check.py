"""Whose failure it is when a model does not answer: that of its provider, or that of the prompt.

A prompt can break a provider: it is answered with an internal error or refused by a firewall, or takes longer than the
timeout. Were that an outage, an agent could have a trial that goes badly repeated and left out of results.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from assay.core.errors import ModelError, RequestRejected

if TYPE_CHECKING:
    from assay.models import Models, Reply


class ProviderCheck:
    """Sends requests to models; after one that failed, only once the model has answered a prompt of the harness.

    If it does not, there is an outage, and the error is that of the provider. If it does and the next request fails as
    well, the requests are to blame: the error is `RequestRejected`. With `suspect`, an earlier attempt of the trial
    ended with such a failure. The harness's prompt waits until no request of the agent is under way, because those may
    be what keeps a model busy.
    """

    def __init__(self, *, suspect: bool = False) -> None:
        self.models_that_answered: set[str] = set()
        self._suspect = suspect
        self._under_way = 0
        self._changed = anyio.Condition()
        self._checking = anyio.Lock()
        self._checked_at, self._answered = 0.0, False

    async def ask(self, models: "Models", role: str, request: "Callable[[], Awaitable[Reply]]") -> "Reply":
        """Return the reply to a request."""
        failure: ModelError | None = None
        while True:
            suspect, began = self._suspect, time.monotonic()
            answered = suspect and await self._check(models, role, began)
            if failure and not answered:
                raise failure
            try:
                reply = await self._send(request)
            except RequestRejected:
                raise
            except ModelError as error:
                self._suspect, failure = True, error
                if answered:
                    name = models.name(role)
                    raise RequestRejected(f"{error}; {name} answers a test prompt, but not this one", name) from error
                if suspect:
                    raise
            else:
                self._suspect = False
                return reply

    async def _send(self, request: "Callable[[], Awaitable[Reply]]") -> "Reply":
        async with self._checking:  # none starts during a check
            self._under_way += 1
        try:
            return await request()
        finally:
            self._under_way -= 1
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._changed.notify_all()

    async def _check(self, models: "Models", role: str, since: float) -> bool:
        """Whether the model of a role answers a test prompt, which one of several waiting requests sends."""
        async with self._checking:
            if self._checked_at < since:
                async with self._changed:
                    while self._under_way:
                        await self._changed.wait()
                self._answered = await models.answers(role)
                self._checked_at = time.monotonic()
                if self._answered:
                    self.models_that_answered.add(models.name(role))
            return self._answered
