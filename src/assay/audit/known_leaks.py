"""What is known of a task from outside its data, such as labels that anyone can look up: `known_leaks.toml`."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from assay.audit.finding import AuditFinding
from assay.core.quantities import Model
from assay.data.store import Prepared

CHECK = "public labels"


class KnownLeak(Model):
    """A reported leak or bug of a published task."""

    tasks: tuple[str, ...]
    text: str
    source: str = Field(description="who reported it")
    check: str | None = Field(default=None, description="the check that finds it where it is; None if there is none")
    match: str = Field(default="", description="a part of the finding's text, where a check has several findings")
    status: Literal["repaired", "remains", "outside", "real-data", "not-here"] = Field(
        description="in the repaired edition: gone; still there, as in the competition or its published split; not in "
        "the data at all; suspected, for real data to show; or never true of the data that this project prepares"
    )


@lru_cache
def read_known(path: Path) -> tuple[KnownLeak, ...]:
    """Return the known leaks of a suite."""
    content = tomllib.loads(path.read_text("utf-8"))
    return tuple(KnownLeak.model_validate(item) for item in content["leak"])


def list_known(prepared: Prepared) -> list[AuditFinding]:
    """Report what no check of the data can find: answers that are public elsewhere."""
    path = prepared.task.folder.parent / "known_leaks.toml"
    if not path.is_file():
        return []
    return [
        AuditFinding(CHECK, "medium", leak.text, (f"source: {leak.source}",), "reports, not the data")
        for leak in read_known(path)
        if leak.status == "outside" and prepared.task.name in leak.tasks
    ]
