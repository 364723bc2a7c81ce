"""The model endpoint of outside agents: their wire formats in front, the trial's models, budget and record behind."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import anyio

from assay.agents.external.http import Request, Response, json_response
from assay.agents.external.protocols.anthropic import AnthropicMessages
from assay.agents.external.protocols.base import LETTERS_PER_TOKEN, Malformed, Question, Wire, letters
from assay.agents.external.protocols.gemini import Gemini
from assay.agents.external.protocols.openai_chat import OpenAIChat
from assay.agents.external.protocols.openai_responses import OpenAIResponses
from assay.agents.workbench import Workbench
from assay.core.errors import ModelError, PromptTooLong, UsageError
from assay.models import MAIN, Message, Reply
from assay.records import OutOfBudget

AT_ONCE = 8
MOST_VALIDATIONS = 1_000
MOST_NAMES = 20
FAULTS_IN_A_ROW = 5
# No client that takes this seriously asks again.
FOR_GOOD = {"x_should_retry": "false"}


@dataclass(frozen=True)
class _Route:
    """What a path means: in which format somebody asks, and what for."""

    wire: Wire
    counts_only: bool = False
    streamed: bool | None = None
    model: str | None = None


class Endpoint:
    """Answers requests of an outside agent; every question to a model is a step of the trial.

    `validate` says what is wrong with the submission's form. When something of the budget is spent, or the model cannot
    be reached, `over` is set and `ended_by` says why: then the agent is to be ended.
    """

    def __init__(self, bench: Workbench, validate: Callable[[], Awaitable[str | None]]) -> None:
        self.over = anyio.Event()
        self.ended_by: OutOfBudget | ModelError | None = None
        self._bench = bench
        self._validate = validate
        self._validations = 0
        self._faults = 0
        self._at_once = anyio.CapacityLimiter(AT_ONCE)
        self._clients: set[tuple[str, str]] = set()
        self._said: dict[str, Message] = {}

    async def respond(self, request: Request) -> Response:
        """The answer to a request, whatever it is."""
        path = request.path.rstrip("/")
        if path.endswith("/validate"):
            return await self._checked()
        if request.method in ("GET", "HEAD") and path.endswith("/models"):
            return json_response(200, _models())
        route = _route(path)
        if route is None:
            return json_response(404, {"error": {"message": f"there is nothing at {path[:200]}"}})
        if request.method != "POST":
            return json_response(405, route.wire.error(405, "ask with POST"))
        try:
            asked = _read(route, request.body)
        except Malformed as error:
            return json_response(400, route.wire.error(400, str(error)))
        if route.counts_only:
            return json_response(200, _counted(route.wire, letters(asked) // LETTERS_PER_TOKEN))
        return await self._answer(route.wire, asked)

    async def _answer(self, wire: Wire, asked: Question) -> Response:
        try:
            async with self._at_once:
                reply = await self._ask(wire, asked)
        except OutOfBudget as spent:
            self._end(spent)
            return json_response(402, wire.error(402, f"the budget of this trial is spent: {spent}"), **FOR_GOOD)
        except PromptTooLong:
            return json_response(400, wire.error(400, "the prompt is too long for the model"), **FOR_GOOD)
        except UsageError as error:
            return json_response(400, wire.error(400, str(error)))
        except ModelError as error:
            self._faults += 1
            if self._faults >= FAULTS_IN_A_ROW:
                self._end(error)
            return json_response(502, wire.error(502, "the model could not be reached"))
        self._faults = 0
        if asked.streamed:
            return Response(200, "text/event-stream", wire.pieces(reply, asked), {"cache-control": "no-cache"})
        return json_response(200, wire.whole(reply, asked))

    async def _ask(self, wire: Wire, asked: Question) -> Reply:
        if self.ended_by is not None:
            raise self.ended_by
        client = (wire.name, asked.model[:200])
        if client not in self._clients and len(self._clients) < MOST_NAMES:
            self._clients.add(client)
            await self._bench.note("client", wire=wire.name, model=client[1])
        self._bench.clock.step()
        messages = [self._as_it_was(message) for message in asked.messages]
        reply = await self._bench.ask(MAIN, messages, asked.tools, choice=asked.choice, faults_count=True)
        self._said[_key(reply.message)] = reply.message
        return reply

    def _as_it_was(self, message: Message) -> Message:
        """What the model said before with all that belonged to it, which clients do not repeat."""
        return self._said.get(_key(message), message) if message.role == "assistant" else message

    async def _checked(self) -> Response:
        self._validations += 1
        if self._validations > MOST_VALIDATIONS:
            return json_response(429, {"result": f"the form was checked {MOST_VALIDATIONS} times; that is enough"})
        fault = await self._validate()
        told = "Submission is valid." if fault is None else f"Submission invalid! {fault}"
        return json_response(200, {"result": told, "valid": fault is None})

    def _end(self, why: OutOfBudget | ModelError) -> None:
        self.ended_by = self.ended_by or why
        self.over.set()


def _route(path: str) -> _Route | None:
    if path.endswith("/chat/completions"):
        return _Route(OpenAIChat())
    if path.endswith("/responses"):
        return _Route(OpenAIResponses())
    if path.endswith("/messages/count_tokens"):
        return _Route(AnthropicMessages(), counts_only=True)
    if path.endswith("/messages"):
        return _Route(AnthropicMessages())
    model, _, what = path.rpartition("/")[2].partition(":")
    if what in ("generateContent", "streamGenerateContent", "countTokens"):
        return _Route(Gemini(), what == "countTokens", what == "streamGenerateContent", model)
    return None


def _read(route: _Route, body: bytes) -> Question:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("the body is not JSON") from None
    if not isinstance(content, dict):
        raise Malformed("the body is not a JSON object")
    try:
        asked = route.wire.question(content)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"the body is not what it should be: {type(error).__name__}") from None
    if route.model is not None:
        asked = replace(asked, model=route.model, streamed=bool(route.streamed))
    return asked


def _counted(wire: Wire, tokens: int) -> dict[str, int]:
    return {"totalTokens": tokens} if wire.name == Gemini.name else {"input_tokens": tokens}


def _models() -> dict[str, object]:
    model = {"id": MAIN, "object": "model", "type": "model", "display_name": MAIN, "created": 0, "owned_by": "lab"}
    return {"object": "list", "data": [model], "has_more": False, "first_id": MAIN, "last_id": MAIN}


def _key(message: Message) -> str:
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return json.dumps([message.text, calls], sort_keys=True)
