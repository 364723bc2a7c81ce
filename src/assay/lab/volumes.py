"""A disk of limited size for a workspace: a file with a file system in it, mounted. Needs root; others are polled."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.errors import LabError

_TOOLS = "/usr/sbin:/sbin:/usr/bin:/bin"


class Refused(Exception):
    """This machine does not let us mount one; says why."""


@dataclass(frozen=True)
class Volume:
    """A mounted disk of its own."""

    image: Path
    point: Path

    def full(self) -> bool:
        """Whether there is no room left, for content or for another name."""
        found = os.statvfs(self.point)
        # The file system keeps a fiftieth, 4096 blocks at most, for itself and counts it as free; a megabyte is slack.
        return found.f_bavail <= min(found.f_blocks // 50, 4096) + 256 or found.f_favail == 0


def create(folder: Path, size: int) -> Volume:
    """Make and mount a disk with room for `size` bytes of files."""
    if os.geteuid() != 0:
        raise Refused("only root can mount a disk")
    volume = Volume(folder / "disk", folder / "volume")
    with volume.image.open("xb") as file:
        # The file system's own tables, and what it keeps back, take about a twenty-fifth.
        file.truncate(size + size // 25 + 2**19)
    volume.point.mkdir()
    try:
        _run("mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "16384", "-m", "0", "-O", "^has_journal,^resize_inode",
             "-E", "lazy_itable_init=1,nodiscard", str(volume.image))  # fmt: skip
        _run("mount", "-o", "loop,nosuid,nodev,noatime,noinit_itable", str(volume.image), str(volume.point))
    except Refused:
        volume.image.unlink()
        volume.point.rmdir()
        raise
    return volume


def remove(folder: Path) -> None:
    """Unmount and delete the disk in `folder`, if there is one."""
    volume = Volume(folder / "disk", folder / "volume")
    if volume.point.is_mount():
        try:
            _run("umount", str(volume.point))
        except Refused:
            # Something on the host looks into the workspace; let it finish, nobody can enter any more.
            try:
                _run("umount", "--lazy", str(volume.point))
            except Refused as error:
                raise LabError(f"cannot unmount {volume.point}: {error}") from error
    volume.image.unlink(missing_ok=True)


def _run(name: str, *arguments: str) -> None:
    tool = shutil.which(name, path=_TOOLS)
    if tool is None:
        raise Refused(f"{name} is not installed")
    done = subprocess.run([tool, *arguments], env={"PATH": _TOOLS}, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
