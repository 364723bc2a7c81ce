"""What a file is when it is not a table of text, told by its first bytes."""

import re

from assay.core.errors import InvalidSubmission
from assay.grading.submission.table import Content

_ENOUGH = 4096
_KINDS = (
    (rb"\x1f\x8b", "gzip-compressed"),
    (rb"BZh[1-9]1AY&SY", "bzip2-compressed"),
    (rb"\xfd7zXZ\0", "xz-compressed"),
    (rb"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (rb"PK\x03\x04.{0,4000}(\[Content_Types\]\.xml|xl/)", "an Excel workbook"),
    (rb"PK(\x03\x04|\x05\x06)", "a zip archive"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook"),
    (rb"PAR1[\x10-\x19]", "a Parquet file"),
    (rb"ARROW1\0", "an Arrow file"),
    (rb"\x93NUMPY", "a NumPy array"),
    (rb"\x89HDF\r\n", "an HDF5 file"),
    (rb"SQLite format 3\0", "a SQLite database"),
    (rb"\x80[\x02-\x05]", "a Python pickle"),
)


def refuse_other_kinds(content: Content, name: str) -> None:
    """Raise `InvalidSubmission` for what is compressed, an archive, or a table in another format."""
    head = content[:_ENOUGH]
    for pattern, kind in _KINDS:
        if re.match(pattern, head, re.DOTALL):
            raise InvalidSubmission(f"{name} is {kind}; hand in plain CSV.")
