"""Runs a GGUF model inside this process with llama.cpp (the package `xllamacpp`).

A model is loaded at its first use, once per process, and stays loaded until the process ends. It runs one request at a
time, on few threads and in a fixed context: what it needs in memory does not grow.
"""

import importlib.util
import json
import secrets
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import MissingDependency

SECONDS = 60.0


@dataclass(frozen=True)
class EngineSettings:
    """Which model is loaded, with how many tokens of context and on how many threads."""

    weights: Path
    context: int
    threads: int


class RejectedByEngine(Exception):
    """llama.cpp does not accept a request."""

    status_code = 400


class Engine:
    """A loaded model. Its methods block until they are done, and can be called from any thread."""

    def __init__(self, settings: EngineSettings) -> None:
        import xllamacpp

        self._grammar = xllamacpp.json_schema_to_grammar
        # llama.cpp also listens on a port of 127.0.0.1, which only we can use; we need it to split text into tokens.
        self._key = secrets.token_hex(16)
        options = xllamacpp.CommonParams()
        options.model.path = str(settings.weights)
        options.n_ctx = settings.context
        options.n_parallel = 1
        options.cpuparams.n_threads = options.cpuparams_batch.n_threads = settings.threads
        options.n_threads_http = 1
        options.cache_ram_mib = 0
        options.warmup = False
        options.verbosity = -1
        options.api_keys = [self._key]
        options.ui = options.endpoint_slots = options.endpoint_props = False
        self._server = xllamacpp.Server(options)

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for a chat completion, in OpenAI's format."""
        return self._check(self._call(self._server.handle_chat_completions, request))

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Continue a text without a chat template, in OpenAI's format."""
        return self._check(self._call(self._server.handle_completions, request))

    def grammar(self, schema: dict[str, Any]) -> str:
        """Return the grammar of JSON texts that match a schema, without optional white space."""
        strict = {**schema, "x-guidance": {"whitespace_flexible": False}}
        return str(self._call(self._grammar, json.dumps(strict)))

    def tokenize(self, text: str) -> list[bytes]:
        """Return the tokens of a text."""
        body = json.dumps({"content": text, "with_pieces": True, "add_special": False}).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
        request = urllib.request.Request(f"{self._server.listening_address}/tokenize", body, headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=SECONDS) as response:
            tokens = json.load(response)["tokens"]
        pieces = [token["piece"] for token in tokens]
        return [piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces]

    @staticmethod
    def _call(function: Any, argument: Any) -> Any:
        try:
            return function(argument)
        except ValueError as error:
            raise RejectedByEngine(str(error)) from None

    @staticmethod
    def _check(answer: dict[str, Any]) -> dict[str, Any]:
        error = answer.get("error")
        if error and error.get("type") != "exceed_context_size_error":
            raise RejectedByEngine(str(error.get("message")))
        return answer


def require_runtime() -> None:
    """Raise an error that says what to install if local models cannot be run."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingDependency("A local model", "local")


def get_engine(settings: EngineSettings) -> Engine:
    """Return the engine with these settings, loaded once in this process."""
    with _lock:
        if settings not in _engines:
            _engines[settings] = Engine(settings)
        return _engines[settings]


_engines: dict[EngineSettings, Engine] = {}
_lock = threading.Lock()
