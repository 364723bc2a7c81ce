"""PNG files, read and written without an imaging library."""

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


def read_png(content: bytes) -> NDArray[np.uint8]:
    """Return the pixels of a PNG file of 8 bits per channel, height × width (× channels); palettes are refused."""
    channels = {0: 1, 2: 3, 4: 2, 6: 4}
    width, height, depth, color, _, _, interlaced = struct.unpack_from(">IIBBBBB", content, 16)
    if content[:8] != b"\x89PNG\r\n\x1a\n" or depth != 8 or color not in channels or interlaced:
        raise ValueError("not a PNG file of 8 bits per channel without palette and interlacing")
    packed, start = b"", 8
    while start < len(content):
        size = struct.unpack_from(">I", content, start)[0]
        if content[start + 4 : start + 8] == b"IDAT":
            packed += content[start + 8 : start + 8 + size]
        start += size + 12
    step = channels[color]
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * step)
    pixels = np.zeros((height + 1, (width + 1) * step), np.uint8)  # with a zero line above and a zero pixel to the left
    for row, line in enumerate(lines, start=1):
        _undo_filter(int(line[0]), line[1:], pixels[row - 1], pixels[row], step)
    shape = (height, width) if step == 1 else (height, width, step)
    return np.ascontiguousarray(pixels[1:, step:]).reshape(shape)


def _undo_filter(
    kind: int, line: NDArray[np.uint8], above: NDArray[np.uint8], target: NDArray[np.uint8], step: int
) -> None:
    """Write a line of pixels from its differences to the pixels on the left and above; numbers as in the standard."""
    if kind in (0, 2):
        target[step:] = line + above[step:] if kind == 2 else line
        return
    for position, value in enumerate(line.tolist(), start=step):
        left, up, corner = int(target[position - step]), int(above[position]), int(above[position - step])
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            distances = (abs(up - corner), abs(left - corner), abs(left + up - 2 * corner))
            guess = (left, up, corner)[distances.index(min(distances))]
        target[position] = (value + guess) & 0xFF


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
