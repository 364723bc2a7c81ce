"""The model `scripted/PATH`: replies from a file, for tests and demonstrations.

`scripted/replies.json` answers the first request with the first reply of a JSON list, the second with the second, and
so on. The requests of one trial to this script are counted, in order; `Models` counts them, and continues the count
when a trial is resumed. So concurrent trials do not disturb each other, a resumed trial gets the replies it would have
got, and a summary in between has its place in the list. Roles that should not share a script get one each.

`scripted/brain.py:answer` calls the function `answer(messages, tools)` for each request. If it depends on nothing but
its arguments, its replies do not depend on the order of requests: use it for agents that make concurrent requests.

A reply is a text, or an object:

    text, reasoning   the content of the message
    tool_calls        a list of objects with `name`, `arguments` (text is parsed as JSON, and may be malformed) and `id`
    stop              the stop reason, if not the usual one
    usage             token counts as in `Usage`; by default, four characters count as one token
    top_logprobs      the log probabilities of the most likely first tokens, by token
    error             what goes wrong instead: "rate limit", "down", "refused" or "too long"
    times             how many attempts fail before the reply is given; by default, all of them
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from assay.core.errors import ModelError, PromptTooLong, UsageError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error
from assay.core.untrusted import find_unrecordable, replace_surrogates
from assay.models.errors import request_error
from assay.models.messages import Message, Reply, Stop, TokenLogprob, Tool, ToolCall, Usage
from assay.models.prices import Prices
from assay.models.settings import ModelSettings, Sampling
from assay.tasks import load_plugin

PREFIX = "scripted/"
CHARACTERS_PER_TOKEN = 4
STATUS_CODES = {"rate limit": 429, "down": 503, "refused": 401}
_RETRIED = ("rate limit", "down")


class ScriptedCall(Model):
    """A tool call in a script."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None


class ScriptedReply(Model):
    """One reply in a script."""

    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    top_logprobs: dict[str, float] | None = None
    error: Literal["rate limit", "down", "refused", "too long"] | None = None
    times: int | None = None


AnyReply = str | dict[str, Any] | ScriptedReply
ReplyFunction = Callable[[list[Message], list[Tool]], AnyReply]
REPLIES: TypeAdapter[list[str | ScriptedReply]] = TypeAdapter(list[str | ScriptedReply])


class ScriptedError(Exception):
    """An error from the script."""

    def __init__(self, error: str) -> None:
        super().__init__(f"the script says: {error}")
        self.status_code = STATUS_CODES[error]


