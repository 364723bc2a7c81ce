"""The external agent: any command, run in the lab as a black box, with a metered model endpoint."""

import hashlib
import importlib.util
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from assay.agents.agent import Agent, ModelUse, Requirements, format_label
from assay.agents.briefing import briefing
from assay.agents.workbench import Workbench
from assay.core.errors import MissingDependency, ModelError
from assay.core.layout import shorten_middle
from assay.core.text import one_line
from assay.records import OutOfBudget
from assay.records.code import Solution
from assay.records.events import ExternalProcessRequest, ExternalProcessResult
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.agents.external.profile import Profile

TASK_FILE = "task.md"
CHECK = (
    "To check its format, without a score and at most {max_validations} times, run: python -c "
    "\"import urllib.request as r; print(r.urlopen('{endpoint}/validate', b'').read().decode())\"."
)
OFFER = (
    "To offer your submission as a candidate, run: python -c "
    "\"import urllib.request as r; print(r.urlopen('{endpoint}/offer', b'').read().decode())\"."
)
RESUMED = (
    "You have worked on this task before and were interrupted. The files you had written are in the workspace.\n\n"
)
NO_KEY = "no-key-is-needed"
_MAX_COMMAND = 32

Protocol = Literal["none", "acp"]
"""How an agent is given its task: by its command alone, or through the Agent Client Protocol."""


