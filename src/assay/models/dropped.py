"""Which settings the client of a provider does not send, found out by a request to a server on this machine."""

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio

from assay.core.errors import AssayError
from assay.models.client import Models
from assay.models.messages import Message
from assay.models.prices import Prices
from assay.models.settings import MAIN, OTHERS, ModelSettings

_SENT_AS = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    "stop": ("stop", "stop_sequences"),
    "seed": ("seed",),
}
_PROVIDERS = {"openai": "/v1", "openai-api": "/v1", "anthropic": ""}
"""Providers whose clients take the address of any server, and its path; hosted variants such as Azure do not."""


def find_dropped(roles: Mapping[str, str], settings: Mapping[str, ModelSettings]) -> dict[str, list[str]]:
    """Return the settings of each role that its model would not get; nothing is sent to a provider.

    Providers drop what a model does not support, such as the temperature of models that reason.
    """
    models = Models(roles, settings, prices=Prices())
    probes = {role: _Probe(models.name(role), models.settings(role)) for role in sorted({*roles, *settings} - {OTHERS})}
    distinct = list({probe.key: probe for probe in probes.values() if probe.possible}.values())
    if not distinct:
        return {}
    with _Listener() as listener, ThreadPoolExecutor(1) as thread:  # the caller may have an event loop of its own
        thread.submit(anyio.run, _ask_all, distinct, listener.address).result()
        sent = {probe.key: probe.find_request(listener.bodies) for probe in distinct}
    dropped = {role: probe.missing(sent.get(probe.key)) for role, probe in probes.items()}
    return {role: names for role, names in dropped.items() if names}


@dataclass(frozen=True)
class _Probe:
    """A request that shows what the client of a model sends."""

    name: str
    settings: ModelSettings

    @property
    def asked(self) -> list[str]:
        return [setting for setting in _SENT_AS if getattr(self.settings, setting) not in (None, ())]

    @property
    def key(self) -> str:
        return f"{self.name} {', '.join(self.asked)}"

    @property
    def possible(self) -> bool:
        provider, _, model = self.name.partition("/")
        hosted = model.startswith(("azure/", "bedrock/", "vertex/"))
        return bool(self.asked) and provider in _PROVIDERS and not hosted

    async def ask(self, address: str) -> None:
        changes = {"base_url": f"{address}{_PROVIDERS[self.name.partition('/')[0]]}", "max_retries": 0}
        options = {**self.settings.options, "api_key": "none"}
        settings = self.settings.model_copy(update={**changes, "options": options, "reasoning_summary": "none"})
        async with Models({MAIN: self.name}, settings, prices=Prices()) as models:
            with suppress(AssayError):  # the listener rejects every request
                await models.ask(MAIN, [Message(role="user", text=self.key)])

    def find_request(self, bodies: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        return next((body for body in bodies if self.key in json.dumps(body)), None)

    def missing(self, sent: Mapping[str, Any] | None) -> list[str]:
        if sent is None:
            return []
        return [name for name in self.asked if not any(sent.get(key) is not None for key in _SENT_AS[name])]


async def _ask_all(probes: Sequence[_Probe], address: str) -> None:
    async with anyio.create_task_group() as group:
        for probe in probes:
            group.start_soon(probe.ask, address)


class _Listener:
    """A server that keeps the bodies of requests and rejects them."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                reply = b'{"error": {"message": "not a model", "type": "invalid_request_error"}}'
                self.send_response(400)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, format: str, *values: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=partial(self._server.serve_forever, 0.05), daemon=True)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "_Listener":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
