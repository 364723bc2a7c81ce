"""Mount an image file with system calls: with mount(8) and umount(8), opening a lab takes 1.7 times as long."""

import ctypes
import errno
import fcntl
import os
import struct
from pathlib import Path

# From the kernel's headers: linux/loop.h and sys/mount.h.
_FREE_DEVICE, _CONFIGURE, _DETACH_WHEN_UNMOUNTED = 0x4C82, 0x4C0A, 4
_NOSUID, _NODEV, _NOATIME, _DETACH = 2, 4, 1024, 2
_TRIES = 100

_kernel = ctypes.CDLL(None, use_errno=True)


def mount_image(image: Path, point: Path, kind: str, options: str) -> None:
    """Mount an image at a folder; its loop device is released when it is unmounted."""
    file = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    try:
        number, device = _attach(file)
    finally:
        os.close(file)
    try:
        words = (f"/dev/loop{number}".encode(), os.fsencode(point), kind.encode())
        if _kernel.mount(*words, ctypes.c_ulong(_NOSUID | _NODEV | _NOATIME), options.encode()) != 0:
            raise _error(point)
    finally:
        os.close(device)


def unmount(point: Path, *, lazily: bool = False) -> None:
    """Unmount a folder; with `lazily`, it is detached now and released when no process uses it any more."""
    if _kernel.umount2(os.fsencode(point), _DETACH if lazily else 0) != 0:
        raise _error(point)


def _attach(file: int) -> tuple[int, int]:
    """Attach an open file to a free loop device, and return its number and descriptor."""
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(_TRIES):
            number = fcntl.ioctl(control, _FREE_DEVICE)
            device = os.open(f"/dev/loop{number}", os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, _CONFIGURE, _configuration(file))
                return number, device
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:  # EBUSY: another process took the device first
                    raise
    finally:
        os.close(control)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), "/dev/loop*")


def _configuration(file: int) -> bytes:
    information = struct.pack("=5Q4I64s64s32s2Q", *[0] * 8, _DETACH_WHEN_UNMOUNTED, b"assay", b"", b"", 0, 0)
    return struct.pack("=II", file, 0) + information + bytes(64)


def _error(point: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(point))
