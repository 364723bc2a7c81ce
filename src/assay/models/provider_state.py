"""What Inspect's providers remember of a message outside of it. Loads Inspect.

They keep it in context variables that die with the process: redacted thinking, and where in a message tools were
called. Without it, Anthropic refuses to go on with such a conversation, as a resumed trial must. So it is kept with the
message and brought back with it; and nothing else is remembered, so that a question looks the same in a trial's second
life.

This reaches into Inspect. Should it be gone one day, only the case above suffers, and a test will tell.
"""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from inspect_ai.model import ChatMessageAssistant

from assay.models.messages import Message

HOLDERS = {"anthropic": "inspect_ai.model._providers.anthropic", "openai": "inspect_ai.model._openai_responses"}
NEEDED = "anthropic"


def recall(messages: Sequence[Message], name: str) -> None:
    """Make the providers remember what belongs to these messages and nothing else, in the context of the caller."""
    for provider, holder in HOLDERS.items():
        set_memory = getattr(_loaded(holder), f"init_sample_{provider}_assistant_internal", None)
        if set_memory is None:
            continue
        set_memory()
        for message in messages:
            if provider == NEEDED and message.native and message.native["model"] == name:
                set_memory(message.native.get("memory") or {})


def learned(reply: ChatMessageAssistant, messages: Sequence[Message], name: str) -> dict[str, Any] | None:
    """What there is to remember of a reply to these messages, apart from what it says itself; None if nothing."""
    get_memory = getattr(_loaded(HOLDERS[NEEDED]), f"dump_{NEEDED}_assistant_internal", None)
    now: dict[str, Any] = (get_memory() or {}) if get_memory else {}
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
            if (kind, key) not in known and not _obvious(kind, entry, len(reply.content))
        }
        for kind, entries in now.items()
        # Lists belong to tools that run at the provider, of which we offer none.
        if isinstance(entries, dict)
    }
    return {kind: entries for kind, entries in new.items() if entries} or None


def _obvious(kind: str, entry: Any, parts: int) -> bool:
    """Whether the provider would assume the same if it did not remember it."""
    if kind == "client_tool_call_positions":
        return bool(entry == parts)
    return entry is None or (kind == "thinking_blocks" and entry.get("type") == "thinking")


def _loaded(module: str) -> ModuleType | None:
    """A module that somebody has loaded; a provider that is not in use must not cost its loading."""
    return sys.modules.get(module)
