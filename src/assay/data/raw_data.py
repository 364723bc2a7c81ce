"""Raw data on this machine: where it is, and where it came from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assay.core.errors import SourceError
from assay.core.quantities import Model
from assay.core.untrusted import find_special_file
from assay.data.publish import File

OriginKind = Literal["packages", "web", "kaggle", "local", "user", "synthetic", "plugin"]


"""`local` is data on this machine that the task names, `user` a copy that the user passes with `--raw`."""


class Origin(Model):
    """Where raw data came from, and whether it is known to be what the published benchmark was made from."""

    kind: OriginKind
    verified: bool
    md5: str | None = None


@dataclass(frozen=True)
class RawData:
    """Raw data that is ready to be prepared; it is read, never written to."""

    folder: Path
    origin: Origin
    files: dict[str, File] = field(default_factory=dict)

    @property
    def proof(self) -> Literal["checksum", "none"]:
        """What proves, before anything is prepared, that it is what the published benchmark was made from."""
        return "checksum" if self.origin.verified else "none"


def refuse_links_within(folder: Path) -> None:
    """Raise `SourceError` if a folder of the user has links: what they lead to would be published to every lab."""
    if special := find_special_file(folder):
        raise SourceError(f"{folder}: {special} is a link or a special file; replace it with a copy of the file")
