"""Disks that can be filled, frozen and torn out: in a mount namespace of their own, which takes them with it."""

import fcntl
import os
import struct
import subprocess
import sys
from pathlib import Path

# The kernel's request to shut a file system down where it is; 2 says: without writing anything back first.
_SHUT_DOWN, _AS_IF_TORN_OUT = 0x8004587D, 2


class Machine:
    """A mount namespace. Whatever is mounted in it is gone when the last process in it is; commands go `inside`."""

    def __enter__(self) -> "Machine":
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo ready; read the_end"],
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
        """Run a command in there."""
        done = subprocess.run([*self.inside, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, code: str, *words: str | Path) -> str:
        """Run Python code in there."""
        return self.call(sys.executable, "-c", code, *words)

    def see(self, path: Path) -> Path:
        """A path in there, as it is reached from here."""
        return Path(f"{self.root}{path}")

    def mount_memory(self, point: Path, pages: int) -> None:
        """A disk of so many pages of 4096 bytes."""
        self.call("mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", point)

    def resize_memory(self, point: Path, pages: int) -> None:
        """Make such a disk larger or smaller."""
        self.call("mount", "-o", f"remount,size={pages * 4096}", point)

    def mount_image(self, image: Path, point: Path) -> None:
        """A disk in a file, which outlives being torn out: mounted again it holds what had reached it."""
        if not image.exists():
            with image.open("xb") as file:
                file.truncate(2**26)
            subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
        self.call("mount", "-o", "loop", image, point)

    def tear_out(self, point: Path) -> None:
        """From now on everything on the disk is an input/output error, and what was not yet written is lost."""
        folder = os.open(self.see(point), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, _SHUT_DOWN, struct.pack("I", _AS_IF_TORN_OUT))
        finally:
            os.close(folder)
