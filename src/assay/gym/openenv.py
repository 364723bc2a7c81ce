"""Labs as a server of OpenEnv: `python -m assay.gym.openenv pocket/digits --port 8000`, or the app `create_server`."""

import argparse
from typing import Any, Literal
from uuid import uuid4

from anyio import to_thread
from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from assay.gym.environment import LabEnv
from assay.gym.rewards import Rewards
from assay.gym.worlds import World


class LabAction(Action):  # type: ignore[misc, unused-ignore]  # OpenEnv has an environment of its own
    """What to do: run a command or Python code, replace the file `path`, or end the episode."""

    tool: Literal["bash", "python", "edit", "submit"]
    text: str = ""
    path: str = ""


class LabObservation(Observation):  # type: ignore[misc, unused-ignore]
    """The task at first, then what each action shows; the grade is told at the end."""

    text: str
    steps_left: int
    info: dict[str, Any] = Field(default_factory=dict)


class LabServer(Environment[LabAction, LabObservation, State]):  # type: ignore[misc, unused-ignore]
    """One session: a lab, and another one after each reset."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env: LabEnv) -> None:
        super().__init__()
        self._env = env
        self._state = State(episode_id=None, step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> LabObservation:
        """Open a fresh lab."""
        seen, info = self._env.reset(seed=seed)
        self._state = State(episode_id=episode_id or uuid4().hex, step_count=0, **info)
        return LabObservation(text=seen["text"], steps_left=int(seen["steps_left"]), info=info)

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> LabObservation:
        """Do the same while other sessions go on."""
        return await to_thread.run_sync(lambda: self.reset(seed, episode_id))

    def step(self, action: LabAction, timeout_s: float | None = None, **options: Any) -> LabObservation:
        """Carry out an action; time is limited by the budget of the episode."""
        seen, reward, ended, truncated, info = self._env.step(
            {"tool": action.tool, "text": action.text, "path": action.path}
        )
        self._state.step_count += 1
        return LabObservation(
            text=seen["text"],
            steps_left=int(seen["steps_left"]),
            info=info,
            reward=reward,
            done=ended or truncated,
        )

    async def step_async(self, action: LabAction, timeout_s: float | None = None, **options: Any) -> LabObservation:
        """Do the same while other sessions go on."""
        return await to_thread.run_sync(lambda: self.step(action))

    @property
    def state(self) -> State:
        """The number of steps, the task and the variant of its data."""
        return self._state

    def close(self) -> None:
        """Close the lab."""
        self._env.close()


def create_server(*worlds: str | World, sessions: int = 8, **settings: Any) -> Any:
    """Return an app with up to `sessions` labs at once; `settings` are those of `LabEnv`."""
    return create_fastapi_app(
        lambda: LabServer(LabEnv(worlds, **settings)), LabAction, LabObservation, max_concurrent_envs=sessions
    )


def main() -> None:
    """Serve tasks on this machine."""
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+", help="tasks whose data is prepared, pocket/digits")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--sessions", type=int, default=8, help="labs at once")
    parser.add_argument("--validation", type=float, default=0.0, help="weight of progress on hidden validation rows")
    asked = parser.parse_args()
    rewards = Rewards(validation=asked.validation)
    uvicorn.run(create_server(*asked.tasks, sessions=asked.sessions, rewards=rewards), host=asked.host, port=asked.port)


if __name__ == "__main__":
    main()
