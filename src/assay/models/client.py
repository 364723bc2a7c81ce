"""The models of a trial, by role."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from assay.core.errors import UsageError
from assay.models.cache import ReplyCache, question_of
from assay.models.messages import Message, Reply, Tool, Usage
from assay.models.prices import Prices
from assay.models.settings import ModelSettings

if TYPE_CHECKING:
    from assay.models.inspect_client import InspectClient

MAIN = "main"


class Models:
    """The models that an agent may ask, each in a role: `main`, and whatever else it knows (`fast`, `edit`, `review`).

    A role for which no model is set is played by the main one, and one for which no settings are given has the main
    one's. One set of settings holds for all roles.

    Replies can be cached in a folder; `epoch` tells trials apart there that would ask the same: give it the seed.
    Questions are counted by model, because the same question asked twice is two questions. Who takes a trial up again
    lets `remember` see the replies in its record, and the count goes on as if nothing had happened.
    """

    def __init__(
        self,
        roles: Mapping[str, str],
        settings: Mapping[str, ModelSettings] | ModelSettings | None = None,
        *,
        prices: Prices,
        cache: Path | None = None,
        epoch: int = 0,
    ) -> None:
        if MAIN not in roles:
            raise UsageError("no model is set; name one with --model PROVIDER/MODEL, such as openai/gpt-5")
        self._roles = dict(roles)
        self._settings = {MAIN: settings} if isinstance(settings, ModelSettings) else dict(settings or {})
        self._prices = prices
        self._cache = ReplyCache(cache) if cache else None
        self._epoch = epoch
        self._asked: Counter[str] = Counter()
        self._doors: dict[str, InspectClient] = {}

    def name(self, role: str) -> str:
        """The model that plays a role."""
        return self._roles.get(role, self._roles[MAIN])

    def settings(self, role: str) -> ModelSettings:
        """How the model in that role is asked."""
        return self._settings.get(role) or self._settings.get(MAIN) or ModelSettings()

    def check(self) -> None:
        """Find out before work begins whether every model can be asked: `UsageError` says what is missing.

        Nothing is sent: a key that is there may still be refused later.
        """
        for role in {*self._roles, *self._settings}:
            self._door(role)

    async def ask(
        self, role: str, messages: Sequence[Message], tools: Sequence[Tool] = (), *, choice: str | None = None
    ) -> Reply:
        """Put a conversation to the model in that role and return its next message.

        `choice` is the name of a tool that it must call, or `any` or `none` of them; otherwise it decides itself.
        `PromptTooLong` if the conversation does not fit into the model's context, `ModelError` if the model could not
        be reached or would not answer.
        """
        name, settings = self.name(role), self.settings(role)
        number = self._asked[name]
        self._asked[name] += 1
        question = ""
        if self._cache:
            question = question_of(name, settings, messages, tools, choice, epoch=self._epoch, number=number)
            if known := self._cache.get(question):
                paid = known.usage.model_copy(update={"cost": 0.0})
                return known.model_copy(update={"usage": paid, "seconds": 0.0, "waited": 0.0, "cached": True})
        door = self._door(role)
        answer = await door.ask(messages, tools, number, choice)
        usage = answer.usage or Usage()
        cost = self._prices.cost(name, usage) if answer.usage else None
        reply = Reply(
            message=answer.message,
            stop=answer.stop,
            usage=usage.model_copy(update={"cost": cost}),
            model=name,
            served=answer.served,
            number=number,
            seconds=round(answer.seconds, 3),
            waited=round(answer.waited, 3),
        )
        if self._cache:
            self._cache.put(question, reply)
        return reply

    def remember(self, reply: Reply) -> None:
        """Take note of a reply that was given before, in an earlier life of the trial; more than once does no harm."""
        self._asked[reply.model] = max(self._asked[reply.model], reply.number + 1)

    async def close(self) -> None:
        """Close all connections. The next question opens new ones."""
        doors, self._doors = list(self._doors.values()), {}
        for door in doors:
            await door.close()

    async def __aenter__(self) -> "Models":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _door(self, role: str) -> "InspectClient":
        name, settings = self.name(role), self.settings(role)
        key = f"{name} {settings.model_dump_json()}"
        if key not in self._doors:
            try:
                from assay.models.inspect_client import InspectClient
            except ImportError as error:
                raise UsageError(f"asking models needs more packages: pip install 'assay[agents]' ({error})") from None
            self._doors[key] = InspectClient(name, settings)
        return self._doors[key]
