"""A disk of limited size for a workspace: a file with a file system in it, mounted. Needs root; others are polled."""

import errno
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.lab.host.mounting import mount_image, unmount

_TOOLS = "/usr/sbin:/sbin:/usr/bin:/bin"
_MAKE = ("mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "16384", "-m", "0", "-O", "^has_journal,^resize_inode",
         "-E", "lazy_itable_init=1,nodiscard")  # fmt: skip
# A workspace does not outlive its lab, and is kept by snapshots: nothing in it has to reach the machine's disk.
_OPTIONS = "noinit_itable,nobarrier"


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


def create(folder: Path, size: int, templates: Path) -> Volume:
    """Make and mount a disk with room for `size` bytes of files: a copy of an empty one that is kept in `templates`."""
    if os.geteuid() != 0:
        raise Refused("only root can mount a disk")
    volume = Volume(folder / "disk", folder / "volume")
    _copy(_empty(size, templates), volume.image)
    volume.point.mkdir()
    try:
        mount_image(volume.image, volume.point, "ext4", _OPTIONS)
    except OSError:
        # Where the kernel or a container has no such calls, the program may know another way.
        try:
            _run("mount", "-o", f"loop,nosuid,nodev,noatime,{_OPTIONS}", str(volume.image), str(volume.point))
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
            unmount(volume.point)
        except OSError:
            # Something on the host looks into the workspace; let it finish, nobody can enter any more.
            try:
                unmount(volume.point, lazily=True)
            except OSError as error:
                raise LabError(f"cannot unmount {volume.point}: {error.strerror}") from error
    volume.image.unlink(missing_ok=True)


def _empty(size: int, templates: Path) -> Path:
    """An empty disk with room for so much, made once."""
    template = templates / f"{size}-{hashlib.sha256(' '.join(_MAKE).encode()).hexdigest()[:10]}"
    if not template.exists():
        beside = templates / f".{random_token()}"
        try:
            with beside.open("xb") as file:
                # The file system's own tables, and what it keeps back, take about a twenty-fifth.
                file.truncate(size + size // 25 + 2**19)
            _run(*_MAKE, str(beside))
            beside.replace(template)
        finally:
            beside.unlink(missing_ok=True)
    return template


def _copy(source: Path, target: Path) -> None:
    """Copy a file that is mostly holes, with its holes."""
    with source.open("rb") as old, target.open("xb") as new:
        end, reached = os.fstat(old.fileno()).st_size, 0
        new.truncate(end)
        while reached < end:
            try:
                reached = os.lseek(old.fileno(), reached, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # else nothing but a hole is left
                    raise
                return
            hole = os.lseek(old.fileno(), reached, os.SEEK_HOLE)
            os.lseek(new.fileno(), reached, os.SEEK_SET)
            os.sendfile(new.fileno(), old.fileno(), reached, hole - reached)
            reached = os.lseek(new.fileno(), 0, os.SEEK_CUR)


def _run(name: str, *arguments: str) -> None:
    tool = shutil.which(name, path=_TOOLS)
    if tool is None:
        raise Refused(f"{name} is not installed")
    done = subprocess.run([tool, *arguments], env={"PATH": _TOOLS}, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
