"""Choices from a list: by a model that must call a tool, or at random."""

import random
from collections.abc import Sequence
from typing import Protocol

from assay.agents.replies import UnreadableReply
from assay.agents.workbench import Workbench
from assay.models import MAIN, Message, Reply, Sampling, Tool

TOOL = "choose"


class Choose(Protocol):
    """Chooses one of the options; `prompt` says what about."""

    async def __call__(self, prompt: str, options: Sequence[str]) -> str: ...


def choose_at_random(bench: Workbench) -> Choose:
    """Return a function that chooses at random, the same for the same seed of a trial."""
    generator = random.Random(bench.seed)

    async def choose(prompt: str, options: Sequence[str]) -> str:
        return generator.choice(options)

    return choose


def choose_by_model(bench: Workbench, system: str, attempts: int) -> Choose:
    """Return a function that has the model choose; it raises `UnreadableReply` after too many unreadable replies."""

    async def choose(prompt: str, options: Sequence[str]) -> str:
        tool = choice_tool(options)
        messages = [Message(role="system", text=system), Message(role="user", text=prompt)]
        for attempt in range(attempts):
            sampling = Sampling(seed=bench.seed + attempt)
            reply = await bench.ask(MAIN, messages, [tool], tool_choice=TOOL, sampling=sampling)
            try:
                return read_choice(reply, options)
            except UnreadableReply as error:
                await bench.note("unreadable reply", cause="format", reason=str(error))
        raise UnreadableReply(f"{attempts} consecutive replies chose none of the options")

    return choose


def choice_tool(options: Sequence[str]) -> Tool:
    """Return a tool whose only argument is one of the options."""
    choice = {"type": "string", "enum": list(options)}
    parameters = {"type": "object", "properties": {"choice": choice}, "required": ["choice"]}
    return Tool(name=TOOL, description="Choose one of the options.", parameters=parameters)


def read_choice(reply: Reply, options: Sequence[str]) -> str:
    """Return the option that a reply chooses."""
    calls = [call for call in reply.message.tool_calls if call.name == TOOL]
    choice = calls[0].arguments.get("choice") if calls else None
    if choice not in options:
        raise UnreadableReply("The reply does not choose one of the options.")
    return str(choice)
