"""The folder where Assay keeps data, environments and labs on this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import UsageError


@dataclass(frozen=True)
class Home:
    """The folder named by `ASSAY_HOME` and its subfolders.

    Folders that are mounted into labs (`public`, `environments`, `labs`) contain only entries with random names: mount
    paths are visible inside a lab and must not reveal the task. Folders that labs must never see (`data`, `downloads`)
    have mode 0700.
    """

    root: Path

    @classmethod
    def default(cls) -> "Home":
        """Return `ASSAY_HOME`, or else the user's cache folder, which for root is /var/cache/assay.

        Labs started by root run as another user, who cannot traverse root's home directory.
        """
        if named := os.environ.get("ASSAY_HOME"):
            return cls(expand_user(named).absolute())
        if os.geteuid() == 0:
            return cls(Path("/var/cache/assay"))
        cache = os.environ.get("XDG_CACHE_HOME") or expand_user("~/.cache")
        return cls(Path(cache).absolute() / "assay")

    @property
    def data(self) -> Path:
        """Prepared tasks: `data/SUITE/TASK/EDITION/VARIANT/{manifest.json, public -> …, private/, raw/}`."""
        return self._private("data")

    @property
    def downloads(self) -> Path:
        """Downloaded packages and archives, by hash."""
        return self._private("downloads")

    @property
    def public(self) -> Path:
        """Public files of prepared tasks, in folders with random names."""
        return self._open("public")

    @property
    def environments(self) -> Path:
        """Python environments of labs."""
        return self._open("environments")

    @property
    def labs(self) -> Path:
        """Workspaces of the labs that are open now."""
        return self._open("labs")

    @property
    def system(self) -> Path:
        """The /etc that labs see, in folders named by hash; recreated when missing."""
        return self._open("system")

    @property
    def templates(self) -> Path:
        """Empty disk images that the images of labs are copied from; recreated when missing."""
        return self._private("templates")

    @property
    def index(self) -> Path:
        """Indexes of runs, by hash of the run's path; recreated from the records when missing."""
        return self._private("index")

    @property
    def converted(self) -> Path:
        """Tasks of other harnesses as tasks of Assay, in folders named by hash; runs of them need them to resume."""
        return self._private("converted")

    @property
    def planned(self) -> Path:
        """Hashes of the trials that were planned with this home; without it, resuming may ask whether to trust them."""
        return self._private("planned")

    @property
    def locks(self) -> Path:
        """Lock files: empty, and safe to delete when nothing is running."""
        return self._private("locks")

    def _open(self, name: str) -> Path:
        return self._folder(name, 0o755)

    def _private(self, name: str) -> Path:
        return self._folder(name, 0o700)

    def _folder(self, name: str, mode: int) -> Path:
        folder = self.root / name
        try:
            if not folder.is_dir():
                self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
                folder.mkdir(mode=mode, exist_ok=True)
                folder.chmod(mode)
        except OSError as error:
            raise UsageError(f"Cannot use {self.root}: {error.strerror}; set ASSAY_HOME to a writable folder") from None
        return folder


def find_user_config(variables: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's configuration file, whether it exists or not; suites are in `suites` next to it."""
    named = variables.get("ASSAY_CONFIG")
    folder = Path(variables.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
    return Path(named) if named else folder / "assay" / "config.toml"


def expand_user(path: str) -> Path:
    """Return a path with `~` or `~user` replaced by a home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"Cannot expand {path}: {error}") from None
