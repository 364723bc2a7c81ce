"""An episode: a lab in which one action after another is carried out, and what is paid for each."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from anyio import to_thread

from assay.agents.briefing import SELECTION, task_prompt
from assay.agents.offers import judge_candidate
from assay.core.errors import InvalidSubmission, UnsafePath, UsageError
from assay.core.home import Home
from assay.data.selection import HiddenSplit, prepare_selection
from assay.data.store import Prepared
from assay.grading import grade_submission
from assay.grading.isolated import validate_isolated
from assay.grading.result import Grade
from assay.gym.rewards import DEFAULT, Rewards
from assay.gym.worlds import World
from assay.interop.harbor.dataset import find_rubric
from assay.interop.harbor.verifier import Rubric, compute_rewards
from assay.lab import Limits, SandboxName, Setup, find_environment
from assay.lab.held import HeldLab
from assay.runs.trial_setup import write_starting_files

Tool = Literal["bash", "python", "edit", "submit"]
TOOLS: tuple[Tool, ...] = get_args(Tool)
MAX_TEXT = 20_000
"""Characters of an observation; of a longer one, the first and last half of that many are shown."""
MAX_PATH = 200
_HALF = MAX_TEXT // 2 - 100
_MAX_COMMAND = 100_000
"""Bytes of a command; the kernel limits an argument to 128 KiB."""


@dataclass(frozen=True)
class Action:
    """What to do: run a command, run Python code, replace a file, or end the episode."""

    tool: Tool
    text: str = ""
    path: str = ""

    @classmethod
    def read(cls, action: "Action | Mapping[str, Any]") -> "Action":
        """Return an action from a sample of the action space, or from a mapping with the name of a tool."""
        if isinstance(action, Action):
            return action
        tool = action["tool"]
        name = tool if isinstance(tool, str) else TOOLS[int(tool)]
        if name not in TOOLS:
            raise UsageError(f"there is no tool {name!r}; tools are {', '.join(TOOLS)}")
        return cls(name, str(action.get("text", "")), str(action.get("path", "")))


def bash(command: str) -> Action:
    """Run a command in a new shell."""
    return Action("bash", command)


def python(code: str) -> Action:
    """Run Python code in a new process."""
    return Action("python", code)


def edit(path: str, text: str) -> Action:
    """Create or replace a file of the workspace."""
    return Action("edit", text, path)


def submit() -> Action:
    """End the episode: the submission in the workspace is graded."""
    return Action("submit")


@dataclass(frozen=True)
class Rules:
    """What all episodes of an environment have in common; `steps` and `seconds` are the task's own if None."""

    rewards: Rewards = DEFAULT
    steps: int | None = None
    seconds: float | None = None
    sandbox: SandboxName = "auto"


@dataclass(frozen=True)
class Step:
    """What an action led to: `paid` by part of the rewards, and the grade when the episode has ended."""

    text: str
    paid: dict[str, float] = field(default_factory=dict)
    ended: Literal["submitted", "steps", "time"] | None = None
    exit_code: int | None = None
    grade: Grade | None = None

    @property
    def reward(self) -> float:
        """The sum of what is paid."""
        return math.fsum(self.paid.values())


