"""The model endpoint of external agents: their wire formats in front; the trial's models, budget and record behind."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import anyio
from anyio import to_thread

from assay.agents.external.http import MAX_BODY, HttpRequest, HttpResponse, json_response, read_upload
from assay.agents.external.protocols import (
    AnthropicMessages,
    ClientRequest,
    Gemini,
    Malformed,
    OpenAIChat,
    OpenAIResponses,
    RequestLimits,
    WireProtocol,
)
from assay.agents.external.protocols.base import CHARACTERS_PER_TOKEN, count_characters
from assay.agents.workbench import Workbench
from assay.core.errors import ModelError, PromptTooLong, RequestRejected, UsageError
from assay.models import MAIN, Message, Reply
from assay.records import OutOfBudget
from assay.records.events import OfferResult
from assay.records.selection import MAX_CANDIDATES

MAX_CONCURRENT = 8
MAX_VALIDATIONS = 100
"""Each answer tells an agent a bit about hidden data where the rules depend on it."""
MAX_NOTED_CLIENTS = 20
MAX_CONSECUTIVE_ERRORS = 5
# Well-behaved clients do not retry a response with this header.
NO_RETRY = {"x_should_retry": "false"}


@dataclass(frozen=True)
class _Route:
    """What a path means: the wire format, and what is requested."""

    protocol: WireProtocol
    counts_tokens: bool = False
    streamed: bool | None = None
    model: str | None = None


class Endpoint:
    """Answers requests of an external agent; every request to a model is a step of the trial.

    `validate` returns what is wrong with the format of the submission, or of one that the agent sent; `offer` makes the
    submission a candidate. When the budget is spent or the model is unavailable, `over` is set and `ended_by` says why:
    the agent must then be stopped.
    """

    def __init__(
        self,
        bench: Workbench,
        validate: Callable[[bytes | None], Awaitable[str | None]],
        *,
        offer: Callable[[], Awaitable[OfferResult]] | None = None,
        pass_sampling: bool = True,
    ) -> None:
        self.over = anyio.Event()
        self.ended_by: OutOfBudget | ModelError | None = None
        self._bench = bench
        self._validate = validate
        self._offer = offer or bench.offer
        self._pass_sampling = pass_sampling
        self._validations = self._offers = 0
        self._errors = 0
        self._slots = anyio.CapacityLimiter(MAX_CONCURRENT)
        self._validating = anyio.Lock()
        self._clients: set[tuple[str, str]] = set()
        self._replies: dict[str, Message] = {}

    async def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to any request."""
        path = request.path.rstrip("/")
        if path.endswith("/validate"):
            return await self._respond_validation(request)
        if request.method in ("GET", "HEAD") and path.endswith("/health"):
            return json_response(200, {"status": "running"})
        if path.endswith("/offer"):
            self._offers += 1
            if self._offers > MAX_CANDIDATES:
                return json_response(429, {"result": f"at most {MAX_CANDIDATES} offers are answered"})
            return json_response(200, {"result": (await self._offer()).reply})
        if request.method in ("GET", "HEAD") and path.endswith("/models"):
            return json_response(200, _list_models())
        if len(request.body) > MAX_BODY:
            message = f"the body of a request is limited to {MAX_BODY:,} bytes"
            return json_response(413, {"error": {"message": message}})
        route = _find_route(path)
        if route is None:
            return json_response(404, {"error": {"message": f"there is no endpoint at {path[:200]}"}})
        if request.method != "POST":
            return json_response(405, route.protocol.format_error(405, "use POST"))
        async with self._slots:
            # Parsing is bounded, but a large body may take a moment: the event loop must not wait for it.
            try:
                parsed = await to_thread.run_sync(_parse, route, request.body)
            except Malformed as error:
                return json_response(400, route.protocol.format_error(400, str(error)))
            if route.counts_tokens:
                return json_response(200, _format_token_count(route.protocol, parsed))
            return await self._respond_model(route.protocol, parsed, request.role)

    async def _respond_model(self, protocol: WireProtocol, request: ClientRequest, role: str) -> HttpResponse:
        try:
            reply = await self._ask(protocol, request, self._find_role(role, request.model))
        except OutOfBudget as error:
            self._end(error)
            message = f"the budget of this trial is spent: {error}"
            return json_response(402, protocol.format_error(402, message), **NO_RETRY)
        except PromptTooLong:
            message = "the prompt is too long for the model"
            return json_response(400, protocol.format_error(400, message, too_long=True), **NO_RETRY)
        except (UsageError, RequestRejected) as error:
            # What the client sends is the client's responsibility: no number of such errors is an outage.
            return json_response(400, protocol.format_error(400, str(error)), **NO_RETRY)
        except ModelError as error:
            self._errors += 1
            if self._errors >= MAX_CONSECUTIVE_ERRORS:
                self._end(error)
            return json_response(502, protocol.format_error(502, "the model is unavailable"))
        self._errors = 0
        if request.streamed:
            stream = protocol.stream_reply(reply, request)
            return HttpResponse(200, "text/event-stream", stream, {"cache-control": "no-cache"})
        return json_response(200, protocol.format_reply(reply, request))

    def _find_role(self, *names: str) -> str:
        """Return the role that a request is for: the first name that is one, else the main role.

        Clients name a role in the header `x-assay-role` or as the model. Only roles with a model of their own count.
        """
        known = self._bench.model_roles
        return next((role for name in names if (role := name.rpartition("/")[2]) in known), MAIN)

    async def _ask(self, protocol: WireProtocol, request: ClientRequest, role: str) -> Reply:
        if self.ended_by is not None:
            raise self.ended_by
        client = (protocol.name, request.model[:200])
        if client not in self._clients and len(self._clients) < MAX_NOTED_CLIENTS:
            self._clients.add(client)
            await self._bench.note("client", protocol=client[0], model=client[1])
        self._bench.clock.step()
        messages = [self._restore(message) for message in request.messages]
        reply = await self._bench.ask(
            role,
            messages,
            request.tools,
            tool_choice=request.choice,
            sampling=request.sampling if self._pass_sampling else None,
            record_failures=True,
        )
        self._replies[_message_key(reply.message)] = reply.message
        return reply

    def _restore(self, message: Message) -> Message:
        """Return an earlier reply with all that belongs to it, such as reasoning, which clients do not repeat."""
        return self._replies.get(_message_key(message), message) if message.role == "assistant" else message

    async def _respond_validation(self, request: HttpRequest) -> HttpResponse:
        """Check the file that is sent as the field `file` of a form, or without a body the trial's submission."""
        self._validations += 1
        if self._validations > MAX_VALIDATIONS:
            message = f"the format may be checked at most {MAX_VALIDATIONS} times"
            return json_response(429, {"result": message})
        async with self._validating:  # one at a time: a large file takes the memory and time of the harness
            sent = await to_thread.run_sync(read_upload, request.content_type, request.body) if request.body else None
            if request.body and sent is None:
                return json_response(400, {"error": "send the submission as the field `file` of a form"})
            reason = await self._validate(sent)
        result = "Submission is valid." if reason is None else f"Submission invalid! {reason}"
        return json_response(200, {"result": result, "valid": reason is None})

    def _end(self, error: OutOfBudget | ModelError) -> None:
        self.ended_by = self.ended_by or error
        self.over.set()


