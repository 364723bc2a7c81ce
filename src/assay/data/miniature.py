"""Building miniatures of raw data: seeded ids, words, labels, images, sounds and tables.

The signal that a model can learn is in the content (brightness, pitch, words), and noise dominates the size of a file,
so that sizes reveal nothing.
"""

import gzip
import io
import struct
import tarfile
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import MissingDependency

Pixels = NDArray[np.uint8]
Samples = NDArray[np.int16]

_FORMATS = {".bmp": "BMP", ".jpeg": "JPEG", ".jpg": "JPEG", ".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF"}
_SYLLABLES = [consonant + vowel for consonant in "bdklmnrstv" for vowel in "aeo"]


class Miniature:
    """A generator of small raw data; the same seed gives the same data."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def hex_ids(self, count: int, length: int) -> list[str]:
        """Return distinct hexadecimal ids, each starting with a letter but not e, so that none parses as a number."""
        ids: dict[str, None] = {}
        while len(ids) < count:
            digits = "".join("0123456789abcdef"[value] for value in self.rng.integers(0, 16, length - 1))
            ids["abcdf"[self.rng.integers(0, 5)] + digits] = None
        return list(ids)

    def labels(self, count: int, classes: int = 2) -> NDArray[np.int64]:
        """Return class numbers in equal shares, shuffled."""
        return self.rng.permutation(np.arange(count) % classes)

    def words(self, count: int) -> str:
        """Return text that looks like a language."""
        return " ".join(self._word() for _ in range(count))

    def _word(self) -> str:
        # Draws the same numbers as `rng.choice(_SYLLABLES, …)`, which makes an array of the syllables for each word.
        draw = self.rng.integers
        return "".join(_SYLLABLES[index] for index in draw(0, len(_SYLLABLES), draw(1, 4)).tolist())

    def texture(self, shape: tuple[int, ...], brightness: float) -> Pixels:
        """Return noise around a brightness between 0 and 1."""
        noise = self.rng.normal(40 + 175 * brightness, 30, shape)
        return np.clip(noise, 0, 255).astype(np.uint8)

    def line_mask(self, side: int, max_offset: float) -> NDArray[np.bool_]:
        """Return the mask of a straight line that passes the middle of a square image at up to `max_offset` pixels."""
        angle, offset = self.rng.uniform(0, np.pi), self.rng.uniform(-max_offset, max_offset)
        row, column = np.mgrid[:side, :side] - side / 2
        mask: NDArray[np.bool_] = np.abs(row * np.cos(angle) + column * np.sin(angle) - offset) < 1.2
        return mask

    def encode_image(self, pixels: Pixels, suffix: str) -> bytes:
        """Encode an image in the format of a file suffix."""
        try:
            from PIL import Image
        except ModuleNotFoundError:
            raise MissingDependency("images", "mlebench") from None
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, _FORMATS[suffix])
        return content.getvalue()

    def image(self, path: Path, pixels: Pixels) -> None:
        """Write an image in the format of its suffix."""
        _write(path, self.encode_image(pixels, path.suffix.lower()))

    def tone(self, seconds: float, rate: int, pitch: float) -> Samples:
        """Return a tone of a pitch with noise."""
        time = np.arange(int(seconds * rate)) / rate
        sound = 0.5 * np.sin(2 * np.pi * pitch * time) + self.rng.normal(0, 0.15, len(time))
        return (np.clip(sound, -1, 1) * 20000).astype(np.int16)

    def wav(self, samples: Samples, rate: int) -> bytes:
        """Encode a WAV file with one channel."""
        content = io.BytesIO()
        with wave.open(content, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(samples.astype("<i2").tobytes())
        return content.getvalue()

    def aiff(self, samples: Samples, rate: int) -> bytes:
        """Encode an AIFF file with one channel."""
        exponent = rate.bit_length() - 1
        rate_80_bit = struct.pack(">HQ", 16383 + exponent, rate << 63 - exponent)
        common = struct.pack(">hIh", 1, len(samples), 16) + rate_80_bit
        sound = struct.pack(">II", 0, 0) + samples.astype(">i2").tobytes()
        chunks = b"COMM" + struct.pack(">I", len(common)) + common + b"SSND" + struct.pack(">I", len(sound)) + sound
        return b"FORM" + struct.pack(">I", 4 + len(chunks)) + b"AIFF" + chunks

    def dicom(self, path: Path, pixels: Pixels) -> None:
        """Write a minimal DICOM file of a gray image."""
        rows, columns = pixels.shape
        body = [
            (0x00080016, b"UI", b"1.2.840.10008.5.1.4.1.1.7\0"),
            (0x00080018, b"UI", f"2.25.{self.rng.integers(10**15, 10**16)}".encode()),
            (0x00280002, b"US", struct.pack("<H", 1)),
            (0x00280004, b"CS", b"MONOCHROME2 "),
            (0x00280010, b"US", struct.pack("<H", rows)),
            (0x00280011, b"US", struct.pack("<H", columns)),
            (0x00280100, b"US", struct.pack("<H", 8)),
            (0x00280101, b"US", struct.pack("<H", 8)),
            (0x00280102, b"US", struct.pack("<H", 7)),
            (0x00280103, b"US", struct.pack("<H", 0)),
            (0x7FE00010, b"OB", pixels.tobytes()),
        ]
        syntax = _element(0x00020010, b"UI", b"1.2.840.10008.1.2.1\0")
        head = _element(0x00020000, b"UL", struct.pack("<I", len(syntax))) + syntax
        _write(path, bytes(128) + b"DICM" + head + b"".join(_element(*element) for element in body))

    def zip(self, path: Path, members: Mapping[str, bytes]) -> None:
        """Write a zip file."""
        from assay.data.archives import pack

        pack(path, members.items())

    def tar_gz(self, path: Path, members: Mapping[str, bytes]) -> None:
        """Write a compressed tar file."""
        content = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=content, mode="wb", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for name, member in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(member)
                archive.addfile(info, io.BytesIO(member))
        _write(path, content.getvalue())

    def table(self, columns: Mapping[str, Sequence[Any] | NDArray[Any]], **options: Any) -> bytes:
        """Encode a raw table as CSV."""
        import pandas as pd

        content: str = pd.DataFrame(dict(columns)).to_csv(index=False, **options)
        return content.encode()

    def csv(self, path: Path, columns: Mapping[str, Sequence[Any] | NDArray[Any]], **options: Any) -> None:
        """Write a raw table as a CSV file."""
        _write(path, self.table(columns, **options))


def _element(tag: int, kind: bytes, value: bytes) -> bytes:
    value += b"\0" * (len(value) % 2)
    length = struct.pack("<HI", 0, len(value)) if kind == b"OB" else struct.pack("<H", len(value))
    return struct.pack("<HH", tag >> 16, tag & 0xFFFF) + kind + length + value


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
