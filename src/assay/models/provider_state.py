"""State that Inspect's providers keep about a message outside of it. Imports Inspect.

They keep it in context variables that end with the process: redacted thinking, and the positions of tool calls in a
message. Without it, Anthropic rejects the conversation when a resumed trial continues it. So it is stored with the
message and restored with it. Nothing else is restored, so that a request of a resumed trial is the same as it would
have been.

This reaches into private parts of Inspect. If they disappear, only the case above suffers, and a test fails.
"""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from inspect_ai.model import ChatMessageAssistant

from assay.models.messages import Message

_MODULES = {"anthropic": "inspect_ai.model._providers.anthropic", "openai": "inspect_ai.model._openai_responses"}
_STORED = "anthropic"


def restore(messages: Sequence[Message], name: str) -> None:
    """Set the providers' state to that of these messages, in the context of the caller."""
    for provider, module in _MODULES.items():
        set_state = getattr(_imported(module), f"init_sample_{provider}_assistant_internal", None)
        if set_state is None:
            continue
        set_state()
        for message in messages:
            if provider == _STORED and message.native and message.native["model"] == name:
                set_state(message.native.get("memory") or {})


def collect(reply: ChatMessageAssistant, messages: Sequence[Message], name: str) -> dict[str, Any] | None:
    """Return the state that a reply to these messages added, or None."""
    get_state = getattr(_imported(_MODULES[_STORED]), f"dump_{_STORED}_assistant_internal", None)
    state: dict[str, Any] = (get_state() or {}) if get_state else {}
    known = {
        (kind, key)
        for message in messages
        if message.native and message.native["model"] == name
        for kind, entries in (message.native.get("memory") or {}).items()
        for key in entries
    }
    new = {
        kind: {
            key: entry
            for key, entry in entries.items()
            if (kind, key) not in known and not _is_default(kind, entry, len(reply.content))
        }
        for kind, entries in state.items()
        # Lists belong to tools that run at the provider, of which we offer none.
        if isinstance(entries, dict)
    }
    return {kind: entries for kind, entries in new.items() if entries} or None


def _is_default(kind: str, entry: Any, parts: int) -> bool:
    """Whether the provider would assume the same without this entry."""
    if kind == "client_tool_call_positions":
        return bool(entry == parts)
    return entry is None or (kind == "thinking_blocks" and entry.get("type") == "thinking")


def _imported(module: str) -> ModuleType | None:
    """Return a module if it is imported already: an unused provider must not cost its import."""
    return sys.modules.get(module)
