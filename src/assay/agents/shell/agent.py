"""The shell agent: one tool, a bash command, and the whole conversation in context."""

import math
from typing import ClassVar

from pydantic import Field

from assay.agents.agent import Agent
from assay.agents.briefing import briefing, remaining_budget
from assay.agents.observation import Observation
from assay.agents.outcomes import LIMITS, NO_OUTPUT, check_submission
from assay.agents.prompts import Templates
from assay.agents.replies import UnreadableReply
from assay.agents.shell.bash_protocol import (
    BASH_TOOL,
    BashCommand,
    Protocol,
    parse_commands,
    rejection_messages,
    result_message,
)
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong
from assay.core.text import cut_middle
from assay.models import MAIN, Message, Reply
from assay.records.events import GAVE_UP, FailureCause

SUBMIT, VALIDATE, OFFER = "submit", "validate", "offer"
TRUNCATED_OBSERVATION = 200


class Shell(Agent):
    """Issues bash commands one after another, with all earlier output in context, until it submits."""

    summary = "a model issues one bash command after another; the minimal agent"
    asks_models: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("model", "note", "action", "command", "validation", "offer")

    protocol: Protocol = Field("tools", description="how the model issues commands: tools (tool calls) or text")
    share: float = Field(0.25, gt=0, le=1, description="default time limit of a command, as a share of the time left")
    max_output: int = Field(10_000, ge=100, description="max characters of a command's output shown to the model")
    max_format_errors: int = Field(3, ge=1, description="consecutive unreadable replies that end the trial")

    async def work(self, bench: Workbench) -> None:
        """Run commands until `submit`, the end of the budget, or too many unreadable replies."""
        history = self._opening(bench)
        errors = 0
        while errors < self.max_format_errors:
            reply = await self._ask(bench, history)
            if reply is None:
                return
            history.append(reply.message)
            try:
                commands = parse_commands(reply, self.protocol)
            except UnreadableReply as error:
                errors += 1
                await bench.note("unreadable reply", cause="format", reason=str(error))
                history += rejection_messages(reply, str(error))
                continue
            errors = 0
            for command in commands:
                observation = await self._execute(bench, command)
                if command.command == SUBMIT:
                    return
                history.append(result_message(f"{observation.text}\n\n({remaining_budget(bench)})", command.call_id))
        await bench.note(GAVE_UP, cause="format", reason=f"{errors} consecutive replies were unreadable")

    def _opening(self, bench: Workbench) -> list[Message]:
        templates = Templates("assay.agents.shell")
        instructions = templates.fill(
            "system", share=f"{100 * self.share:g}", format=templates.fill(f"{self.protocol}_format")
        )
        task = briefing(
            bench,
            check="The command `validate` checks whether its format is valid, without a score.",
            offer="The command `offer`, on its own, offers your submission as a candidate.",
        )
        return [
            Message(role="system", text=instructions),
            Message(role="user", text=f"{task}\n\n({remaining_budget(bench)})"),
        ]

    async def _ask(self, bench: Workbench, history: list[Message]) -> Reply | None:
        """Return the model's next reply; when the conversation is too long for it, truncate old output first."""
        while True:
            try:
                return await bench.ask(MAIN, history, [BASH_TOOL] if self.protocol == "tools" else [])
            except PromptTooLong:
                if not _truncate_older_output(history):
                    await bench.note(GAVE_UP, cause="too long", reason="the conversation is too long for the model")
                    return None

    async def _execute(self, bench: Workbench, command: BashCommand) -> Observation:
        """Take one step: run a command in the lab, or `submit` or `validate`, which are handled outside of it."""

        async def perform() -> Observation:
            if command.command == SUBMIT:
                return Observation("The work has ended.")
            if command.command == OFFER:
                return Observation((await bench.offer()).reply)
            if command.command == VALIDATE:
                return Observation(await check_submission(bench))
            seconds = command.seconds or self.share * bench.clock.seconds_left
            # One stream for both, so that output and errors appear in the order in which they were printed.
            merged = ["bash", "-c", 'exec bash -c "$1" 2>&1', "bash", command.command]
            completed = await bench.execute(merged, seconds=seconds)
            crash: FailureCause | None = "crash" if completed.ended == "signal" else None
            cause, limit = LIMITS.get(completed.ended, (crash, ""))
            ending = f"Exit code {completed.code} after {completed.seconds:.1f} seconds"
            if limit:
                ending += f": it {limit}"
            output = cut_middle(completed.stdout.rstrip(), self.max_output) or NO_OUTPUT
            return Observation(f"{ending}.\n\n{output}", cause)

        arguments: dict[str, object] = {"command": command.command}
        if command.seconds:
            arguments["seconds"] = command.seconds
        return await bench.act("bash", arguments, perform)


def _truncate_older_output(history: list[Message]) -> bool:
    """Truncate the older half of the long observations; return False when there is nothing left to truncate."""
    long = [
        index
        for index in range(2, len(history))
        if history[index].role != "assistant" and len(history[index].text) > 2 * TRUNCATED_OBSERVATION
    ]
    for index in long[: math.ceil(len(long) / 2)]:
        text = cut_middle(history[index].text, TRUNCATED_OBSERVATION)
        history[index] = history[index].model_copy(update={"text": text})
    return bool(long)
