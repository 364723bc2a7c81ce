"""Contents of files as the record keeps them: in the log if they are short, else in the store of snapshots."""

import base64
import hashlib
from pathlib import Path

from assay.core.errors import RecordError
from assay.core.untrusted import MAX_CONTENT
from assay.lab.snapshots import read_object, store_object
from assay.records.events import Content

_MAX_INLINE = 10_000
"""Bytes up to which a content is in the log itself. Larger ones are stored once, however often they occur."""


class ContentStore:
    """Stores contents of files by their SHA-256, next to the snapshots of a trial."""

    def __init__(self, snapshots: Path) -> None:
        self.snapshots = snapshots

    def put(self, data: bytes) -> Content:
        """Store a content and return how the log refers to it."""
        if len(data) > _MAX_INLINE:
            return Content(sha256=self.keep(data), size=len(data))
        digest = hashlib.sha256(data).hexdigest()
        try:
            return Content(sha256=digest, size=len(data), text=data.decode())
        except UnicodeDecodeError:
            return Content(sha256=digest, size=len(data), base64=base64.b64encode(data).decode())

    def keep(self, data: bytes) -> str:
        """Store a content as a file, however short it is, and return its SHA-256."""
        return store_object(self.snapshots, data)

    def get(self, content: Content) -> bytes:
        """Return the content that the log refers to; `RecordError` if it is missing or damaged."""
        if content.inline:
            return decode_inline(content)
        return self.get_by_digest(content.sha256, content.size)

    def get_by_digest(self, sha256: str, max_size: int = MAX_CONTENT) -> bytes:
        """Return a content that is stored as a file, by its SHA-256; `RecordError` if it is missing or damaged.

        A reader that decides by a size in the record passes it on as `max_size`: the record may be wrong on purpose.
        """
        return read_object(self.snapshots, sha256, max_size)


def decode_inline(content: Content) -> bytes:
    """Return a content that is in the log itself; `RecordError` if it does not have the digest that the log says."""
    try:
        data = base64.b64decode(content.base64) if content.base64 is not None else (content.text or "").encode()
    except ValueError:
        raise RecordError(f"the content {content.sha256} in the log is not valid base64") from None
    if hashlib.sha256(data).hexdigest() != content.sha256:
        raise RecordError(f"a content in the log does not have its digest, {content.sha256}")
    return data
