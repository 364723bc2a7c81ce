"""Episodes as environments of Gymnasium, one at a time or several at once."""

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from assay.core.home import Home
from assay.gym.episode import MAX_PATH, MAX_TEXT, TOOLS, Action, Episode, Rules, Step
from assay.gym.rewards import DEFAULT, Rewards
from assay.gym.worlds import World
from assay.lab import SandboxName

Observation = dict[str, Any]
T = TypeVar("T")
_MAX_STEPS = 100_000
_MAX_SAMPLE = 200


class UnicodeText(spaces.Text):
    """Any text of at most `max_length` characters; samples are short and of letters and digits."""

    def contains(self, x: Any) -> bool:
        """Whether this is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a short text."""
        length = int(self.np_random.integers(0, min(self.max_length, _MAX_SAMPLE) + 1))
        return "".join(self.np_random.choice(self.character_list, size=length))


def action_space() -> spaces.Dict:
    """Return the space of actions: the number of a tool in `TOOLS`, a path for `edit`, and a text."""
    return spaces.Dict(
        tool=spaces.Discrete(len(TOOLS)),
        path=UnicodeText(MAX_PATH, min_length=0),
        text=UnicodeText(10**7, min_length=0),
    )


def observation_space() -> spaces.Dict:
    """Return the space of observations: the task at first, then what each action shows, and the steps left."""
    return spaces.Dict(text=UnicodeText(10 * MAX_TEXT, min_length=0), steps_left=spaces.Discrete(_MAX_STEPS))


class LabEnv(gymnasium.Env[Observation, Any]):
    """A task in a sealed lab: `reset` opens a fresh one in a world that the seed chooses, `step` acts in it.

    Observations are the same for the same seed and actions as far as the agent's code is deterministic. An episode is
    terminated by `submit`, and truncated when its steps or its time are spent; both times the submission in the
    workspace is graded, and `info["grade"]` says how.

    Args:
        worlds: The tasks, by name or with a variant of their data; an episode takes place in one of them.
        rewards: What is paid.
        steps: Actions of an episode; by default the budget of the task.
        seconds: Time that commands of an episode may take together; by default the budget of the task.
        sandbox: The sandbox of labs; by default the strongest that works here.
        home: Where prepared data is kept; by default Assay's own folder.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        worlds: str | World | Sequence[str | World],
        *,
        rewards: Rewards = DEFAULT,
        steps: int | None = None,
        seconds: float | None = None,
        sandbox: SandboxName = "auto",
        home: Home | None = None,
    ) -> None:
        self.worlds = [World(world) if isinstance(world, str) else world for world in _as_list(worlds)]
        self.action_space = action_space()
        self.observation_space = observation_space()
        self._rules = Rules(rewards, steps, seconds, sandbox)
        self._home = home or Home.default()
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Open a fresh lab; `options={"world": World(...)}` chooses the world."""
        super().reset(seed=seed)
        return run_in_loop(self.start(options))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out an action: `bash(...)` and the like, or a mapping with `tool`, `text` and `path`."""
        return run_in_loop(self.act(action))

    def close(self) -> None:
        """Close the lab."""
        if self._episode:
            run_in_loop(self.end())

    async def start(self, options: Mapping[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Open a fresh lab in a world that the generator of random numbers chooses."""
        await self.end()
        chosen = self.worlds[int(self.np_random.integers(len(self.worlds)))]
        world = (options or {}).get("world", chosen)
        seed = int(self.np_random.integers(2**31))
        self._episode = await Episode.open(self._home, world, self._rules, seed)
        return self._observe(self._episode.prompt), {"task": world.task, "variant": world.variant}

    async def act(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out an action."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        step = await self._episode.act(Action.read(action))
        observation = self._observe(step.text)
        if step.ended:
            await self.end()
        ended, truncated = step.ended == "submitted", step.ended in ("steps", "time")
        return observation, step.reward, ended, truncated, _info(step)

    async def end(self) -> None:
        """Close the lab."""
        episode, self._episode = self._episode, None
        if episode:
            await episode.close()

    def _observe(self, text: str) -> Observation:
        left = self._episode.steps_left if self._episode else 0
        return {"text": text[: 10 * MAX_TEXT], "steps_left": np.int64(min(left, _MAX_STEPS - 1))}


class LabVectorEnv(VectorEnv[Any, Any, Any]):
    """Several labs that act at once, in one process; an episode that has ended starts again in the next step."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, worlds: str | World | Sequence[str | World], num_envs: int, **settings: Any) -> None:
        self.envs = [LabEnv(worlds, **settings) for _ in range(num_envs)]
        self.num_envs = num_envs
        self.single_action_space, self.single_observation_space = action_space(), observation_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._done = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Open fresh labs; lab number n of a seed has the seed plus n."""
        seeds = [seed + number for number in range(self.num_envs)] if isinstance(seed, int) else seed
        for env, own in zip(self.envs, seeds or [None] * self.num_envs, strict=True):
            gymnasium.Env.reset(env, seed=own)
        self._done[:] = False
        results = run_in_loop(_gather(env.start(options) for env in self.envs))
        return self._batch([observation for observation, _ in results]), self._collect([info for _, info in results])

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Carry out an action in each lab: a batch of the action space, or a list of actions."""
        split = actions if isinstance(actions, list) else list(iterate(self.action_space, actions))

        async def act(env: LabEnv, action: Any, done: bool) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
            if not done:
                return await env.act(action)
            observation, info = await env.start()
            return observation, 0.0, False, False, info

        results = run_in_loop(_gather(map(act, self.envs, split, self._done.tolist())))
        observations, rewards, ended, truncated, infos = zip(*results, strict=True)
        self._done = np.array(ended) | np.array(truncated)
        return (
            self._batch(observations),
            np.array(rewards, np.float64),
            np.array(ended),
            np.array(truncated),
            self._collect(infos),
        )

    def close_extras(self, **options: Any) -> None:
        """Close all labs."""
        run_in_loop(_gather(env.end() for env in self.envs))

    def _batch(self, observations: Sequence[Observation]) -> Any:
        empty: Any = create_empty_array(self.single_observation_space, self.num_envs)
        return concatenate(self.single_observation_space, observations, empty)

    def _collect(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        together: dict[str, Any] = {}
        for number, info in enumerate(infos):
            together = self._add_info(together, info, number)
        return together


def _info(step: Step) -> dict[str, Any]:
    info: dict[str, Any] = {"paid": dict(step.paid)}
    if step.exit_code is not None:
        info["exit_code"] = step.exit_code
    if step.grade:
        info["grade"] = step.grade.model_dump(mode="json")
    return info


def _as_list(worlds: str | World | Sequence[str | World]) -> list[str | World]:
    return [worlds] if isinstance(worlds, str | World) else list(worlds)


async def _gather(calls: Any) -> list[Any]:
    return list(await asyncio.gather(*calls))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return an event loop in a thread of its own, which lives as long as the process: labs die with their thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="assay labs", daemon=True).start()

    async def close_labs() -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    atexit.register(lambda: asyncio.run_coroutine_threadsafe(close_labs(), loop).result())
    return loop


def run_in_loop(call: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the loop that labs belong to, and wait for it."""
    return asyncio.run_coroutine_threadsafe(call, _loop()).result()


gymnasium.register("assay/Lab-v0", entry_point="assay.gym.environment:LabEnv")
