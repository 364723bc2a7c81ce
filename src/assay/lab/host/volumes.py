"""A disk of limited size for a workspace: a mounted image file. Requires root; other users' disk usage is polled."""

import errno
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import random_token
from assay.core.errors import LabError

_TOOLS = "/usr/sbin:/sbin:/usr/bin:/bin"
_MAKE = ("mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "16384", "-m", "0", "-O", "^has_journal,^resize_inode",
         "-E", "lazy_itable_init=1,nodiscard")  # fmt: skip
# A workspace does not outlive its lab, and snapshots are stored elsewhere: nothing in it has to reach the disk.
_OPTIONS = "noinit_itable,nobarrier"
_SPARE_INODES = 8  # a command's own temporary folder is gone when its end is judged


class VolumeUnavailable(Exception):
    """This machine cannot mount an image; the message says why."""


@dataclass(frozen=True)
class Volume:
    """A mounted image."""

    image: Path
    point: Path

    def full(self) -> bool:
        """Whether there is no space left, or no inode."""
        filesystem = os.statvfs(self.point)
        # The file system reserves a fiftieth, at most 4096 blocks, and counts it as free; one megabyte is slack.
        return filesystem.f_bavail <= min(filesystem.f_blocks // 50, 4096) + 256 or filesystem.f_favail < _SPARE_INODES


def create_volume(folder: Path, size: int, templates: Path) -> Volume:
    """Create and mount an image for `size` bytes of files: a copy of an empty one in `templates`."""
    if os.geteuid() != 0:
        raise VolumeUnavailable("only root can mount an image")
    volume = Volume(folder / "disk", folder / "volume")
    _copy(_template(size, templates), volume.image)
    volume.point.mkdir()
    try:
        _run("mount", "-o", f"loop,nosuid,nodev,noatime,{_OPTIONS}", str(volume.image), str(volume.point))
    except VolumeUnavailable:
        volume.image.unlink()
        volume.point.rmdir()
        raise
    return volume


def remove_volume(folder: Path) -> None:
    """Unmount and delete the image in `folder`, if there is one."""
    volume = Volume(folder / "disk", folder / "volume")
    if volume.point.is_mount():
        try:
            _run("umount", str(volume.point))
        except VolumeUnavailable:
            # A process on the host has a file of the workspace open; let it finish, no other can open one.
            try:
                _run("umount", "--lazy", str(volume.point))
            except VolumeUnavailable as error:
                raise LabError(f"cannot unmount {volume.point}: {error}") from error
    volume.image.unlink(missing_ok=True)


def _template(size: int, templates: Path) -> Path:
    """Return an empty image of this size, which is created once."""
    template = templates / f"{size}-{hashlib.sha256(' '.join(_MAKE).encode()).hexdigest()[:10]}"
    if not template.exists():
        temporary = templates / f".{random_token()}"
        try:
            with temporary.open("xb") as file:
                # The tables and the reserve of the file system take about a twenty-fifth.
                file.truncate(size + size // 25 + 2**19)
            _run(*_MAKE, str(temporary))
            temporary.replace(template)
        finally:
            temporary.unlink(missing_ok=True)
    return template


def _copy(source: Path, target: Path) -> None:
    """Copy a sparse file with its holes."""
    with source.open("rb") as old, target.open("xb") as new:
        end, reached = os.fstat(old.fileno()).st_size, 0
        new.truncate(end)
        while reached < end:
            try:
                reached = os.lseek(old.fileno(), reached, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # ENXIO: nothing but a hole is left
                    raise
                return
            hole = os.lseek(old.fileno(), reached, os.SEEK_HOLE)
            os.lseek(new.fileno(), reached, os.SEEK_SET)
            os.sendfile(new.fileno(), old.fileno(), reached, hole - reached)
            reached = os.lseek(new.fileno(), 0, os.SEEK_CUR)


def _run(name: str, *arguments: str) -> None:
    tool = shutil.which(name, path=_TOOLS)
    if tool is None:
        raise VolumeUnavailable(f"{name} is not installed")
    done = subprocess.run([tool, *arguments], env={"PATH": _TOOLS}, capture_output=True, text=True)
    if done.returncode != 0:
        raise VolumeUnavailable(
            f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
        )
