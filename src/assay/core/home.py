"""Where Assay keeps data, environments and labs on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Home:
    """The folder named by `ASSAY_HOME`, and the places in it.

    What a lab may see (`public`, `environments`, `labs`) lies in folders with random names, because mount paths are
    visible inside a lab and must not tell the task's name. What a lab must never see (`data`, `downloads`) is 0700.
    """

    root: Path

    @classmethod
    def default(cls) -> "Home":
        """`ASSAY_HOME`, else the user's cache folder; for root a system folder that other users can traverse.

        Labs started by root run as another user, who cannot pass through root's own home.
        """
        if named := os.environ.get("ASSAY_HOME"):
            return cls(Path(named).expanduser().absolute())
        if os.geteuid() == 0:
            return cls(Path("/var/cache/assay"))
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(cache).absolute() / "assay")

    @property
    def data(self) -> Path:
        """Prepared tasks: `data/SUITE/TASK/EDITION/VARIANT/{manifest.json, public -> …, private/, raw/}`."""
        return self._private("data")

    @property
    def downloads(self) -> Path:
        """Fetched packages and archives, by hash."""
        return self._private("downloads")

    @property
    def public(self) -> Path:
        """Public files of prepared tasks, in folders with random names."""
        return self._open("public")

    @property
    def environments(self) -> Path:
        """Python environments for labs."""
        return self._open("environments")

    @property
    def labs(self) -> Path:
        """Workspaces of labs that are open now."""
        return self._open("labs")

    @property
    def system(self) -> Path:
        """What labs see as the machine's settings, in folders named by hashes; made again where it is missing."""
        return self._open("system")

    @property
    def templates(self) -> Path:
        """Empty disks, which those of labs are copied from; made again where they are missing."""
        return self._private("templates")

    @property
    def locks(self) -> Path:
        """Lock files; empty, and safe to delete when nothing runs."""
        return self._private("locks")

    def _open(self, name: str) -> Path:
        return self._folder(name, 0o755)

    def _private(self, name: str) -> Path:
        return self._folder(name, 0o700)

    def _folder(self, name: str, mode: int) -> Path:
        folder = self.root / name
        if not folder.is_dir():
            self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
            folder.mkdir(mode=mode, exist_ok=True)
            folder.chmod(mode)
        return folder
