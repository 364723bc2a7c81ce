"""PNG files, written without an imaging library."""

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def write_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    """Write gray (height × width) or RGB (height × width × 3) pixels of 8 bits as a PNG file.

    Nothing is compressed: builds of zlib produce different bytes, and a compressed size leaks information.
    """
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,)):
        raise ValueError(f"pixels must be uint8, height × width (× 3); these are {pixels.dtype}, {pixels.shape}")
    height, width = pixels.shape[:2]
    color = 0 if pixels.ndim == 2 else 2
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines, 0)), (b"IEND", b"")]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
