"""Choose the strongest sandbox that works on this machine, and say why not a stronger one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.interface import Network, SandboxName
from assay.lab.sandboxes import bubblewrap, containers, landlock

# The strongest first. `none` is never chosen: who wants results without a seal must say so.
_CHECKS: dict[SandboxName, Callable[[Home], str]] = {
    "bubblewrap": lambda _: bubblewrap.check(),
    "podman": lambda home: containers.check("podman", home),
    "docker": lambda home: containers.check("docker", home),
    "landlock": lambda _: landlock.check_for_user(),
}
_WITHOUT_ENDPOINT = ("landlock",)


@dataclass(frozen=True)
class Candidate:
    """A sandbox, whether it works on this machine, and what was found or why it does not."""

    name: SandboxName
    works: bool
    detail: str


@dataclass(frozen=True)
class Choice:
    """The sandbox that `auto` means on this machine, and why the stronger ones were not chosen."""

    name: SandboxName
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


def examine_sandboxes(home: Home) -> list[Candidate]:
    """Try every sandbox, the strongest first."""
    return [_examine(name, home) for name in _CHECKS]


def choose_sandbox(home: Home, network: Network = "none") -> Choice:
    """Return the strongest sandbox that works here and can give its labs this network; `LabError` if there is none."""
    reasons = []
    for name in _CHECKS:
        if network == "models" and name in _WITHOUT_ENDPOINT:
            reasons.append(f"{name}: cannot give a lab an endpoint and nothing else")
            continue
        candidate = _examine(name, home)
        if candidate.works:
            return Choice(name, "; ".join(reasons))
        reasons.append(f"{name}: {candidate.detail}")
    listed = "\n".join(f"  {reason}" for reason in reasons)
    raise LabError(
        f"no sandbox works on this machine:\n{listed}\nWith --sandbox none, labs run unsealed, and results say so."
    )


@cache
def _examine(name: SandboxName, home: Home) -> Candidate:
    try:
        return Candidate(name, True, _CHECKS[name](home))
    except LabError as error:
        return Candidate(name, False, str(error).splitlines()[0])
