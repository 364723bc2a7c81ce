"""Prompts of model calls in the log: each message is stored once, and whole prompts can be restored.

A conversation grows by a few messages with each call. So a call stores only the messages that follow those it shares
with an earlier call; a message that is a model's earlier reply is a reference to it; and an observation that a message
quotes is stored with its action only. The log of a conversation therefore grows linearly with its length.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.core.errors import RecordError
from assay.models.messages import Message, Tool
from assay.records.events import (
    ActionResult,
    CallFinished,
    CallStarted,
    Event,
    ModelRequest,
    ModelResult,
    Quote,
    QuotingMessage,
    ReplyOf,
    StoredMessage,
)

_RECENT_CALLS = 8
"""How many earlier prompts a new one is compared with: this many conversations can grow concurrently."""
_RECENT_TEXTS = 32
_MAX_QUOTES = 1_000
_MAX_QUOTED = 50_000_000
"""Limits on what a message of an untrusted log may expand to."""
_MIN_QUOTE = 200
"""Shorter observations are repeated: a reference would save nothing."""


class Prompts:
    """Restores the prompts of a log."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._requests: dict[int, ModelRequest] = {}
        self._lengths: dict[int, int] = {}
        self._replies: dict[int, Message] = {}
        self._observations: dict[int, str] = {}
        for event in events:
            self._add(event)

    @property
    def calls(self) -> tuple[int, ...]:
        """The numbers of all model calls, in order."""
        return tuple(self._requests)

    def messages(self, call: int) -> tuple[Message, ...]:
        """Return the whole prompt of a model call."""
        parts: list[tuple[StoredMessage, ...]] = []
        number: int | None = call
        length = self._length(call)
        while number is not None and length:
            request = self._requests[number]
            parts.append(request.messages[: length - request.shared] if length > request.shared else ())
            number, length = request.base, min(length, request.shared)
        return tuple(self._restore(message) for part in reversed(parts) for message in part)

    def tools(self, call: int) -> tuple[Tool, ...]:
        """Return the tools that a model call offered."""
        number: int | None = call
        while number is not None:
            request = self._requests[number]
            if request.tools is not None:
                return request.tools
            number = request.base
        return ()

    def reply(self, call: int) -> Message | None:
        """Return the message with which the model replied to a call."""
        return self._replies.get(call)

    def recent_observations(self) -> list[tuple[int, str]]:
        """Return the last observations that messages may quote."""
        return list(self._observations.items())[-_RECENT_TEXTS:]

    def _add(self, event: Event) -> None:
        if isinstance(event, CallStarted) and isinstance(event.request, ModelRequest):
            request = event.request
            known = self._length(request.base) if request.base is not None else 0
            if not 0 <= request.shared <= known:
                raise RecordError(f"event {event.number} shares {request.shared} messages of a call that has {known}")
            self._requests[event.number] = request
            self._lengths[event.number] = request.shared + len(request.messages)
        elif isinstance(event, CallFinished):
            if isinstance(event.result, ModelResult) and event.result.reply:
                self._replies[event.call] = event.result.reply.message
            elif isinstance(event.result, ActionResult):
                self._observations[event.call] = event.result.observation

    def _length(self, call: int) -> int:
        if call not in self._lengths:
            raise RecordError(f"event {call} is not a model call")
        return self._lengths[call]

    def _restore(self, stored: StoredMessage) -> Message:
        try:
            if isinstance(stored, ReplyOf):
                return self._replies[stored.reply_of]
            if isinstance(stored, QuotingMessage):
                text = stored.message.text
                added = sum(len(self._observations[quote.call]) for quote in stored.quotes)
                if len(stored.quotes) > _MAX_QUOTES or added > _MAX_QUOTED:
                    raise RecordError(f"a message quotes {len(stored.quotes):,} observations of {added:,} characters")
                for quote in reversed(stored.quotes):
                    text = text[: quote.at] + self._observations[quote.call] + text[quote.at :]
                return stored.message.model_copy(update={"text": text})
        except KeyError as missing:
            raise RecordError(f"a message refers to event {missing}, which has no such result") from None
        return stored


@dataclass(frozen=True)
class _Known:
    """A prompt that is in the log already."""

    call: int
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]


class PromptRecorder:
    """Turns prompts into requests that store each message once; a resumed trial starts it with the prompts so far."""

    def __init__(self, past: Prompts | None = None) -> None:
        self._known: deque[_Known] = deque(maxlen=_RECENT_CALLS)
        self._replies: deque[tuple[int, Message]] = deque(maxlen=_RECENT_TEXTS)
        self._observations: deque[tuple[int, str]] = deque(maxlen=_RECENT_TEXTS)
        if past is not None:
            for call in past.calls[-_RECENT_CALLS:]:
                self._known.append(_Known(call, past.messages(call), past.tools(call)))
            for call in past.calls[-_RECENT_TEXTS:]:
                if reply := past.reply(call):
                    self._replies.append((call, reply))
            for call, text in past.recent_observations():
                self.add_observation(call, text)

    def request(
        self, role: str, messages: Sequence[Message], tools: Sequence[Tool], tool_choice: str | None
    ) -> ModelRequest:
        """Return the request for a prompt, without what the log has of it."""
        base, shared = None, 0
        for known in reversed(self._known):
            count = _count_shared(known.messages, messages)
            if count > shared:
                base, shared = known, count
        same_tools = base is not None and base.tools == tuple(tools)
        return ModelRequest(
            role=role,
            base=base.call if base else None,
            shared=shared,
            messages=tuple(self._store(message) for message in messages[shared:]),
            tools=None if same_tools else tuple(tools),
            tool_choice=tool_choice,
        )

    def add_prompt(self, call: int, messages: Sequence[Message], tools: Sequence[Tool]) -> None:
        """Take note that a prompt is in the log as event `call`."""
        self._known.append(_Known(call, tuple(messages), tuple(tools)))

    def add_reply(self, call: int, message: Message) -> None:
        """Take note that the reply to a call is in the log."""
        self._replies.append((call, message))

    def add_observation(self, call: int, text: str) -> None:
        """Take note that the observation of an action is in the log."""
        if len(text) >= _MIN_QUOTE:
            self._observations.append((call, text))

    def _store(self, message: Message) -> StoredMessage:
        if message.role == "assistant":
            for call, reply in reversed(self._replies):
                if reply is message or reply == message:
                    return ReplyOf(reply_of=call)
        text, quotes = message.text, []
        for call, observation in reversed(self._observations):
            at = text.find(observation)
            if at >= 0:
                text = text[:at] + text[at + len(observation) :]
                quotes.append(Quote(call=call, at=at))
        if not quotes:
            return message
        return QuotingMessage(message=message.model_copy(update={"text": text}), quotes=tuple(quotes))


def _count_shared(known: Sequence[Message], messages: Sequence[Message]) -> int:
    count = 0
    for message, other in zip(known, messages, strict=False):
        if message is not other and message != other:
            break
        count += 1
    return count