class External(Agent):
    """Runs any command-line agent in the lab, where the only thing it can reach is a metered model endpoint.

    It speaks OpenAI's, Anthropic's or Google's protocol to an endpoint on the lab's own 127.0.0.1; every request is a
    step of the trial and counts against its budget. No API key enters the lab. The model it names is ignored, unless
    it is a role that has a model of its own, such as `review`.
    """

    summary = "runs any command-line agent in the lab: AIDE, Claude Code, Codex, OpenCode, any ACP agent, or a command"
    asks_models: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("external_process", "write", "note", "model", "validation", "offer")

    profile: str = Field("", description="the agent: aide, mini-swe-agent, claude-code, codex, …, or a path.toml")
    command: str = Field("", description="command to run instead of a profile, with {task}, {endpoint}, {model}, …")
    protocol: Protocol = Field("none", description="acp: the command speaks the Agent Client Protocol")
    arguments: str = Field("", description="arguments to add to those of the profile, e.g. agent.search.debug_prob=0.5")
    notes: str = Field("", description="notes to add to the task prompt")
    environment: str = Field("", description="lab environment with its packages; default: the profile's")
    variables: tuple[str, ...] = Field((), description="more environment variables, e.g. NAME=VALUE;NAME=VALUE")
    trajectory: tuple[str, ...] = Field((), description="files to keep with the record, e.g. logs/*;*.json")
    trajectory_size: int = Field(50_000_000, ge=0, description="max bytes of these files to keep")
    models: bool = Field(True, description="whether it may ask models; no: it runs without any, whatever the plan says")
    sampling: bool = Field(True, description="pass on temperature, max tokens etc. that its requests ask for")
    inside: bool = Field(True, description="run in the lab; no: on this machine itself, marked as unsealed")
    pass_variables: tuple[str, ...] = Field((), description="with inside=no: variables of this machine to pass on")
    profile_hash: str = Field("", description="hash of the profile when the trial was planned")

    @field_validator("variables", "trajectory", "pass_variables", mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        return [part for part in value.split(";") if part] if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _pin_profile(cls, settings: Any) -> Any:
        """Record the hash of the profile: a trial that is resumed must be the one that was planned."""
        if not isinstance(settings, dict):
            return settings
        if bool(settings.get("profile")) == bool(settings.get("command")):
            raise ValueError("give either a profile or a command, e.g. external,profile=aide")
        if not settings.get("profile"):
            return settings
        if settings.get("protocol", "none") != "none":
            raise ValueError("protocol goes with a command; a profile names its own")
        from assay.agents.external.profile import load_profile

        digest = hashlib.sha256(load_profile(settings["profile"]).model_dump_json().encode()).hexdigest()[:16]
        if settings.get("profile_hash", digest) not in ("", digest):
            raise ValueError(f"the profile {settings['profile']} has changed since the trial was planned")
        return {**settings, "profile_hash": digest}

    @classmethod
    def settings_name_files(cls, settings: Mapping[str, Any]) -> bool:
        """Whether the profile is not one of those that are shipped."""
        from assay.agents.external.profile import profile_names

        return settings.get("profile", "") not in ("", *profile_names())

    def label(self, name: str) -> str:
        """Return its name in reports."""
        what = Path(self.profile).stem if self.profile else shorten_middle(one_line(self.command), _MAX_COMMAND)
        hidden = {"profile", "command", "profile_hash"}
        return format_label(f"{name} {what}", self.model_dump(mode="json", exclude_defaults=True, exclude=hidden))

    def model_use(self) -> ModelUse:
        """Return whether its command asks models: a profile says so; of any other command it is not known."""
        if not self.models:
            return "none"
        if not self.profile:
            return "optional"
        return "required" if self._load_profile().asks_models else "none"

    @property
    def unmet_requirement(self) -> str | None:
        """What is missing on this machine to run the agent, besides its environment."""
        return self._load_profile().unmet_requirement

    def inapplicable(self, task: Task) -> str | None:
        """Return why it cannot work on a task."""
        return self.unmet_requirement

    def find_solution(self, task: Task) -> Solution:
        """Return what the profile says, with the name of the submission filled in."""
        profile = self._load_profile()
        command = [word.replace("{submission}", task.submission.file) for word in profile.solution]
        return Solution(tuple(command), profile.solution_files)

    def requirements(self) -> Requirements:
        """Request its own environment, if it has one, and access to models."""
        if importlib.util.find_spec("h11") is None:
            raise MissingDependency("Running an external agent", "agents")
        return Requirements(self.environment or self._load_profile().environment, "models", unsealed=not self.inside)

    async def work(self, bench: Workbench) -> None:
        """Run the command until it ends by itself or the budget does; what it has written is submitted."""
        from assay.agents.external.acp import TRAJECTORY as ACP_TRAJECTORY
        from assay.agents.external.endpoint import MAX_VALIDATIONS
        from assay.agents.external.mlebench_layout import VALIDATION_PORT, VARIABLES, submission_path
        from assay.agents.external.runner import (
            ExternalAgentProcess,
            ExternalCommand,
            acp_client,
            fill_placeholders,
            placeholder_values,
        )

        past = await bench.skip_replay()
        if any(isinstance(call.request, ExternalProcessRequest) for call in past):
            return  # it had ended, and its files were kept
        profile = self._load_profile()
        mlebench = bench.lab.paths.layout == "mlebench"
        in_layout = [submission_path(bench.task)] if mlebench else []
        # A black box cannot continue where it was interrupted: it restarts with the files that it had written.
        values = placeholder_values(bench, profile.model, "", resumed=bool(past))
        check = CHECK.format(endpoint=values["endpoint"], max_validations=MAX_VALIDATIONS)
        values["task"] = (RESUMED if past else "") + briefing(
            bench, check=check, offer=OFFER.format(endpoint=values["endpoint"])
        )
        values["task"] += f"\n\n{self.notes}" if self.notes else ""
        values["arguments"] = f"{profile.arguments} {self.arguments}".strip()
        variables = {name: fill_placeholders(value, values) for name, value in self._variables(profile).items()}
        command = ExternalCommand(
            [fill_placeholders(word, values) for word in profile.command],
            {**self._host_variables(), **(VARIABLES if mlebench else {}), **variables},
            [*(fill_placeholders(path, values) for path in profile.submissions), *in_layout],
            acp_client(TASK_FILE) if profile.protocol == "acp" else (),
        )
        await bench.write(TASK_FILE, values["task"])
        for path, content in profile.files.items():
            await bench.write(path, fill_placeholders(content, values))
        for path, content in profile.included.items():
            await bench.write(path, content)
        await bench.snapshot(force=True)
        ports = [int(values["port"]), *([VALIDATION_PORT] if mlebench else [])]
        process = ExternalAgentProcess(bench, command, ports, pass_sampling=self.sampling)
        request = ExternalProcessRequest(command=tuple(command.command))
        await bench.record(request, process.run, ExternalProcessResult)
        await bench.snapshot(force=True)
        session = [ACP_TRAJECTORY] if profile.protocol == "acp" else []
        patterns = [*profile.trajectory, *self.trajectory, *session]
        kept = await bench.collect_files(patterns, self.trajectory_size)
        await bench.note("trajectory", files=kept)
        if isinstance(process.endpoint.ended_by, ModelError | OutOfBudget):
            raise process.endpoint.ended_by
        if process.stopped_by:
            raise OutOfBudget("time", "time is up")

    def _load_profile(self) -> "Profile":
        from assay.agents.external.profile import Profile, load_profile

        if self.profile:
            return load_profile(self.profile)
        return Profile(command=tuple(shlex.split(self.command)), protocol=self.protocol)

    def _variables(self, profile: "Profile") -> dict[str, str]:
        """Return the variables that common clients read, then those of the profile and the user."""
        common = {
            "OPENAI_BASE_URL": "{endpoint}/v1",
            "OPENAI_API_BASE": "{endpoint}/v1",
            "OPENAI_API_KEY": NO_KEY,
            "ANTHROPIC_BASE_URL": "{endpoint}",
            "ANTHROPIC_API_KEY": NO_KEY,
            "GOOGLE_GEMINI_BASE_URL": "{endpoint}",
            "GEMINI_API_KEY": NO_KEY,
            "MODEL": "{model}",
            "SUBMISSION": "{submission}",
            "RESUMED": "{resumed}",
        }
        own = dict(pair.split("=", 1) for pair in self.variables)
        return {**common, **profile.variables, **own}

    def _host_variables(self) -> dict[str, str]:
        """Return the variables of this machine for a command that runs on it: PATH and those passed on."""
        names = () if self.inside else ("PATH", *self.pass_variables)
        return {name: os.environ[name] for name in names if name in os.environ}
