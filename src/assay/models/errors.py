"""What went wrong at a provider, in words that say what to do about it."""

import difflib

from rich.text import Text
from tenacity import RetryError

from assay.core.errors import AssayError, ModelError, ModelUnavailable, UsageError
from assay.core.quantities import format_duration

LONGEST = 500
# For hints only: Inspect decides what there is, and packages can add to it.
PROVIDERS = (
    "anthropic", "azureai", "bedrock", "cloudflare", "deepseek", "fireworks", "google", "grok", "groq", "hf",
    "llama-cpp-python", "mistral", "moonshot", "ollama", "openai", "openai-api", "openrouter", "perplexity",
    "sambanova", "scripted", "sglang", "together", "vllm",
)  # fmt: skip


def not_opened(name: str, error: Exception) -> AssayError:
    """Why a model cannot even be asked: a wrong name, a missing package, a missing key."""
    if isinstance(error, AssayError):
        return error
    if isinstance(error, ValueError) and (unknown := _unknown_provider(name)):
        return UsageError(unknown)
    said = _plain(str(error.message)) if hasattr(error, "message") else f"{type(error).__name__}: {_short(str(error))}"
    return UsageError(f"model {name} cannot be set up: {said}")


def too_late(name: str, timeout: float) -> ModelUnavailable:
    """That our patience is over."""
    return ModelUnavailable(
        f"{name} has not answered within {format_duration(timeout)}, retries included (the setting `timeout`)"
    )


def not_answered(name: str, error: Exception) -> ModelError:
    """Why a model that was asked did not answer: `ModelUnavailable` where it may do so later."""
    tries = ""
    if isinstance(error, RetryError):
        attempts = error.last_attempt
        tries = f", also not at try {attempts.attempt_number}" if attempts.attempt_number > 1 else ""
        cause = attempts.exception()
        error = cause if isinstance(cause, Exception) else error
    # Inspect's own words repeat the whole question; the provider's are enough.
    said = getattr(error, "provider_message", None) or getattr(error, "message", None) or str(error)
    status = getattr(error, "status_code", None)
    kind = ModelUnavailable if _passes(status, type(error).__name__) else ModelError
    return kind(f"{name} {_verdict(status, type(error).__name__)}{tries}: {_short(str(said))}")


def _passes(status: int | None, kind: str) -> bool:
    """Whether a fault is one of the provider's bad hours, and not of what it was asked or with which key."""
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    return any(word in kind for word in ("Connection", "Timeout", "Protocol", "Decode", "Validation"))


def _verdict(status: int | None, kind: str) -> str:
    if status in (401, 403):
        return "refuses the key (check the environment variable that holds it)"
    if status == 404:
        return "is not known to its provider"
    if status == 429:
        return "did not answer because of a rate limit or quota"
    if status is not None and status >= 500:
        return "is out of order"
    if status is not None:
        return f"refuses the request (status {status})"
    if kind == "PrerequisiteError":
        return "cannot be asked like this"
    if "Connection" in kind or "Timeout" in kind:
        return "cannot be reached"
    return f"did not answer ({kind})"


def _unknown_provider(name: str) -> str | None:
    provider, _, model = name.partition("/")
    if not provider or not model:
        return f"{name!r} names no model; write PROVIDER/MODEL, such as openai/gpt-5 or anthropic/claude-sonnet-4-5"
    near = difflib.get_close_matches(provider, PROVIDERS, n=1)
    hint = f"did you mean {near[0]}/{model}?" if near else f"there are: {', '.join(PROVIDERS)}, …"
    return f"no provider is called {provider!r}; {hint}" if provider not in PROVIDERS else None


def _plain(message: str) -> str:
    """Inspect's message without its colours, line breaks and opening word."""
    lines = Text.from_markup(message).plain.removeprefix("ERROR:").splitlines()
    return _short(": ".join(line.strip().removesuffix(":") for line in lines if line.strip()))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
