"""What a plan file does only if its reader allows it: it may be a stranger's.

Flags are the user's own, and so are the user's configuration and presets. What a plan file says may send an API key to
another host, run code on this machine, or bring its files into a lab.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.agents import find_agent
from assay.core.errors import RecordError, UsageError
from assay.core.plugins import split_path
from assay.core.text import quote
from assay.core.untrusted import read_plain
from assay.models.messages import Usage
from assay.models.prices import Prices
from assay.models.weights import LOCAL, is_packaged
from assay.runs.plan_config import AgentConfig, PlanConfig, list_settings

_HOSTED = frozenset({
    "anthropic", "azureai", "bedrock", "cloudflare", "deepseek", "fireworks", "google", "grok", "groq",
    "hf-inference-providers", "meta", "mistral", "moonshot", "openai", "openai-api", "openrouter", "perplexity",
    "sagemaker", "sambanova", "together",
})  # fmt: skip
"""Providers that send prompts and the user's key for them to an address of their own or of the user's environment."""
_OPTIONS = frozenset({"cache_ttl", "emulate_tools", "responses_api"})
_SLURM = frozenset({
    "account", "clusters", "constraint", "cpus_per_task", "exclude", "exclusive", "gpus", "gpus_per_node",
    "gpus_per_task", "gres", "licenses", "mem", "mem_gb", "mem_per_cpu", "mem_per_gpu", "nodelist", "partition",
    "qos", "reservation", "time", "timeout_min",
})  # fmt: skip
_MAX_CODE = 10**7
_HARBOR = "harbor:"


def find_risks(plan: PlanConfig, flags: PlanConfig, folder: Path) -> tuple[str, ...]:
    """Return what the settings of a plan file in `folder` do that needs to be allowed, naming it exactly.

    Settings that flags override do nothing.
    """
    overridden = list_settings(flags)
    settings = {key: value for key, value in list_settings(plan).items() if key not in overridden}
    inside = folder.resolve()
    risks: list[str] = []
    for key, value in settings.items():
        group, _, name = key.partition("/")
        match group:
            case "model_settings":
                risks += _of_model_setting(name.rpartition("/")[2], value)
            case "tasks":
                folders = [task.removeprefix(_HARBOR) for task in value if task.startswith(_HARBOR)]
                risks += (
                    f"let labs read the tasks in {_locate(path)}" for path in folders if not _is_inside(path, inside)
                )
            case "prices":
                risks += _of_prices(plan)
            case "models":
                risks += (risk for roles in plan.models or () for risk in _of_models(roles))
            case "roles":
                risks += _of_models({name: value})
            case "agents":
                risks += (risk for agent in plan.agents or () for risk in _of_agent(agent, inside))
            case "policy":
                risks += _of_code(value, "search policy")
            case "sandbox":
                risks += _of_sandbox(value)
            case "weights" | "data_from":
                risks.append(f"let labs read the files in {_locate(value)} ({group})")
            case "descriptions" if not _is_inside(value, inside):
                risks.append(f"read descriptions of tasks in {_locate(value)} and send them to models")
            case "environment" if str(value).endswith(".txt") and not _is_inside(value, inside):
                risks.append(f"read the requirements file {_locate(value)}")
            case "out" if not (_is_inside(value, inside) or _is_inside(value, Path().resolve())):
                risks.append(f"write its records to {_locate(value)}")
            case "on" if value not in ("local", "slurm", "ray"):
                risks += _of_code(value, "executor") or [f"run trials, with your API keys, at {value}"]
            case "slurm":
                unusual = {option: text for option, text in value.items() if option not in _SLURM}
                risks += (f"pass {option}={text} to Slurm" for option, text in unusual.items())
    return tuple(dict.fromkeys(risks))


def _of_model_setting(name: str, value: Any) -> Iterator[str]:
    if name == "base_url":
        yield f"send prompts and your API key to {value}"
    elif name == "options":
        for option, setting in value.items():
            if option not in _OPTIONS:
                yield f"pass {option}={setting!r} to the client of the model's provider"


def _of_models(roles: Mapping[str, str]) -> Iterator[str]:
    for model in roles.values():
        provider = model.partition("/")[0]
        if provider not in _HOSTED and not (model.startswith(LOCAL) and is_packaged(model.removeprefix(LOCAL))):
            yield f"use the model {model}, whose provider can run code and read files on this machine"


def _of_prices(plan: PlanConfig) -> Iterator[str]:
    """Name prices below those of a provider's list, with which a limit on the cost would allow more than it says."""
    own, listed, million = Prices(models=plan.prices or {}), Prices(), Usage(input_tokens=10**6, output_tokens=10**6)
    names = {*plan.roles.values(), *(name for roles in plan.models or () for name in roles.values())}
    for name in sorted(names):
        price, usual = own.cost(name, million), listed.cost(name, million)
        if price is not None and usual is not None and price < usual:
            yield f"count {name} at ${price:g} for a million tokens in and out, where the list price is ${usual:g}"


def _of_agent(config: AgentConfig, inside: Path) -> Iterator[str]:
    if code := _of_code(config.name, "agent"):
        yield from code
        return
    agent = find_agent(config.name, config.settings)
    required = agent.requirements()
    settings = agent.model_dump(mode="json", exclude_defaults=True)
    if required.unsealed:
        yield f"run agent {config.name} on this machine itself, outside of any sandbox: {settings}"
    if required.tools and required.tools.endswith(".txt") and not _is_inside(required.tools, inside):
        yield f"read the requirements file {_locate(required.tools)}"
    for name, value in settings.items():
        if isinstance(value, str) and name == "policy":
            yield from _of_code(value, "search policy")
        if isinstance(value, str) and _is_path(value) and not _is_inside(value, inside):
            yield f"let agent {config.name} read {_locate(value)} ({name})"


def _of_sandbox(name: str) -> list[str]:
    if name == "none":
        return ["run the code that agents write on this machine itself, without a sandbox"]
    return _of_code(name, "sandbox")


def _of_code(name: str, noun: str) -> list[str]:
    """Return the risk of a plug-in that is given by its path, with the hash of the file."""
    file = split_path(name)
    if file is None:
        return []
    path = _locate(file[0])
    try:
        digest = hashlib.sha256(read_plain(path, _MAX_CODE)).hexdigest()
    except (RecordError, OSError) as error:
        raise UsageError(f"{noun} {name}: {error}") from None
    return [f"run the code of {path} on this machine (SHA-256 {digest})"]


def _is_path(text: str) -> bool:
    try:
        return _locate(text).exists()
    except (OSError, UsageError):
        return False


def _is_inside(path: str | Path, folder: Path) -> bool:
    return _locate(path).is_relative_to(folder)


def _locate(path: str | Path) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL character, a user that does not exist
        raise UsageError(f"{quote(path)} is no path: {error}") from None
