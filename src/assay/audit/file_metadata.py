"""What files say about themselves: tags of images, sounds and DICOM files, fields of MATLAB and TFRecord files."""

import io
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assay.audit.test_files import PublicFile
from assay.core.errors import SourceError
from assay.formats import dicom, mat, tfrecord

if TYPE_CHECKING:
    from PIL import Image

Fields = dict[str, str]

_MAX_TEXT = 200
_IMAGES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".gif", ".bmp", ".webp")
_EMPTY = ("", "0", "[]")


def read_fields(file: PublicFile) -> Fields:
    """Return the metadata of a file by the name of each field; none for other formats and damaged files."""
    reader = _READERS.get(file.suffix)
    try:
        return reader(file.read()) if reader else {}
    except (SourceError, OSError, ValueError, struct.error, SyntaxError, IndexError, KeyError):
        return {}


def read_examples(path: Path, limit: int) -> Iterator[Fields]:
    """Yield the features of a TFRecord file's first examples, without long ones such as images."""
    try:
        for count, example in enumerate(tfrecord.read(path)):
            if count == limit:
                return
            yield {
                name: " ".join(_to_text(value) for value in values)
                for name, values in example.items()
                if len(values) <= 20 and all(not isinstance(value, bytes) or len(value) <= 200 for value in values)
            }
    except (SourceError, struct.error, IndexError, UnicodeDecodeError, OSError):
        return


@contextmanager
def open_image(content: bytes) -> "Iterator[Image.Image]":
    """Open an image that may be hostile: what Pillow says about it is ignored, and one of too many pixels refused."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(io.BytesIO(content))
        except Image.DecompressionBombError as error:
            raise ValueError(str(error)) from None
        with image:
            yield image


def is_empty(value: str) -> bool:
    """Whether a field says nothing."""
    return value.strip() in _EMPTY


def _to_text(value: bytes | float | int) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _read_image(content: bytes) -> Fields:
    """Read the size, the EXIF tags and the texts of an image; the pixels are not decoded."""
    try:
        from PIL import ExifTags
    except ModuleNotFoundError:
        return {}
    with open_image(content) as image:
        fields = {"width": str(image.width), "height": str(image.height), "mode": str(image.mode)}
        for name, value in image.info.items():
            if isinstance(value, str | bytes | int | float) and name not in ("exif", "icc_profile", "xmp"):
                fields[f"{name}"] = _shorten(value)
        for tag, value in image.getexif().items():
            fields[ExifTags.TAGS.get(tag, f"EXIF {tag}")] = _shorten(value)
    return fields


def _shorten(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text[:_MAX_TEXT]


def _read_wav(content: bytes) -> Fields:
    """Read the format and all chunks of a RIFF file but the sound itself."""
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        return {}
    fields: Fields = {}
    offset = 12
    while offset + 8 <= len(content):
        name, (size,) = content[offset : offset + 4], struct.unpack_from("<I", content, offset + 4)
        body = content[offset + 8 : offset + 8 + size]
        if name == b"fmt " and len(body) >= 16:
            fields |= {
                "channels": str(struct.unpack_from("<H", body, 2)[0]),
                "rate": str(struct.unpack_from("<I", body, 4)[0]),
            }
        elif name == b"data":
            fields["bytes of sound"] = str(size)
        elif name == b"LIST" and body[:4] == b"INFO":
            fields |= _read_info(body[4:])
        else:
            fields[f"chunk {name.decode('latin-1')}"] = body[:_MAX_TEXT].decode("utf-8", "replace").strip("\0 ")
        offset += 8 + size + size % 2
    return fields


def _read_info(body: bytes) -> Fields:
    fields: Fields = {}
    offset = 0
    while offset + 8 <= len(body):
        name, (size,) = body[offset : offset + 4].decode("latin-1"), struct.unpack_from("<I", body, offset + 4)
        fields[name] = body[offset + 8 : offset + 8 + min(size, _MAX_TEXT)].decode("utf-8", "replace").strip("\0 ")
        offset += 8 + size + size % 2
    return fields


def _read_flac(content: bytes) -> Fields:
    """Read the comments of a FLAC file."""
    fields: Fields = {}
    if content[:4] != b"fLaC":
        return fields
    offset, last = 4, False
    while not last and offset + 4 <= len(content):
        head, size = content[offset], int.from_bytes(content[offset + 1 : offset + 4], "big")
        last, body = bool(head & 0x80), content[offset + 4 : offset + 4 + size]
        if head & 0x7F == 4:
            at = 4 + struct.unpack_from("<I", body)[0]
            (count,), at = struct.unpack_from("<I", body, at), at + 4
            for _ in range(min(count, 100)):
                (length,) = struct.unpack_from("<I", body, at)
                name, _, value = body[at + 4 : at + 4 + length].decode("utf-8", "replace").partition("=")
                fields[name] = value[:_MAX_TEXT]
                at += 4 + length
        offset += 4 + size
    return fields


def _read_mat(content: bytes) -> Fields:
    return {name: str(size) for name, size in mat.list_fields(content).items()}


_READERS: dict[str, Callable[[bytes], Fields]] = {
    **dict.fromkeys(_IMAGES, _read_image),
    ".wav": _read_wav,
    ".flac": _read_flac,
    ".dcm": dicom.read_header,
    ".dicom": dicom.read_header,
    ".mat": _read_mat,
}