class Episode:
    """An open lab with the data of a world; what is not called in one event loop is not safe."""

    def __init__(
        self, home: Home, world: World, rules: Rules, data: Prepared, split: HiddenSplit | None, held: HeldLab
    ) -> None:
        self.world = world
        self._home = home
        self._rules = rules
        self._data = data
        self._split = split
        self._held = held
        budget = data.task.budget_for(data.variant)
        self.steps_left = rules.steps or budget.steps
        self.seconds_left = rules.seconds or budget.time
        self._stamp: tuple[int, ...] | None = None
        self._was_valid = False
        self._best = 0.0

    @classmethod
    async def open(cls, home: Home, world: World, rules: Rules, seed: int) -> "Episode":
        """Open a lab with the world's data and the task's starting files."""
        data = await to_thread.run_sync(_load, home, world)
        split = await to_thread.run_sync(prepare_selection, home, data) if rules.rewards.validation else None
        task = data.task
        setup = Setup(
            find_environment(home, task.environment_for(data.variant)),
            data=(split.part("lab") if split else data).public,
            limits=Limits.from_resources(task.resources),
            variables={"SEED": str(seed), "PYTHONHASHSEED": str(seed)},
        )
        held = await HeldLab.open(home, setup, rules.sandbox)
        try:
            await write_starting_files(held.lab, task)
        except BaseException:
            await held.close()
            raise
        return cls(home, world, rules, data, split, held)

    @property
    def prompt(self) -> str:
        """The task as every agent is told it, with the budget of the episode."""
        task = self._data.task
        budget = task.budget_for(self._data.variant).model_copy(
            update={"steps": self.steps_left, "time": self.seconds_left}
        )
        prompt = task_prompt(task, task.description, budget)
        return f"{prompt.rstrip()}\n\n{SELECTION['report']}" if self._split else prompt

    async def act(self, action: Action) -> Step:
        """Carry out an action; after the last one the submission is graded."""
        self.steps_left -= 1
        if action.tool == "submit":
            return await self._end("submitted", "The episode has ended.", {"step": self._rules.rewards.step}, None)
        text, code, failed = await self._carry_out(action)
        rewards = self._rules.rewards
        paid = {"step": rewards.step, "failure": rewards.failure if failed else 0.0, **await self._examine()}
        if self.seconds_left <= 0:
            return await self._end("time", text, paid, code)
        if self.steps_left <= 0:
            return await self._end("steps", text, paid, code)
        return Step(text, _without_zeros(paid), exit_code=code)

    async def close(self) -> None:
        """Close the lab; nothing of it is left."""
        await self._held.close()

    async def _carry_out(self, action: Action) -> tuple[str, int | None, bool]:
        """Return what an action shows, its exit code, and whether it failed."""
        lab = self._held.lab
        if action.tool == "edit":
            try:
                await lab.write(action.path, action.text.encode())
            except (UnsafePath, OSError, ValueError) as error:
                return _shorten(f"The file was not written: {error}"), None, True
            return f"{action.path} has {len(action.text.encode()):,} bytes.", None, False
        if fault := _find_fault(action.text):
            return fault, None, True
        program = ["bash", "-c", action.text] if action.tool == "bash" else ["python", "-c", action.text]
        done = await lab.run(program, seconds=self.seconds_left)
        self.seconds_left -= done.seconds
        output = _shorten(done.stdout.text + done.stderr.text)
        note = f"[exit code {done.code}]" if done.ended == "exit" else f"[ended by: {done.ended}]"
        return f"{output}{'' if output.endswith(chr(10)) or not output else chr(10)}{note}", done.code, done.code != 0

    async def _examine(self) -> dict[str, float]:
        """Return what is paid for the submission that is in the workspace now, if it has changed."""
        rewards, lab, task = self._rules.rewards, self._held.lab, self._data.task
        if not (rewards.valid and not self._was_valid) and not self._split:
            return {}
        stamp = await lab.change_stamp(task.submission.file)
        if stamp is None or stamp == self._stamp:
            return {}
        self._stamp = stamp
        content = await self._read_submission()
        seen = self._split.part("lab") if self._split else self._data
        if content is None or not await to_thread.run_sync(_is_valid, content, seen):
            return {}
        paid = {} if self._was_valid else {"valid": rewards.valid}
        self._was_valid = True
        if self._split:
            judged = await to_thread.run_sync(judge_candidate, self._split, content, "hidden")
            rubric = await to_thread.run_sync(_load_rubric, self._home, self.world)
            position = _position(judged.score, rubric)
            paid["validation"] = rewards.validation * max(0.0, position - self._best)
            self._best = max(self._best, position)
        return paid

    async def _end(
        self, ended: Literal["submitted", "steps", "time"], text: str, paid: dict[str, float], code: int | None
    ) -> Step:
        content = await self._read_submission()
        if self._split and content is not None:
            with suppress(InvalidSubmission):  # then it is graded as it is: invalid
                content = self._split.rows(content, "test")
        grade = await to_thread.run_sync(lambda: grade_submission(content, self._data, home=self._home, isolated=True))
        rubric = await to_thread.run_sync(_load_rubric, self._home, self.world)
        score = self._rules.rewards.score * compute_rewards(grade, rubric)["reward"]
        return Step(text, _without_zeros({**paid, "score": score}), ended, code, grade)

    async def _read_submission(self) -> bytes | None:
        rules = self._data.task.submission
        try:
            return await self._held.lab.read(rules.file, max_size=rules.max_size)
        except UnsafePath:
            return None


def _find_fault(command: str) -> str | None:
    """Return why a text cannot be the argument of a program; None if it can."""
    if "\0" in command:
        return "A command cannot contain the character NUL."
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return "A command cannot contain half of a surrogate pair."
    return f"A command can have {_MAX_COMMAND:,} bytes; write a longer one to a file." if size > _MAX_COMMAND else None


@lru_cache(maxsize=1024)
def _load(home: Home, world: World) -> Prepared:
    return world.load(home)


@lru_cache(maxsize=1024)
def _load_rubric(home: Home, world: World) -> Rubric:
    return find_rubric(_load(home, world), home)


def _is_valid(content: bytes, data: Prepared) -> bool:
    try:
        validate_isolated(content, data)
    except InvalidSubmission:
        return False
    return True


def _position(score: float | None, rubric: Rubric) -> float:
    """Return where a score lies between those of the rubric, from 0 to 1."""
    if score is None or rubric.floor is None or rubric.top is None or rubric.floor == rubric.top:
        return 0.0
    return min(1.0, max(0.0, (score - rubric.floor) / (rubric.top - rubric.floor)))


def _without_zeros(paid: Mapping[str, float]) -> dict[str, float]:
    return {part: amount for part, amount in paid.items() if amount}


def _shorten(text: str) -> str:
    if len(text) <= 2 * _HALF:
        return text
    return f"{text[:_HALF]}\n… {len(text) - 2 * _HALF:,} characters omitted …\n{text[-_HALF:]}"