def _find_route(path: str) -> _Route | None:
    if path.endswith("/chat/completions"):
        return _Route(OpenAIChat())
    if path.endswith("/responses"):
        return _Route(OpenAIResponses())
    if path.endswith("/messages/count_tokens"):
        return _Route(AnthropicMessages(), counts_tokens=True)
    if path.endswith("/messages"):
        return _Route(AnthropicMessages())
    model, _, method = path.rpartition("/")[2].partition(":")
    if method in ("generateContent", "streamGenerateContent", "countTokens"):
        return _Route(Gemini(), method == "countTokens", method == "streamGenerateContent", model)
    return None


def _parse(route: _Route, body: bytes) -> ClientRequest:
    limits = RequestLimits()
    content = limits.load_json(body)
    if not isinstance(content, dict):
        raise Malformed("the body is not a JSON object")
    try:
        request = route.protocol.parse_request(content, limits)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"the body does not follow the format: {type(error).__name__}") from None
    if route.model is not None:
        request = replace(request, model=route.model, streamed=bool(route.streamed))
    return request


def _format_token_count(protocol: WireProtocol, request: ClientRequest) -> dict[str, int]:
    tokens = count_characters(request) // CHARACTERS_PER_TOKEN
    return {"totalTokens": tokens} if protocol.name == Gemini.name else {"input_tokens": tokens}


def _list_models() -> dict[str, object]:
    model = {"id": MAIN, "object": "model", "type": "model", "display_name": MAIN, "created": 0, "owned_by": "lab"}
    return {"object": "list", "data": [model], "has_more": False, "first_id": MAIN, "last_id": MAIN}


def _message_key(message: Message) -> str:
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return json.dumps([message.text, calls], sort_keys=True)
