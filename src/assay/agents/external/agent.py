"""Somebody else's agent as a black box: a command that runs in the lab and thinks through a metered model endpoint."""

import hashlib
import os
import shlex
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from assay.agents.agent import Agent, Wants
from assay.agents.briefing import briefing
from assay.agents.workbench import Workbench
from assay.core.errors import ModelError
from assay.records import OutOfBudget
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.agents.external.profile import Profile

TASK = "task.md"
CHECK = (
    "To have its form checked, as often as you like and without being told a score, run: python -c "
    "\"import urllib.request as r; print(r.urlopen('{endpoint}/validate', b'').read().decode())\"."
)
AGAIN = "You have worked on this before and were interrupted. What you had written then is in the workspace.\n\n"


class External(Agent):
    """Runs any command-line agent in the lab, where it reaches nothing but models, metered by the harness.

    It speaks OpenAI's, Anthropic's or Google's protocol to an endpoint on the lab's own 127.0.0.1; every question is a
    step of the trial and counts against its budget. No key enters the lab, and which model it names does not matter.
    """

    summary = "runs any command-line agent in the lab: AIDE, mini-swe-agent, Claude Code, Codex, Gemini, or a command"
    asks_models: ClassVar[bool] = True

    profile: str = Field("", description="which agent: aide, mini-swe-agent, claude-code, codex, …, or a path.toml")
    command: str = Field("", description="instead of a profile, the command, with {task}, {endpoint}, {model}, …")
    environment: str = Field("", description="the lab environment with its packages; default: the profile's, or none")
    variables: tuple[str, ...] = Field((), description="further variables, as NAME=VALUE;NAME=VALUE")
    trajectory: tuple[str, ...] = Field((), description="files to keep beside the record, as logs/*;*.json")
    trajectory_size: int = Field(50_000_000, ge=0, description="how many bytes of those to keep at the most")
    inside: bool = Field(True, description="run in the lab; no means on this machine itself, marked as unsealed")
    pass_variables: tuple[str, ...] = Field((), description="with inside=no, variables of ours that it finds")
    profile_hash: str = Field("", description="what the profile was when the trial was planned")

    @field_validator("variables", "trajectory", "pass_variables", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return [part for part in value.split(";") if part] if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _pinned(cls, given: Any) -> Any:
        """Note what the profile says now: a trial that is taken up again must be the one that was planned."""
        if not isinstance(given, dict):
            return given
        if bool(given.get("profile")) == bool(given.get("command")):
            raise ValueError("give a profile or a command, as external,profile=aide")
        if not given.get("profile"):
            return given
        from assay.agents.external.profile import load_profile

        now = hashlib.sha256(load_profile(given["profile"]).model_dump_json().encode()).hexdigest()[:16]
        if given.get("profile_hash", now) not in ("", now):
            raise ValueError(f"the profile {given['profile']} is not what it was when the trial was planned")
        return {**given, "profile_hash": now}

    def label(self, name: str) -> str:
        """How reports call it."""
        return super().label(name).replace(f",profile_hash={self.profile_hash}", "")

    def inapplicable(self, task: Task) -> str | None:
        """Why it cannot take `task` on."""
        return self._profile().missing

    def wants(self) -> Wants:
        """An environment of its own where it has one, and the way to models."""
        return Wants(self.environment or self._profile().environment, "models", unsealed=not self.inside)

    async def work(self, bench: Workbench) -> None:
        """Run the command until it ends by itself or by the budget; what it wrote by then is handed in."""
        from assay.agents.external.runner import Order, Outside, filled, known

        past = await bench.leave_past()
        if any(deed.what == "outside" for deed in past):
            return  # it had ended, and what it left was kept
        profile = self._profile()
        # Nobody can make a black box go on where it was: it begins anew, with the files that it had written.
        values = known(bench, profile.model, "", resumed=bool(past))
        check = CHECK.format(endpoint=values["endpoint"])
        values["task"] = (AGAIN if past else "") + briefing(bench, check=check)
        order = Order(
            [filled(word, values) for word in profile.command],
            {**self._of_ours(), **{name: filled(value, values) for name, value in self._variables(profile).items()}},
            [filled(path, values) for path in profile.submissions],
        )
        await bench.write(TASK, values["task"])
        for path, content in profile.files.items():
            await bench.write(path, filled(content, values))
        await bench.keep()
        agent = Outside(bench, order, int(values["port"]))
        await bench.record("outside", {"command": list(order.command)}, agent.run)
        await bench.keep()
        kept = await bench.collect([*profile.trajectory, *self.trajectory], self.trajectory_size)
        await bench.note("trajectory", files=kept)
        if isinstance(agent.endpoint.ended_by, ModelError | OutOfBudget):
            raise agent.endpoint.ended_by
        if agent.cut:
            raise OutOfBudget("time is up")

    def _profile(self) -> "Profile":
        from assay.agents.external.profile import Profile, load_profile

        return load_profile(self.profile) if self.profile else Profile(command=tuple(shlex.split(self.command)))

    def _variables(self, profile: "Profile") -> dict[str, str]:
        """What its clients look for, then what the profile and the user say; the key is none."""
        usual = {
            "OPENAI_BASE_URL": "{endpoint}/v1",
            "OPENAI_API_BASE": "{endpoint}/v1",
            "OPENAI_API_KEY": "no-key-is-needed",
            "ANTHROPIC_BASE_URL": "{endpoint}",
            "ANTHROPIC_API_KEY": "no-key-is-needed",
            "GOOGLE_GEMINI_BASE_URL": "{endpoint}",
            "GEMINI_API_KEY": "no-key-is-needed",
            "MODEL": "{model}",
            "SUBMISSION": "{submission}",
            "RESUMED": "{resumed}",
        }
        own = dict(pair.split("=", 1) for pair in self.variables)
        return {**usual, **profile.variables, **own}

    def _of_ours(self) -> dict[str, str]:
        """For a command on the machine itself: where programs are, and the variables that it was promised."""
        names = () if self.inside else ("PATH", *self.pass_variables)
        return {name: os.environ[name] for name in names if name in os.environ}
