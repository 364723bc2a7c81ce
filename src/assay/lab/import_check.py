"""Check that every package of an environment works where agents need it: inside a sealed lab."""

import json
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import LabError
from assay.core.home import Home
from assay.core.text import one_line
from assay.lab import import_probe
from assay.lab.environments import find_environment
from assay.lab.interface import Limits, Setup
from assay.lab.lab import open_lab

_LIMITS = Limits(memory=8 * 10**9, cores=2)
_SECONDS = 3600.0


@dataclass(frozen=True)
class ImportedPackage:
    """A package of an environment, and what happened when its modules were imported."""

    package: str
    modules: tuple[str, ...]
    """Its top-level modules."""
    printed: str
    """What they print when they are imported."""
    used: bool
    """Whether a line of work was done with it, besides importing it."""
    error: str
    """The first error of importing or using it, or ""."""


async def check_imports(home: Home, name: str) -> list[ImportedPackage]:
    """Import every package of a built environment, and use those we know, in a lab without network or data."""
    script = Path(import_probe.__file__)
    async with open_lab(home, Setup(find_environment(home, name), limits=_LIMITS)) as lab:
        for file in (script, script.parent / "environments" / "work.toml"):
            await lab.write(file.name, file.read_bytes())
        done = await lab.run(["python", script.name], seconds=_SECONDS)
    if not done.succeeded:
        raise LabError(f"the imports of environment {name} were not checked: {one_line(done.stderr.text[-500:])}")
    reports = [json.loads(line) for line in done.stdout.text.splitlines()]
    return [ImportedPackage(**{**each, "modules": tuple(each["modules"])}) for each in reports]
