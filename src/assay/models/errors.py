"""Errors of a provider, as sentences that say what to do about them."""

import os

from rich.text import Text

from assay.core.errors import AssayError, KeyRejected, ModelError, ModelUnavailable, RequestRejected, UsageError
from assay.core.quantities import format_duration
from assay.core.text import did_you_mean, one_line
from assay.models.server_checks import find_connection_error

MAX_LENGTH = 500
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY"}


def setup_error(name: str, error: Exception) -> AssayError:
    """Return the error for a model whose client cannot be set up: a wrong name, a missing package, a missing key."""
    if isinstance(error, AssayError):
        return error
    if isinstance(error, ValueError) and (hint := _unknown_provider(name)):
        return UsageError(hint)
    provider, _, rest = name.partition("/")
    key = _KEYS.get(provider)
    if provider == "openai-api":  # a server of the user's own
        key = f"{rest.partition('/')[0].upper().replace('-', '_')}_API_KEY"
    if key and not os.environ.get(key) and key in str(getattr(error, "message", error)):
        needless = " (any text if the server needs none)" if provider == "openai-api" else ""
        return UsageError(f"Cannot set up model {name}: set {key}{needless}")
    if hasattr(error, "message"):
        reason = _without_markup(str(error.message))
    else:
        reason = f"{type(error).__name__}: {one_line(str(error), MAX_LENGTH)}"
    return UsageError(f"Cannot set up model {name}: {reason}")


def timeout_error(name: str, timeout: float) -> ModelUnavailable:
    """Return the error for a model that did not answer in time."""
    return ModelUnavailable(
        f"{name} did not answer within {format_duration(timeout)}, retries included (setting `timeout`)"
    )


def request_error(name: str, error: Exception, attempts: int = 1) -> ModelError:
    """Return the error for a failed request: `ModelUnavailable` if a later attempt may succeed."""
    # Inspect's own message repeats the whole conversation; the provider's is enough.
    message = getattr(error, "provider_message", None) or getattr(error, "message", None) or str(error)
    message = find_connection_error(error) or message
    status = getattr(error, "status_code", None)
    summary = _summarize(status, type(error).__name__)
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    text = f"{name} {summary}{tried}: {one_line(str(message), MAX_LENGTH)}"
    if _is_transient(status, type(error).__name__):
        return ModelUnavailable(text)
    if status in (401, 403):
        return KeyRejected(text)
    return RequestRejected(text, name) if _is_content_error(status, error) else ModelError(text)


def _is_content_error(status: int | None, error: Exception) -> bool:
    """Whether the request itself is invalid: the provider says so, or it cannot even be encoded."""
    if status is None:
        return isinstance(error, UnicodeError | RecursionError | OverflowError)
    return 400 <= status < 500 and status not in _ACCOUNT_STATUSES


_ACCOUNT_STATUSES = (401, 402, 403, 404)
"""Statuses that are about the key, the account or the model, not about what is sent."""


def _is_transient(status: int | None, kind: str) -> bool:
    """Whether the provider is having trouble, as opposed to rejecting the request or the key."""
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    return any(word in kind for word in ("Connection", "Timeout", "Protocol", "Decode", "Validation"))


def _summarize(status: int | None, kind: str) -> str:
    if status in (401, 403):
        return "rejected the API key (check the environment variable that holds it)"
    if status == 404:
        return "is unknown to its provider"
    if status == 429:
        return "did not answer because of a rate limit or quota"
    if status is not None and status >= 500:
        return "is unavailable"
    if status is not None:
        return f"rejected the request (status {status})"
    if kind == "PrerequisiteError":
        return "does not accept these settings"
    if "Connection" in kind or "Timeout" in kind:
        return "cannot be reached"
    return f"did not answer ({kind})"


def _unknown_provider(name: str) -> str | None:
    provider, slash, _ = name.partition("/")
    if not slash:
        return f"model {name!r} has no provider; write PROVIDER/MODEL, e.g. openai/{name}"
    from inspect_ai._util.registry import registry_find, registry_info

    clients = registry_find(lambda entry: entry.type == "modelapi")
    known = sorted(registry_info(client).name.removeprefix("inspect_ai/") for client in clients)
    return (
        None if provider in known else f"Unknown provider {provider!r} of model {name}; {did_you_mean(provider, known)}"
    )


def _without_markup(message: str) -> str:
    """Return Inspect's message without its colors, line breaks and the leading `ERROR:`."""
    lines = Text.from_markup(message).plain.removeprefix("ERROR:").splitlines()
    return one_line(": ".join(line.strip().removesuffix(":") for line in lines if line.strip()), MAX_LENGTH)
