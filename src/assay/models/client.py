"""The models of a trial, by role."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from assay.core.errors import MissingDependency, UsageError
from assay.models.messages import Message, Reply, Tool, Usage
from assay.models.prices import Prices
from assay.models.scripted import PREFIX, ScriptedClient
from assay.models.server_checks import check_name, check_provider, check_reachable, check_responses_api
from assay.models.settings import MAIN, OTHERS, ModelSettings, Sampling

if TYPE_CHECKING:
    from assay.models.inspect_client import InspectClient

# Importing the client library of one of these takes longer than a small trial.
_PRELOADED_PROVIDERS = {"openai", "anthropic", "google"}


class Models:
    """Models by role: `main`, and any others the agent uses (`fast`, `edit`, `review`).

    A role without a model uses the main model. A role without settings uses those of `*`, or else the main settings. A
    single `ModelSettings` applies to all roles.

    Requests are counted per model, because a scripted model answers by number. When a trial is resumed, `remember` is
    called with each recorded reply, so that the count continues where it was.

    While a model has `trouble` and requests are retried, `report` is called with the reason, and with None once it
    replies again.
    """

    def __init__(
        self,
        roles: Mapping[str, str],
        settings: Mapping[str, ModelSettings] | ModelSettings | None = None,
        *,
        prices: Prices,
        report: Callable[[str | None], None] = lambda trouble: None,
    ) -> None:
        if MAIN not in roles:
            raise UsageError("No model given; pass --model PROVIDER/MODEL, e.g. openai/gpt-5")
        self._roles = dict(roles)
        self._settings = {MAIN: settings} if isinstance(settings, ModelSettings) else dict(settings or {})
        self._prices = prices
        self._requests: Counter[str] = Counter()
        self._clients: dict[str, InspectClient | ScriptedClient] = {}
        self._report = report
        self.trouble: str | None = None

    @property
    def roles(self) -> frozenset[str]:
        """The roles that have a model of their own."""
        return frozenset(self._roles)

    def name(self, role: str) -> str:
        """Return the name of the model in a role."""
        return self._roles.get(role, self._roles[MAIN])

    def settings(self, role: str) -> ModelSettings:
        """Return the settings of the model in a role."""
        return self._settings.get(role) or self._settings.get(OTHERS) or self._settings.get(MAIN) or ModelSettings()

    def check(self) -> None:
        """Set up the client of every model; `UsageError` says what is missing.

        No request is sent to a model, so an API key that is present may still be rejected later.
        """
        for role in self._checked_roles():
            check_name(self.name(role))
        for role in self._checked_roles():
            self._client(role)
            check_responses_api(self.name(role), self.settings(role))

    def check_servers(self) -> None:
        """Raise `ModelUnavailable` if the server of a model cannot be reached; asking it costs nothing."""
        names = {self._client(role).address: self.name(role) for role in self._checked_roles()}
        for address, name in names.items():
            if address:
                check_reachable(name, address)

    def _checked_roles(self) -> list[str]:
        return sorted({*self._roles, *self._settings} - {OTHERS})

    async def ask(
        self,
        role: str,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        choice: str | None = None,
        sampling: Sampling | None = None,
    ) -> Reply:
        """Send a conversation to the model in a role and return its next message.

        `choice` is the name of a tool that the model must call, or `any` or `none`; by default the model decides.
        `sampling` applies to this request, as far as the settings of the role leave it open.
        Raises `PromptTooLong` if the conversation does not fit into the context of the model, and `ModelError` if the
        model cannot be reached or refuses to answer.
        """
        name = self.name(role)
        number = self._requests[name]
        self._requests[name] += 1
        reply = await self._client(role).ask(messages, tools, number, choice, sampling)
        self._set_trouble(None)
        return reply

    async def answers(self, role: str) -> bool:
        """Whether the model in a role answers a short prompt of the harness soon; this counts as no request."""
        return await self._client(role).answers(max(0, self._requests[self.name(role)] - 1))

    async def split_tokens(self, role: str, text: str) -> list[bytes] | None:
        """Return the tokens of a text, or None if the provider of the model does not say which they are."""
        return await self._client(role).split_tokens(text)

    def max_reply(self, role: str, asked: int | None = None) -> int | None:
        """Return the most tokens that a reply can have, if a request asks for at most `asked`; None if unknown."""
        from assay.models.convert import max_reply

        settings = self.settings(role)
        return asked if asked and settings.max_tokens is None else max_reply(settings, self.name(role))

    def estimate_cost(self, role: str, prompt_tokens: int, reply_tokens: int) -> tuple[float, float]:
        """Return what a prompt and a reply of these lengths cost in US dollars; an unknown price counts as 0."""
        name = self.name(role)
        prompt = self._prices.cost(name, Usage(input_tokens=prompt_tokens))
        reply = self._prices.cost(name, Usage(output_tokens=reply_tokens))
        return prompt or 0.0, reply or 0.0

    def remember(self, reply: Reply) -> None:
        """Count a reply from the record of the trial; counting it twice does no harm."""
        self._requests[reply.model] = max(self._requests[reply.model], reply.number + 1)

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.close()

    async def __aenter__(self) -> "Models":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _client(self, role: str) -> "InspectClient | ScriptedClient":
        name, settings = self.name(role), self.settings(role)
        key = f"{name} {settings.model_dump_json()}"
        if key not in self._clients and name.startswith(PREFIX):
            self._clients[key] = ScriptedClient(name, settings, self._prices, self._set_trouble)
        elif key not in self._clients:
            try:
                from assay.models.inspect_client import InspectClient
            except ImportError:
                check_provider(name)
                extra = "local" if name.startswith("local/") else "agents"
                raise MissingDependency("Calling a model", extra) from None
            self._clients[key] = InspectClient(name, settings, self._prices, self._set_trouble)
        return self._clients[key]

    def _set_trouble(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._report(trouble)


def modules_to_preload(models: Collection[str]) -> list[str]:
    """Return the modules that requests to these models use, for a process that others are forked from."""
    if all(name.startswith(PREFIX) for name in models):
        return []
    providers = sorted({name.partition("/")[0] for name in models} & _PRELOADED_PROVIDERS)
    return ["assay.models.preload", *(f"inspect_ai.model._providers.{provider}" for provider in providers)]
