"""Results in the formats of others. An exporter is a module, registered under the entry-point group `assay.exporters`.

An exporter works on the frame `trials/1`, so that it also writes what an importer read; those of traces need the record
of a run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.plugins import Plugins
from assay.interop.importers import Results


@dataclass(frozen=True)
class Exporter:
    """What writes results in a format: `write` gets them and a folder, and returns the files that it wrote."""

    name: str
    write: Callable[[Results, Path], Sequence[Path]]


EXPORTERS = Plugins[Exporter]("exporters", "exporter", lambda value: isinstance(value, Exporter))

__all__ = ["EXPORTERS", "Exporter"]
