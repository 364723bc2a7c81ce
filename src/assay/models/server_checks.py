"""What is asked of the server of a model before the first trial: whether it is there, and has the right API."""

import http.client
import os
import socket
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from assay.core.errors import ModelUnavailable, UsageError
from assay.core.text import did_you_mean, one_line
from assay.models.settings import ModelSettings

SECONDS = 10.0
PROVIDERS = (
    "anthropic", "azureai", "bedrock", "cloudflare", "deepseek", "fireworks", "google", "grok", "groq", "hf",
    "hf-inference-providers", "litellm-proxy", "llama-cpp-python", "local", "meta", "mistral", "moonshot", "ollama",
    "openai", "openai-api", "openrouter", "perplexity", "sagemaker", "sambanova", "scripted", "sglang", "together",
    "vllm",
)  # fmt: skip


def check_reachable(name: str, address: str) -> None:
    """Raise `ModelUnavailable` if no server answers at an address, whatever it answers; this costs nothing."""
    request = urllib.request.Request(f"{address.rstrip('/')}/models", headers={"user-agent": "assay"})
    try:
        urllib.request.urlopen(request, timeout=SECONDS).close()
    except urllib.error.HTTPError as error:
        error.close()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None)
        cause = reason if isinstance(reason, BaseException) else error
        why = find_connection_error(cause) or one_line(str(reason or error), 200)
        raise ModelUnavailable(f"{name}: cannot reach {address}: {why}") from None


def check_name(name: str) -> None:
    """Raise `UsageError` if this is not the name of a model; needs no package of a provider."""
    provider, _, model = name.partition("/")
    if not provider or not model:
        raise UsageError(
            f"{name!r} is not a model; write PROVIDER/MODEL, e.g. openai/gpt-5 or anthropic/claude-sonnet-4-5"
        )


def check_provider(name: str) -> None:
    """Raise `UsageError` if no provider of this name is known; for when the package that knows them is missing."""
    provider, slash, _ = name.partition("/")
    if not slash:
        raise UsageError(f"model {name!r} has no provider; write PROVIDER/MODEL, e.g. openai/{name}")
    if provider not in PROVIDERS:
        raise UsageError(f"Unknown provider {provider!r} of model {name}; {did_you_mean(provider, PROVIDERS)}")


def check_responses_api(name: str, settings: ModelSettings) -> None:
    """Raise `UsageError` if a model would be called through an API that its server does not have.

    Many local servers offer chat completions only. They answer requests to the Responses API with 404,
    which would be retried until the trial's time is over. OpenAI's own server is not asked.
    """
    base = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not name.startswith("openai/") or not base or settings.options.get("responses_api") is False:
        return
    address = urlsplit(base)
    if address.scheme not in ("http", "https") or (address.hostname or "").endswith("openai.com"):
        return
    model = name.partition("/")[2]
    advice = (
        f"if it has chat completions only, use --model openai-api/SERVICE/{model} with SERVICE_BASE_URL={base} and "
        "SERVICE_API_KEY, or --set options.responses_api=false"
    )
    # An empty request: a server with this API rejects it, and none of them can bill it.
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{base.rstrip('/')}/responses", b"{}", headers)
    try:
        urllib.request.urlopen(request, timeout=SECONDS).close()
    except urllib.error.HTTPError as error:
        if error.code in (404, 405, 501):
            raise UsageError(f"{name}: the server at {base} has no Responses API ({error.code}); {advice}") from None
    except (OSError, http.client.HTTPException):
        return  # an outage: the run itself reports and survives it


def find_connection_error(error: BaseException) -> str | None:
    """Return why there was no connection, such as `connection refused`; None if the server answered, or was slow."""
    causes, seen = [error], set[int]()
    while causes:
        cause = causes.pop(0)
        if id(cause) in seen or getattr(cause, "status_code", None) is not None:
            continue
        seen.add(id(cause))
        if isinstance(cause, socket.gaierror):
            return "unknown host"
        if isinstance(cause, OSError) and cause.errno and not isinstance(cause, TimeoutError):
            return os.strerror(cause.errno).lower()
        if isinstance(cause, BaseExceptionGroup):
            causes += cause.exceptions
        causes += [each for each in (cause.__cause__, cause.__context__) if each is not None]
    return None
