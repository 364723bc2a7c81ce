"""Disks that can be filled, frozen and shut down, in a mount namespace that removes them when it ends."""

import fcntl
import os
import struct
import subprocess
import sys
from pathlib import Path

# The ioctl that shuts a mounted file system down; 2 means without flushing anything first.
_SHUT_DOWN, _WITHOUT_FLUSH = 0x8004587D, 2


class Machine:
    """A mount namespace; its mounts end with its last process. `inside` is the prefix of commands that run in it."""

    def __enter__(self) -> "Machine":
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo ready; read end"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n"
        self.inside = ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--"]
        self.root = f"/proc/{self._holder.pid}/root"
        return self

    def __exit__(self, *error: object) -> None:
        self._holder.communicate()

    def call(self, *words: str | Path) -> str:
        """Run a command in the namespace."""
        done = subprocess.run([*self.inside, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, code: str, *words: str | Path) -> str:
        """Run Python code in the namespace."""
        return self.call(sys.executable, "-c", code, *words)

    def host_path(self, path: Path) -> Path:
        """Return the path by which the test reaches a path of the namespace."""
        return Path(f"{self.root}{path}")

    def mount_memory(self, point: Path, pages: int) -> None:
        """Mount a disk of so many pages of 4096 bytes."""
        self.call("mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", point)

    def resize_memory(self, point: Path, pages: int) -> None:
        """Resize such a disk."""
        self.call("mount", "-o", f"remount,size={pages * 4096}", point)

    def mount_image(self, image: Path, point: Path) -> None:
        """Mount a disk in a file; after a shutdown it can be mounted again, with what had been flushed."""
        if not image.exists():
            with image.open("xb") as file:
                file.truncate(2**26)
            subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
        self.call("mount", "-o", "loop", image, point)

    def shut_down(self, point: Path) -> None:
        """Make every access to the disk an input/output error; what was not flushed is lost."""
        folder = os.open(self.host_path(point), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, _SHUT_DOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(folder)
