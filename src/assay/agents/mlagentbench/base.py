"""The loop of MLAgentBench's agents: one reply and one action at a time, with the last steps in context."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from assay.agents.agent import Agent
from assay.agents.briefing import briefing, remaining_budget
from assay.agents.mlagentbench.actions import (
    ACTIONS,
    DEFAULT_ACTIONS,
    FINAL_ANSWER,
    OFFER,
    PUBLISHED_ORDER,
    REQUEST_HELP,
    VALIDATE,
    Action,
    ActionContext,
    find_action,
    perform_action,
)
from assay.agents.mlagentbench.actions.edits import BACKUPS
from assay.agents.mlagentbench.actions.files import LOOKUP_SECONDS
from assay.agents.mlagentbench.text_protocol import describe_actions, describe_fields, format_turn, parse_text
from assay.agents.mlagentbench.tool_protocol import make_tools, parse_tool_call
from assay.agents.mlagentbench.turns import ActionCall, ThoughtField, Turn
from assay.agents.observation import ActionFailed, Observation
from assay.agents.prompts import Templates
from assay.agents.replies import UnreadableReply
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong
from assay.core.quantities import Seconds
from assay.core.text import cut_middle
from assay.models import MAIN, Message, Reply, Tool
from assay.records.events import GAVE_UP

PACKAGE = "assay.agents.mlagentbench"
SHORT_OBSERVATION = 1_000
MAX_COMPRESSION = 4
WARN_AFTER_REPEATS = 3
MAX_REPEATS = 10
MAX_MALFORMED = 50
"""Malformed calls in a row, none of which takes a step, that end a trial under the published rules."""


OFFERS = f'"{OFFER}" offers your submission as a candidate.'


@dataclass
class AgentState:
    """The progress of an agent: its turns so far, and how much its context had to be compressed.

    `actions` are those the prompt describes, `callable_actions` those that are performed.
    At `compression` 1 only the last observation is shown, at 2 it is also shortened, at 3 only the last step is shown.
    """

    context: ActionContext
    actions: Sequence[Action]
    callable_actions: Sequence[Action]
    turns: list[Turn] = field(default_factory=list)
    compression: int = 0
    repeats: int = 0


class ActionAgent(Agent):
    """Asks the main model for one action at a time and performs it, until the model gives its final answer."""

    asks_models: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = (
        "model",
        "offer",
        "action",
        "command",
        "python",
        "write",
        "read",
        "note",
        "human",
        "validation",
    )
    thoughts: ClassVar[tuple[ThoughtField, ...]] = ()
    prompt: ClassVar[str] = "act"
    templates: ClassVar[Traversable | None] = None
    """A folder with templates that replace those of this package, for custom agents."""

    rules: Literal["default", "published"] = Field(
        "default",
        description="published: prompts and observations structured as in the paper, actions in its order, hidden ones "
        "can be called, malformed calls take no step, repetition does not end the trial, cut-off edits are written",
    )
    protocol: Literal["text", "tools"] = Field("text", description="how the model calls actions: text or tools")
    steps_in_context: int = Field(3, ge=1, description="number of recent steps shown to the model")
    observations_in_context: int = Field(3, ge=1, description="number of these steps shown with their observation")
    max_attempts: int = Field(5, ge=1, description="attempts to get a readable reply per step")
    max_repeats: int | None = Field(
        None,
        ge=0,
        description="identical consecutive actions that end the trial, with a warning before; 0: no limit; "
        "default: 10, or 0 under the published rules",
    )
    notes: str = Field("", description="notes to add to the task prompt")
    add_actions: tuple[str, ...] = Field((), description="actions to offer in addition, e.g. Read File+Write File")
    remove_actions: tuple[str, ...] = Field((), description="default actions not to offer, in the same form")
    interactive: bool = Field(False, description="offer Request Help; requires a person at the terminal")
    script_seconds: Seconds | None = Field(None, description="time limit of a script; default: the trial's own")
    session_seconds: Seconds = Field(600.0, description="time limit of a command in the Python session")
    max_output: int = Field(20_000, ge=1_000, description="max characters of output kept per action")

    @field_validator("add_actions", "remove_actions", mode="before")
    @classmethod
    def _check_action_names(cls, names: object) -> object:
        listed = [name.strip() for name in re.split(r"[,+]", names)] if isinstance(names, str) else names
        if isinstance(listed, list | tuple) and (unknown := [name for name in listed if name not in ACTIONS]):
            raise ValueError(f"unknown action {unknown[0]!r}; choose from: {', '.join(ACTIONS)}")
        return listed

    async def work(self, bench: Workbench) -> None:
        """Perform one action after another until the final answer or the end of the budget."""
        context = ActionContext(
            bench,
            Templates(PACKAGE, self._template_folder()),
            self.script_seconds,
            self.session_seconds,
            self.max_output,
            self.rules == "published",
        )
        if context.published:
            await bench.execute(["mkdir", "-p", BACKUPS], seconds=LOOKUP_SECONDS)
        offer = [ACTIONS[OFFER]] if bench.offers else []
        state = AgentState(context, [*self.offered_actions(), *offer], [*self.callable_actions(), *offer])
        while (call := await self._next_call(state)) is not None:
            if self.rules == "published" and (reason := _find_mismatch(state, call)):
                if not await self._add_malformed(state, call, reason):
                    return
                continue
            state.turns = [turn for turn in state.turns if not turn.malformed]
            observation = await self._perform(state, call)
            if call.action == FINAL_ANSWER and observation.cause is None:
                return
            text = await self.shorten_observation(state, call, observation.text)
            if not await self._add_turn(state, call, text):
                return
            await self.update_memory(state)

    def offered_actions(self) -> list[Action]:
        """Return the actions that the model may choose from."""
        if self.rules == "published":
            names = [*PUBLISHED_ORDER, *self.add_actions]
        else:
            names = [*DEFAULT_ACTIONS, *self.add_actions, VALIDATE, REQUEST_HELP, FINAL_ANSWER]
        removed = self.remove_actions if self.interactive else (*self.remove_actions, REQUEST_HELP)
        return [ACTIONS[name] for name in dict.fromkeys(names) if name not in removed]

    def callable_actions(self) -> list[Action]:
        """Return the actions that are performed; under the published rules, also those the prompt does not describe."""
        offered = self.offered_actions()
        if self.rules == "default":
            return offered
        hidden = (VALIDATE, OFFER, REQUEST_HELP)
        return list(dict.fromkeys([*offered, *(each for each in ACTIONS.values() if each.name not in hidden)]))

    def parse_reply(self, state: AgentState, reply: Reply) -> ActionCall:
        """Return the action call of a reply; raise `UnreadableReply` if it does not follow the format."""
        if self.protocol == "tools":
            call = parse_tool_call(reply.message, self.thoughts)
        else:
            call = parse_text(reply.message.text, self.thoughts, state.callable_actions)
        action = find_action(call.action, state.callable_actions)
        if action is None and self.rules == "published":
            raise UnreadableReply(f"There is no action called {call.action!r}.")
        return replace(call, action=action.name) if action else call

    async def shorten_observation(self, state: AgentState, call: ActionCall, observation: str) -> str:
        """Return an observation as the model is shown it in later steps."""
        return observation

    async def recall(self, state: AgentState) -> str:
        """Return what the prompt has in addition to the last steps."""
        return ""

    async def update_memory(self, state: AgentState) -> None:
        """Store what the last turn showed."""

    async def condense(self, state: AgentState, turn: Turn) -> str:
        """Return a short version of an observation, for when a single one is too long for the model."""
        return cut_middle(turn.observation, SHORT_OBSERVATION)

    async def _next_call(self, state: AgentState) -> ActionCall | None:
        """Return the model's next action call; None if no readable reply can be had."""
        bench = state.context.bench
        complaint, fault = "", ""
        memory = await self.recall(state)
        for _ in range(self.max_attempts):
            reply = await self._ask(state, memory, complaint)
            if reply is None:
                await bench.note(GAVE_UP, cause="too long", reason="the conversation is too long for the model")
                return None
            try:
                return self.parse_reply(state, reply)
            except UnreadableReply as error:
                fault = str(error)
                await bench.note("unreadable reply", cause="format", reason=fault)
                cut_off = " It was cut off because it was too long; be brief." if reply.stop == "length" else ""
                complaint = state.context.templates.fill("retry", fault=f"{fault}{cut_off}")
        reason = f"none of {self.max_attempts} replies was readable; the last: {fault}"
        await bench.note(GAVE_UP, cause="format", reason=reason)
        return None

    async def _ask(self, state: AgentState, memory: str, complaint: str) -> Reply | None:
        """Return the main model's reply, compressing the context as far as needed; None if it never fits."""
        bench = state.context.bench
        while state.compression < MAX_COMPRESSION:
            if state.compression == 2 and state.turns and len(state.turns[-1].observation) > SHORT_OBSERVATION:
                last = state.turns[-1]
                state.turns[-1] = replace(last, observation=await self.condense(state, last))
            try:
                return await bench.ask(MAIN, self._messages(state, memory, complaint), self._tools(state))
            except PromptTooLong:
                state.compression += 1
        return None

    async def _perform(self, state: AgentState, call: ActionCall) -> Observation:
        bench = state.context.bench

        async def fail() -> Observation:
            raise ActionFailed("format", call.parse_error or "")

        if call.parse_error:
            return await bench.act(call.action, {}, fail)
        return await perform_action(state.context, call.action, call.arguments, state.callable_actions)

    async def _add_malformed(self, state: AgentState, call: ActionCall, reason: str) -> bool:
        """Add a turn for a call that takes no step; return False when there were too many in a row."""
        bench = state.context.bench
        await bench.note("malformed action", cause="format", reason=reason)
        state.turns.append(Turn(call, reason, malformed=True))
        count = sum(turn.malformed for turn in state.turns)
        if count < MAX_MALFORMED:
            return True
        await bench.note(GAVE_UP, cause="format", reason=f"{count} malformed actions in a row")
        return False

    async def _add_turn(self, state: AgentState, call: ActionCall, text: str) -> bool:
        """Add a turn; return False when the agent keeps repeating itself and should stop."""
        last = state.turns[-1].call if state.turns else None
        repeated = last is not None and (last.action, last.arguments) == (call.action, call.arguments)
        state.repeats = state.repeats + 1 if repeated else 1
        limit = self._repeat_limit()
        if limit and state.repeats >= limit:
            reason = f"{call.action} was called {state.repeats} times in a row with the same arguments"
            await state.context.bench.note(GAVE_UP, cause="repeats", reason=reason)
            return False
        if limit and state.repeats >= WARN_AFTER_REPEATS:
            text += f"\n\n(You have done exactly this {state.repeats} times in a row. Try something else.)"
        if call.ignored:
            text += f"\n\n(Only the first of your {call.ignored + 1} calls was executed. Call one tool at a time.)"
        state.turns.append(Turn(call, text))
        return True

    def _repeat_limit(self) -> int:
        """Return how many identical actions end a trial; 0 for no limit."""
        if self.max_repeats is not None:
            return self.max_repeats
        return 0 if self.rules == "published" else MAX_REPEATS

    def _template_folder(self) -> Traversable | None:
        if self.templates is None and self.rules == "published":
            return files(PACKAGE).joinpath("templates", "published")
        return self.templates

    def _messages(self, state: AgentState, memory: str, complaint: str) -> list[Message]:
        bench, templates = state.context.bench, state.context.templates
        published = state.context.published
        task = (
            bench.description.strip() if published else briefing(bench, check=self._describe_check(state), offer=OFFERS)
        )
        system = templates.fill(
            self.prompt,
            actions=describe_actions(state.actions) if self.protocol == "text" else "",
            task=f"{task}\n\n{self.notes}" if self.notes else task,
            submission=bench.task.submission.file,
            format=self._describe_format(templates),
        )
        prompt = templates.fill(
            "step",
            memory=f"{memory}\n\n" if memory else "",
            steps=self._describe_past(state),
            left=remaining_budget(bench),
        )
        if complaint:
            prompt = f"{prompt}\n\n{complaint}"
        return [Message(role="system", text=system), Message(role="user", text=prompt)]

    def _describe_check(self, state: AgentState) -> str:
        offered = any(action.name == VALIDATE for action in state.actions)
        return f'"{VALIDATE}" checks whether its format is valid, without a score.' if offered else ""

    def _describe_format(self, templates: Templates) -> str:
        if self.protocol == "text":
            return templates.fill("text_format", fields=describe_fields(self.thoughts))
        return templates.fill("tools_format", thinking=", starting with your thoughts" if self.thoughts else "")

    def _describe_past(self, state: AgentState) -> str:
        """Return the last turns as far as they are shown; older ones without their observation."""
        steps = 1 if state.compression >= 3 else self.steps_in_context
        observed = 1 if state.compression >= 1 else self.observations_in_context
        turns = state.turns[-steps:]
        if not turns:
            return "# Previous steps\n\nNone; this is the first step."
        first = len(state.turns) - len(turns) + 1
        sections = [
            f"## Step {first + index}\n\n{format_turn(turn, with_observation=len(turns) - index <= observed)}"
            for index, turn in enumerate(turns)
        ]
        return "\n\n".join(["# Previous steps", *sections])

    def _tools(self, state: AgentState) -> list[Tool]:
        return make_tools(state.actions, self.thoughts) if self.protocol == "tools" else []


def _find_mismatch(state: AgentState, call: ActionCall) -> str | None:
    """Return why the arguments of a call cannot be passed to its action, or None if they can."""
    if call.parse_error:
        return call.parse_error
    action = find_action(call.action, state.callable_actions)
    return action.mismatch(call.arguments) if action else None
