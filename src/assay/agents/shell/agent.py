"""The minimal agent: one tool, a bash command, and everything that was said and seen in view."""

import math
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field as Setting

from assay.agents.agent import Agent
from assay.agents.briefing import briefing, what_is_left
from assay.agents.mlagentbench.actions.checking import checked
from assay.agents.mlagentbench.actions.scripts import LIMITS
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.mlagentbench.turns import Unreadable
from assay.agents.observation import Cause, Observation
from assay.agents.prompts import Templates
from assay.agents.shell.bash_protocol import Order, Protocol, bash_tool, complaints, read_orders, told
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong

if TYPE_CHECKING:
    from assay.models import Message, Reply

MAIN, SUBMIT, VALIDATE = "main", "submit", "validate"
LEFT_OVER = 200


class Shell(Agent):
    """Gives bash commands one after the other and sees all that came of them, until it submits."""

    summary = "a model gives one bash command after the other; the minimal agent"
    asks_models: ClassVar[bool] = True

    protocol: Protocol = Setting("tools", description="how commands are told: by tool calls, or as text")
    share: float = Setting(0.25, gt=0, le=1, description="part of the remaining time that a command gets by itself")
    longest_output: int = Setting(10_000, ge=100, description="characters shown of what a command printed")
    format_errors: int = Setting(3, ge=1, description="how many unreadable answers in a row end the work")

    async def work(self, bench: Workbench) -> None:
        """Command by command, until `submit`, the end of the budget, or answers that nobody can read."""
        history, faults = self._opening(bench), 0
        while faults < self.format_errors and (reply := await self._ask(bench, history)):
            history.append(reply.message)
            try:
                orders = read_orders(reply, self.protocol)
            except Unreadable as fault:
                faults += 1
                await bench.note("unreadable reply", cause="format", why=str(fault))
                history += complaints(reply, str(fault))
                continue
            faults = 0
            for order in orders:
                observation = await self._carry_out(bench, order)
                if order.command == SUBMIT:
                    return
                history.append(told(f"{observation.text}\n\n({what_is_left(bench)})", order.call))
        if faults:
            await bench.note("gave up", cause="format", why=f"none of {faults} answers in a row could be read")

    def _opening(self, bench: Workbench) -> "list[Message]":
        from assay.models import Message

        texts = Templates()
        rules = texts.fill("shell", share=f"{100 * self.share:g}", format=texts.fill(f"shell_{self.protocol}"))
        task = briefing(bench, check="The command `validate` tells you whether its form is valid, but no score.")
        return [Message(role="system", text=rules), Message(role="user", text=f"{task}\n\n({what_is_left(bench)})")]

    async def _ask(self, bench: Workbench, history: "list[Message]") -> "Reply | None":
        """The model's next answer; when the past has become too long for it, old output is left out of its view."""
        while True:
            try:
                return await bench.ask(MAIN, history, [bash_tool()] if self.protocol == "tools" else [])
            except PromptTooLong:
                if not _forget(history):
                    await bench.note("gave up", cause="too long", why="the conversation is too long for the model")
                    return None

    async def _carry_out(self, bench: Workbench, order: Order) -> Observation:
        """One step: a command in the lab, or one of the two that are answered outside of it."""

        async def do() -> Observation:
            if order.command == SUBMIT:
                return Observation("The work has ended.")
            if order.command == VALIDATE:
                return Observation(await checked(bench))
            seconds = order.seconds or self.share * bench.clock.seconds_left
            # Both streams in one, so that what was printed stands in the order in which it was.
            both = ["bash", "-c", 'exec bash -c "$1" 2>&1', "bash", order.command]
            ended = await bench.execute(both, seconds=seconds)
            how = f"Exit code {ended.code} after {ended.seconds:.1f} seconds"
            by_signal: Cause | None = "crash" if ended.ended == "signal" else None
            cause, limit = LIMITS.get(ended.ended, (by_signal, ""))
            printed = shortened(ended.stdout.text.rstrip(), self.longest_output) or "It printed nothing."
            return Observation(f"{how}{f': it {limit}' if limit else ''}.\n\n{printed}", cause)

        arguments = {"command": order.command} | ({"seconds": order.seconds} if order.seconds else {})
        return await bench.act("bash", arguments, do)


def _forget(history: "list[Message]") -> bool:
    """Shorten the older half of the long observations; False when there is nothing left to shorten."""
    seen = [place for place in range(2, len(history)) if history[place].role != "assistant"]
    long = [place for place in seen if len(history[place].text) > 2 * LEFT_OVER]
    for place in long[: math.ceil(len(long) / 2)]:
        history[place] = history[place].model_copy(update={"text": shortened(history[place].text, LEFT_OVER)})
    return bool(long)