class ScriptedClient:
    """A model that replies from a script. `report` is called with the reason before each retry of a request."""

    address = None
    """It has no server."""

    def __init__(
        self, name: str, settings: ModelSettings, prices: Prices, report: Callable[[str], None] = lambda trouble: None
    ) -> None:
        self._name, self._settings, self._prices, self._report = name, settings, prices, report
        path, _, function = name.removeprefix(PREFIX).partition(":")
        self._replies = () if function else read_replies(Path(path))
        self._function = load_function(Path(path), function) if function else None

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        number: int,
        choice: str | None = None,
        sampling: Sampling | None = None,
    ) -> Reply:
        """Return the reply to this request of the trial; its failures are retried like those of a provider."""
        started = time.monotonic()
        try:
            scripted = self._find_reply(messages, tools, number)
        except Exception as error:  # whatever the script's code raises means that there is no answer
            raise request_error(self._name, error) from error
        failing = 0 if scripted.error is None else scripted.times if scripted.times is not None else 10**9
        if failing and scripted.error == "too long":
            raise PromptTooLong(f"{self._name}: the conversation is too long for the model: says the script")
        if failing and scripted.error:
            allowed = self._settings.max_retries if scripted.error in _RETRIED else 0
            failure = ScriptedError(scripted.error)
            for attempt in range(min(failing, allowed)):
                self._report(f"{self._name}: retry {attempt + 1}, {failure}")
            if failing > allowed:
                raise request_error(self._name, failure, attempts=allowed + 1)
        usage = scripted.usage or _estimate_usage(scripted, messages)
        calls = tuple(_make_call(call, f"call-{number}-{index}") for index, call in enumerate(scripted.tool_calls))
        message = Message(role="assistant", text=scripted.text, tool_calls=calls, reasoning=scripted.reasoning or None)
        return Reply(
            message=Message.model_validate(replace_surrogates(message.model_dump())),
            stop=scripted.stop or ("tool_calls" if calls else "stop"),
            usage=usage.model_copy(update={"cost": self._prices.cost(self._name, usage)}),
            model=self._name,
            served=self._name.removeprefix(PREFIX),
            number=number,
            seconds=round(time.monotonic() - started, 3),
            waited=0.0,
            logprobs=_make_logprobs(scripted),
        )

    async def answers(self, number: int) -> bool:
        """Whether the script answers this request, whatever is asked."""
        try:
            reply = await self.ask([Message(role="user", text="Reply with the word OK.")], (), number)
        except (ModelError, PromptTooLong):
            return False
        return not reply.cut_off_before_content

    async def split_tokens(self, text: str) -> list[bytes] | None:
        """Return None: a script has no tokens."""
        return None

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _find_reply(self, messages: Sequence[Message], tools: Sequence[Tool], number: int) -> ScriptedReply:
        if self._function:
            return _parse_reply(self._function(list(messages), list(tools)))
        if number >= len(self._replies):
            raise IndexError(f"the script has only {len(self._replies)} replies, and one more was requested")
        return self._replies[number]


def read_replies(path: Path) -> tuple[ScriptedReply, ...]:
    """Read the replies of a JSON script."""
    try:
        return tuple(_parse_reply(reply) for reply in REPLIES.validate_python(json.loads(path.read_text("utf-8"))))
    except OSError as error:
        raise UsageError(f"Cannot read script {path}: {error.strerror}") from None
    except ValidationError as error:
        raise UsageError(f"Script {path}: {describe_validation_error(error)}") from None
    except ValueError as error:
        raise UsageError(f"Script {path} is not JSON: {error}") from None


def load_function(path: Path, name: str) -> ReplyFunction:
    """Load the function of a Python script."""
    function: ReplyFunction | None = getattr(load_plugin(path), name, None)
    if not callable(function):
        raise UsageError(f"Script {path} defines no function {name}")
    return function


def _parse_reply(reply: AnyReply) -> ScriptedReply:
    if isinstance(reply, ScriptedReply):
        return reply
    return ScriptedReply(text=reply) if isinstance(reply, str) else ScriptedReply.model_validate(reply)


def _make_logprobs(reply: ScriptedReply) -> tuple[TokenLogprob, ...] | None:
    if not reply.top_logprobs:
        return None
    token, logprob = max(reply.top_logprobs.items(), key=lambda item: item[1])
    return (TokenLogprob(token=token, logprob=logprob, top=reply.top_logprobs),)


def _make_call(call: ScriptedCall, id: str) -> ToolCall:
    arguments, parse_error = call.arguments, None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            parse_error = f"{call.arguments!r} is not JSON: {error}"
        if not isinstance(arguments, dict):
            arguments, parse_error = {}, parse_error or f"{call.arguments!r} is not a JSON object"
    if reason := find_unrecordable(arguments):
        arguments, parse_error = {}, f"The arguments cannot be used: {reason}."
    return ToolCall(id=call.id or id, name=call.name, arguments=arguments, parse_error=parse_error)


def _estimate_usage(reply: ScriptedReply, messages: Sequence[Message]) -> Usage:
    written = len(reply.text) + len(reply.reasoning or "") + sum(len(str(call.arguments)) for call in reply.tool_calls)
    return Usage(
        input_tokens=sum(len(message.text) for message in messages) // CHARACTERS_PER_TOKEN,
        output_tokens=written // CHARACTERS_PER_TOKEN,
    )
