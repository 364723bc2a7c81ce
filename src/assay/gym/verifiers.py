"""Labs as an environment of verifiers: `vf-eval assay-labs --env.taskset.worlds '["pocket/digits"]'`.

A model replies with one fenced block a turn: `bash`, `python`, `edit PATH` or `submit`. Everything that it writes runs
in the lab only: the harness, which talks to the model, executes nothing. The reward of a rollout is what `Rewards`
pays, and `info["grade"]` of its trace is the grade.
"""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import Field
from verifiers.v1.harnesses.null import NullHarness

from assay.core.home import Home
from assay.gym.environment import LabEnv
from assay.gym.episode import TOOLS, Action, submit
from assay.gym.rewards import Rewards
from assay.gym.worlds import World

HOW_TO_ACT = """\
# Actions

Reply with exactly one fenced block, whose first line names a tool: ```bash with a command, ```python with a program,
```edit PATH with the new content of a file, or ```submit to end. You then see what it shows."""
_BLOCK = re.compile(r"^```(\w+)[ \t]*([^\n`]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MAX_MISSES = 3


class LabConfig(vf.TasksetConfig):  # type: ignore[misc, unused-ignore]  # verifiers has an environment of its own
    """The worlds, and what all episodes in them have in common."""

    worlds: list[str] = Field(default_factory=list, description="tasks whose data is prepared, or that have miniatures")
    variant: str = Field(default="real", description="of their data, such as synthetic-0")
    seeds: int = Field(default=1, ge=1, description="episodes in each world")
    steps: int | None = Field(default=None, description="actions of an episode; default: the budget of the task")
    seconds: float | None = Field(default=None, description="time of commands; default: the budget of the task")
    rewards: dict[str, float] = Field(default_factory=dict, description="weights of `Rewards`, such as validation=1")


class LabData(vf.TaskData):  # type: ignore[misc, unused-ignore]
    """Which episode it is."""

    world: str
    variant: str
    seed: int


class LabTask(vf.Task[LabData]):  # type: ignore[misc, unused-ignore]
    """An episode; its prompt is what `reset` shows."""


class LabTaskset(vf.Taskset[LabTask, LabConfig]):  # type: ignore[misc, unused-ignore]
    """The episodes: each world with each seed."""

    def load(self) -> Iterator[LabTask]:
        """Yield the episodes."""
        config = self.config
        for seed in range(config.seeds):
            for world in config.worlds:
                data = LabData(name=f"{world}#{seed}", world=world, variant=config.variant, seed=seed)
                yield LabTask(data, config.task)


class LabHarness(NullHarness):  # type: ignore[misc, unused-ignore]
    """A conversation without tools; that of verifiers by default would run commands on this machine."""


class LabPlayers(vf.EnvConfig):  # type: ignore[misc, unused-ignore]
    """The one who plays."""

    player: vf.AgentConfig = vf.AgentConfig()


class LabRollouts(vf.Env[LabPlayers]):  # type: ignore[misc, unused-ignore]
    """A rollout: an episode in a lab, in which each reply of the model is an action."""

    async def run(self, task: LabTask, agents: Any) -> None:
        """Play an episode; it is graded however the conversation ends."""
        data, config = task.data, self.taskset.config
        env = LabEnv(
            World(data.world, data.variant),
            rewards=Rewards(**config.rewards),
            steps=config.steps,
            seconds=config.seconds,
            home=Home.default(),
        )
        try:
            seen, _ = await asyncio.to_thread(env.reset, seed=data.seed)
            async with agents.player.interaction(task) as interaction:
                total, info = await _play(env, interaction, f"{seen['text'].rstrip()}\n\n{HOW_TO_ACT}")
            trace = interaction.trace
            trace.record_reward("lab", total)
            trace.record_metric("valid", float(info["grade"]["valid_submission"]))
            if info["grade"]["score"] is not None:
                trace.record_metric("score", info["grade"]["score"])
            trace.info["grade"] = info["grade"]
        finally:
            await asyncio.to_thread(env.close)


async def _play(env: LabEnv, interaction: Any, message: str) -> tuple[float, dict[str, Any]]:
    """Act until the episode or the conversation ends; return the sum of rewards and the last `info`."""
    total, misses = 0.0, 0
    while True:
        segment = await interaction.turn(message)
        action = submit() if segment.terminated else read_action(segment.last_reply)
        if action is None:
            misses += 1
            if misses < _MAX_MISSES:
                message = f"There is no action in this reply.\n\n{HOW_TO_ACT}"
                continue
            action = submit()
        seen, reward, ended, truncated, info = await asyncio.to_thread(env.step, action)
        total, misses, message = total + reward, 0, seen["text"]
        if ended or truncated:
            return total, info


def read_action(reply: str) -> Action | None:
    """Return the action in a reply: its first fenced block that names a tool."""
    for block in _BLOCK.finditer(f"{reply}\n"):
        tool, path, text = block[1], block[2].strip(), block[3]
        if tool in TOOLS:
            return Action.read({"tool": tool, "path": path, "text": text})
    return None


__all__ = ["LabHarness", "LabRollouts", "LabTaskset"]
