"""The header of DICOM files: its elements as text, without the pixels and without a library."""

import struct

_PREAMBLE = 132
_LONG = {b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"}
_NUMBERS = {b"US": "H", b"SS": "h", b"UL": "I", b"SL": "i", b"FL": "f", b"FD": "d"}
_PIXELS = 0x7FE0
_UNDEFINED = 0xFFFFFFFF
_MAX_VALUE = 256
_NAMES = {
    (0x0008, 0x0020): "StudyDate",
    (0x0008, 0x0030): "StudyTime",
    (0x0008, 0x0060): "Modality",
    (0x0008, 0x0070): "Manufacturer",
    (0x0008, 0x0080): "InstitutionName",
    (0x0008, 0x1030): "StudyDescription",
    (0x0008, 0x103E): "SeriesDescription",
    (0x0008, 0x1080): "AdmittingDiagnosesDescription",
    (0x0010, 0x0010): "PatientName",
    (0x0010, 0x0020): "PatientID",
    (0x0010, 0x0030): "PatientBirthDate",
    (0x0010, 0x0040): "PatientSex",
    (0x0010, 0x1010): "PatientAge",
    (0x0010, 0x4000): "PatientComments",
    (0x0018, 0x0015): "BodyPartExamined",
    (0x0020, 0x000D): "StudyInstanceUID",
    (0x0020, 0x4000): "ImageComments",
    (0x0028, 0x0010): "Rows",
    (0x0028, 0x0011): "Columns",
    (0x0040, 0x0254): "PerformedProcedureStepDescription",
}


def read_header(content: bytes) -> dict[str, str]:
    """Return the elements before the pixels by name, or by number where this module knows no name for it.

    Elements with a length that is not stated, such as sequences, end the header. Anything but a DICOM file with
    explicit types in little-endian order, which nearly all are, gives an empty result.
    """
    if content[128:_PREAMBLE] != b"DICM":
        return {}
    fields: dict[str, str] = {}
    offset = _PREAMBLE
    while offset + 8 <= len(content):
        group, element = struct.unpack_from("<HH", content, offset)
        kind = content[offset + 4 : offset + 6]
        if group == _PIXELS or not kind.isalpha():
            break
        if kind in _LONG:
            if offset + 12 > len(content):
                break
            (length,), start = struct.unpack_from("<I", content, offset + 8), offset + 12
        else:
            (length,), start = struct.unpack_from("<H", content, offset + 6), offset + 8
        if length == _UNDEFINED:
            break
        name = _NAMES.get((group, element), f"{group:04X},{element:04X}")
        fields[name] = _to_text(kind, content[start : start + min(length, _MAX_VALUE)])
        offset = start + length
    return fields


def _to_text(kind: bytes, value: bytes) -> str:
    if kind in _NUMBERS:
        size = struct.calcsize(_NUMBERS[kind])
        count = len(value) // size
        return " ".join(map(str, struct.unpack(f"<{count}{_NUMBERS[kind]}", value[: count * size])))
    return value.decode("utf-8", "replace").strip("\0 ")
