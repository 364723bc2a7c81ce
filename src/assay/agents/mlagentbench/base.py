"""What the agents of MLAgentBench have in common: one reply at a time, one action at a time, the last steps in view."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field as Setting
from pydantic import field_validator

from assay.agents.agent import Agent
from assay.agents.briefing import briefing, what_is_left
from assay.agents.mlagentbench.actions import (
    ACTIONS,
    FINAL_ANSWER,
    USUAL,
    VALIDATE,
    Action,
    ActionContext,
    find_action,
    perform,
)
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.mlagentbench.text_protocol import describe_actions, describe_fields, read_move, show_turn
from assay.agents.mlagentbench.tool_protocol import called_move, tools_of
from assay.agents.mlagentbench.turns import Field, Move, Turn, Unreadable
from assay.agents.observation import ActionFailed, Observation
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong
from assay.core.quantities import Seconds

if TYPE_CHECKING:
    from assay.models import Message, Reply, Tool

MAIN = "main"
HELP = "Request Help"
SHORTEST = 1_000
SQUEEZES = 4
REMARK_AFTER = 3


@dataclass
class Course:
    """How far an agent has come: its turns so far, and how much its context had to be squeezed."""

    means: ActionContext
    actions: Sequence[Action]
    turns: list[Turn] = field(default_factory=list)
    squeezed: int = 0
    repeats: int = 0


class Acting(Agent):
    """Asks the main model for one action at a time and carries it out, until it gives its final answer."""

    asks_models: ClassVar[bool] = True
    thoughts: ClassVar[tuple[Field, ...]] = ()
    prompt: ClassVar[str] = "act"
    texts: ClassVar[Traversable | None] = None
    """A folder with texts that take the place of those in `templates`, for agents of one's own."""

    protocol: Literal["text", "tools"] = Setting("text", description="how actions are told: as text, or as tool calls")
    steps_in_context: int = Setting(3, ge=1, description="how many of the last steps the model is shown")
    observations_in_context: int = Setting(3, ge=1, description="of those, how many with what came of them")
    tries: int = Setting(5, ge=1, description="how often one answer is asked for until it can be read")
    repeats: int = Setting(10, ge=2, description="how often in a row the same is done before the work ends")
    add_actions: tuple[str, ...] = Setting((), description="further actions to offer, as Read File+Write File")
    remove_actions: tuple[str, ...] = Setting((), description="usual actions not to offer, in the same form")
    interactive: bool = Setting(False, description="offer Request Help; a person sits at the terminal")
    script_seconds: Seconds | None = Setting(None, description="time limit of one script; none but the trial's own")
    session_seconds: Seconds = Setting(600.0, description="time limit of one command in the Python session")
    longest_output: int = Setting(20_000, ge=1_000, description="characters of output kept of one action")

    @field_validator("add_actions", "remove_actions", mode="before")
    @classmethod
    def _known(cls, names: object) -> object:
        listed = [name.strip() for name in re.split(r"[,+]", names)] if isinstance(names, str) else names
        if isinstance(listed, list | tuple) and (unknown := [name for name in listed if name not in ACTIONS]):
            raise ValueError(f"there is no action {unknown[0]!r}; there are: {', '.join(ACTIONS)}")
        return listed

    async def work(self, bench: Workbench) -> None:
        """Move by move, until the final answer or the end of the budget."""
        means = ActionContext(
            bench, Templates(self.texts), self.script_seconds, self.session_seconds, self.longest_output
        )
        course = Course(means, self.offered())
        while (move := await self._next_move(course)) is not None:
            observation = await self._carry_out(course, move)
            if move.action == FINAL_ANSWER and observation.cause is None:
                return
            shown = await self.shown(course, move, observation.text)
            if not await self._goes_on(course, move, observation, shown):
                return
            await self.remember(course)

    def offered(self) -> list[Action]:
        """The actions that the model may choose from."""
        names = [*USUAL[:-1], *self.add_actions, VALIDATE, *([HELP] if self.interactive else []), FINAL_ANSWER]
        return [ACTIONS[name] for name in dict.fromkeys(names) if name not in self.remove_actions]

    def read(self, course: Course, reply: "Reply") -> Move:
        """What a reply wants to be done; `Unreadable` if it does not say so in the form that was asked for."""
        tools = self.protocol == "tools"
        move = called_move(reply.message, self.thoughts) if tools else read_move(reply.message.text, self.thoughts)
        action = find_action(move.action, course.actions)
        return replace(move, action=action.name) if action else move

    async def shown(self, course: Course, move: Move, observation: str) -> str:
        """What the model is shown later of what came of a move."""
        return observation

    async def memory(self, course: Course) -> str:
        """What the model is told beyond its last steps."""
        return ""

    async def remember(self, course: Course) -> None:
        """Keep what the last turn taught."""

    async def condensed(self, course: Course, turn: Turn) -> str:
        """An observation in few words, when even one is too long for the model."""
        return shortened(turn.observation, SHORTEST)

    async def _next_move(self, course: Course) -> Move | None:
        """What the model wants to do next; None if it cannot be brought to say so."""
        bench, complaint = course.means.bench, ""
        memory = await self.memory(course)
        for _ in range(self.tries):
            reply = await self._ask(course, memory, complaint)
            if reply is None:
                await bench.note("gave up", cause="too long", why="the conversation is too long for the model")
                return None
            try:
                return self.read(course, reply)
            except Unreadable as fault:
                await bench.note("unreadable reply", cause="format", why=str(fault))
                cut = " It was cut off because it was too long; be brief." if reply.stop == "length" else ""
                complaint = course.means.templates.fill("complaint", fault=f"{fault}{cut}")
        await bench.note("gave up", cause="format", why=f"none of {self.tries} replies could be read")
        return None

    async def _ask(self, course: Course, memory: str, complaint: str) -> "Reply | None":
        """One reply of the main model, with as much of the past as it can take in; None if even the least is too much.

        First older observations are left out, then the last one is made short, then all steps but the last go.
        """
        bench = course.means.bench
        while course.squeezed < SQUEEZES:
            if course.squeezed == 2 and course.turns and len(course.turns[-1].observation) > SHORTEST:
                last = course.turns[-1]
                course.turns[-1] = Turn(last.move, await self.condensed(course, last))
            try:
                return await bench.ask(MAIN, self._messages(course, memory, complaint), self._tools(course))
            except PromptTooLong:
                course.squeezed += 1
        return None

    async def _carry_out(self, course: Course, move: Move) -> Observation:
        bench = course.means.bench

        async def fail() -> Observation:
            raise ActionFailed("format", move.fault or "")

        if move.fault:
            return await bench.act(move.action, {}, fail)
        return await perform(course.means, move.action, move.arguments, course.actions)

    async def _goes_on(self, course: Course, move: Move, observation: Observation, shown: str) -> bool:
        """Add the turn; False when the agent has come to do the same over and over."""
        last = course.turns[-1] if course.turns else None
        same = last is not None and (last.move.action, last.move.arguments) == (move.action, move.arguments)
        course.repeats = course.repeats + 1 if same else 1
        if course.repeats >= self.repeats:
            why = f"{move.action} was done {course.repeats} times in a row in the same way"
            await course.means.bench.note("gave up", cause="repeats", why=why)
            return False
        if course.repeats >= REMARK_AFTER:
            shown += f"\n\n(You have done exactly this {course.repeats} times in a row. Do something else.)"
        if move.ignored:
            shown += f"\n\n(Only the first of your {move.ignored + 1} calls was carried out. Call one tool at a time.)"
        course.turns.append(Turn(move, shown))
        return True

    def _messages(self, course: Course, memory: str, complaint: str) -> "list[Message]":
        from assay.models import Message

        bench, texts = course.means.bench, course.means.templates
        system = texts.fill(
            self.prompt,
            actions=describe_actions(course.actions) if self.protocol == "text" else "",
            task=briefing(bench, check=self._check(course)),
            submission=bench.task.submission.file,
            format=self._format(texts),
        )
        now = texts.fill(
            "step",
            memory=f"{memory}\n\n" if memory else "",
            steps=self._past(course),
            left=what_is_left(bench),
        )
        asked = f"{now}\n\n{complaint}" if complaint else now
        return [Message(role="system", text=system), Message(role="user", text=asked)]

    def _check(self, course: Course) -> str:
        offered = any(action.name == VALIDATE for action in course.actions)
        return f'"{VALIDATE}" tells you whether its form is valid, but no score.' if offered else ""

    def _format(self, texts: Templates) -> str:
        if self.protocol == "text":
            return texts.fill("text_format", fields=describe_fields(self.thoughts))
        thinking = ", and begin with your thoughts" if self.thoughts else ""
        return texts.fill("tools_format", thinking=thinking)

    def _past(self, course: Course) -> str:
        """The last turns, as far as they are shown; of the older ones only what was done."""
        steps = 1 if course.squeezed >= 3 else self.steps_in_context
        observed = 1 if course.squeezed >= 1 else self.observations_in_context
        turns = course.turns[-steps:]
        if not turns:
            return "# Your steps so far\n\nNone; this is the first."
        first = len(course.turns) - len(turns) + 1
        shown = [
            f"## Step {first + place}\n\n{show_turn(turn, observed=len(turns) - place <= observed)}"
            for place, turn in enumerate(turns)
        ]
        return "\n\n".join(["# Your last steps", *shown])

    def _tools(self, course: Course) -> "list[Tool]":
        return tools_of(course.actions, self.thoughts) if self.protocol == "tools" else []
