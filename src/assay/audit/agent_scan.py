"""Scan a submitted agent for answers that it ships, names of tasks, and look-ups in place of work.

Nothing of the agent is run. Archives are opened and encoded texts are decoded, as far as that is bounded; then what
they contain is compared with the answers of prepared tasks. A match must carry so many bits that chance does not
explain it.
"""

import ast
import base64
import binascii
import bz2
import codecs
import gzip
import io
import lzma
import math
import pickletools
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from assay.audit.answer_key import AnswerKey
from assay.core.errors import AssayError, UsageError
from assay.core.quantities import format_size
from assay.core.text import plural, quote
from assay.core.untrusted import list_plain_files, read_plain
from assay.data.store import Prepared

Kind = Literal["answers", "task name", "look-up"]

_BITS = 64.0
"""Information that a run of labels must carry to be a match; chance alone gives 2^-64 for each position."""
_PAIR_BITS = 40.0
"""The same for ids with their labels, of which a file can match in one way only."""
_MIN_PAIRS, _MIN_VALUES, _MIN_RUN = 8, 10, 6
_DIGITS = 4
"""Significant digits of a number that is distinctive."""
_MAX_FILE, _MAX_LAYERS, _MAX_PARTS = 64 * 2**20, 4, 2000
_MAX_UNPACKED = 64 * 2**20
_MAX_TABLE = 200
"""Constants in one literal of code; hyperparameters have fewer."""
_TOKEN = re.compile(r"[+-]?\d[\w.+\-]*|[A-Za-z][\w.\-]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{48,}={0,2}")
_BASE85 = re.compile(r"[!-~]{64,}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){32,}")
_JOINED = re.compile(r"[\"']\s*(?:\+\s*)?\\?\n?\s*[\"']")
_NUMBER = re.compile(r"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?")
_DIGEST = re.compile(r"\b[0-9a-f]{32,64}\b")
_PLACES = re.compile(
    r"kaggle (?:competitions|datasets) download|kaggle\.com/c(?:ompetitions)?/|\bKaggleApi\b"
    r"|/private/answers|\bprivate/test\.csv|answers\.csv|\bASSAY_HOME\b|/var/cache/assay"
)
_TEXT = frozenset({".md", ".rst", ".txt"})


@dataclass(frozen=True, order=True)
class AgentFinding:
    """What a file of an agent contains that it should not."""

    file: str
    kind: Kind
    detail: str


@dataclass(frozen=True)
class AnswerSheet:
    """The answers of a task, as what they may look like in an agent."""

    task: str
    ids: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, prepared: Prepared) -> "AnswerSheet | None":
        """Return the answers of a prepared task; None if they are no table."""
        key = AnswerKey(prepared)
        try:
            labels, ids = key.labels(), key.id_columns
        except (AssayError, FileNotFoundError, KeyError, ValueError):
            return None
        if not len(labels):
            return None
        rows = tuple(key.table[ids[0]]) if len(ids) == 1 else ()
        return cls(prepared.task.id, rows, {str(name): tuple(map(_normalize, labels[name])) for name in labels})

    @cached_property
    def pairs(self) -> dict[str, frozenset[str]]:
        """The answers of each id."""
        columns = list(self.columns.values())
        rows = zip(*columns, strict=True)
        return {_normalize(str(id)): frozenset(row) for id, row in zip(self.ids, rows, strict=True)} if self.ids else {}

    @cached_property
    def distinctive(self) -> frozenset[str]:
        """The answers that are numbers with several digits, or long texts."""
        return frozenset(value for column in self.columns.values() for value in column if _is_distinctive(value))

    @cached_property
    def runs(self) -> "list[_Runs]":
        """The columns that repeat a few labels, as runs of labels in the order of the rows."""
        orders = {"": list(range(len(next(iter(self.columns.values())))))}
        if self.ids:
            orders["by id"] = sorted(orders[""], key=lambda row: _sort_key(self.ids[row]))
        return [
            _Runs.of([column[row] for row in order])
            for column in self.columns.values()
            for order in orders.values()
            if 2 <= len(set(column)) <= len(column) // 2
        ]


@dataclass(frozen=True)
class _Runs:
    """All runs of labels of a column that carry enough bits, by their length."""

    labels: frozenset[str]
    bits: Mapping[str, float]
    windows: Mapping[int, frozenset[tuple[str, ...]]]

    @classmethod
    def of(cls, column: Sequence[str]) -> "_Runs":
        counts = Counter(column)
        bits = {label: -math.log2(count / len(column)) for label, count in counts.items()}
        entropy = sum(bits[label] * count for label, count in counts.items()) / len(column)
        length = max(_MIN_RUN, math.ceil(1.25 * _BITS / entropy))
        starts = range(len(column) - length + 1)
        windows = (tuple(column[start : start + length]) for start in starts)
        kept = frozenset(window for window in windows if sum(map(bits.__getitem__, window)) >= _BITS)
        return cls(frozenset(counts), bits, {length: kept} if kept else {})

    def match(self, tokens: Sequence[str]) -> bool:
        """Whether tokens contain one of the runs, forward or backward, other tokens being ignored."""
        own = [token for token in tokens if token in self.labels]
        for length, windows in self.windows.items():
            for order in (own, own[::-1]):
                if any(tuple(order[start : start + length]) in windows for start in range(len(order) - length + 1)):
                    return True
        return False


def scan_agent(
    path: Path, sheets: Sequence[AnswerSheet], names: Iterable[str], *, max_unpacked: int = _MAX_UNPACKED
) -> list[AgentFinding]:
    """Return what an agent, a file or a folder, contains that it should not.

    Args:
        path: The agent.
        sheets: The answers of the tasks that it may not know.
        names: The names of tasks, with or without their suite, that general agents do not mention.
        max_unpacked: Bytes that its packed files are unpacked to at most; if there are more, that is a finding.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    files = [path] if path.is_file() else [file for file in list_plain_files(path) if "__pycache__" not in file.parts]
    known = sorted({form for name in names for form in _name_forms(name)}, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.\-])(?:{'|'.join(map(re.escape, known))})(?![\w\-])") if known else None
    findings: set[AgentFinding] = set()
    room = _Room(max_unpacked)
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        content = read_plain(file, _MAX_FILE)
        for part in _unpack(content, room):
            findings |= {AgentFinding(name, "answers", detail) for detail in _find_answers(part, sheets)}
            if isinstance(part, str):
                findings |= {AgentFinding(name, "look-up", detail) for detail in _find_places(part)}
                if pattern and file.suffix.lower() not in _TEXT:
                    mentioned = sorted(set(pattern.findall(part)))
                    findings |= {AgentFinding(name, "task name", f"names {quote(each)}") for each in mentioned}
        if room.left == 0:
            detail = f"with it, more than {format_size(max_unpacked)} are packed in files, and not all was scanned"
            findings.add(AgentFinding(name, "answers", detail))
        if file.suffix == ".py":
            findings |= {AgentFinding(name, "look-up", detail) for detail in _find_tables(content)}
    return sorted(findings)


def _find_answers(part: "str | np.ndarray", sheets: Sequence[AnswerSheet]) -> Iterator[str]:
    """Yield which answers are in a text or an array."""
    if isinstance(part, str):
        joined = _JOINED.sub("", part)
        tokens = [_normalize(token) for token in _TOKEN.findall(joined)]
        strings = re.findall(r"[A-Za-z0-9]{24,}", joined)
    else:
        tokens, strings = [_normalize(str(value)) for value in part.ravel().tolist()], []
    seen = frozenset(tokens)
    for sheet in sheets:
        if pairs := _count_pairs(tokens, sheet):
            yield f"has {plural(pairs, 'answer')} of {sheet.task} next to their ids"
        elif len(values := seen & sheet.distinctive) >= _MIN_VALUES and 2 * len(values) >= sum(
            map(_is_distinctive, seen)
        ):
            yield f"has {len(values):,} values of the answers of {sheet.task}"
        elif any(runs.match(tokens) or any(runs.match(list(text)) for text in strings) for runs in sheet.runs):
            yield f"has the answers of {sheet.task} in order"


def _count_pairs(tokens: Sequence[str], sheet: AnswerSheet) -> int:
    """Return how many ids stand before their answers; 0 if as many as by chance, or if others contradict."""
    right, wrong = set[str](), set[str]()
    for first, second in pairwise(tokens):
        if first in sheet.pairs:
            (right if second in sheet.pairs[first] else wrong).add(first)
    wrong -= right
    common = Counter(value for values in sheet.pairs.values() for value in values)
    expected = max(common.values(), default=0) / max(1, len(sheet.pairs))
    enough = len(right) >= _MIN_PAIRS and len(right) > (0.5 + 0.5 * expected) * (len(right) + len(wrong))
    surprising = len(right) * -math.log2(min(0.999, expected)) >= _PAIR_BITS or _is_distinctive(next(iter(right), ""))
    return len(right) if enough and surprising else 0


def _find_places(text: str) -> Iterator[str]:
    """Yield the places of answers that a text names."""
    for path in sorted({match[0] for match in _PLACES.finditer(text)}):
        yield f"names {quote(path)}, where answers are"


def _find_tables(content: bytes) -> Iterator[str]:
    """Yield the large tables of constants in code, and keys that are hashes of data."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            digests = [key for key in keys if isinstance(key, str) and _DIGEST.fullmatch(key)]
            if digests:
                yield f"line {node.lineno} looks values up by a hash: {digests[0][:16]}…"
        if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set):
            values = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
            constants = sum(isinstance(value, ast.Constant | ast.UnaryOp) for value in values)
            if constants > _MAX_TABLE:
                yield f"line {node.lineno} is a table of {constants:,} constants"
        if isinstance(node, ast.Compare) and any(
            isinstance(value, ast.Constant) and isinstance(value.value, str) and _DIGEST.fullmatch(value.value)
            for value in (node.left, *node.comparators)
        ):
            yield f"line {node.lineno} compares a hash with a constant"


@dataclass
class _Room:
    """How much more may be unpacked of a file."""

    left: int

    def read(self, file: "_Readable") -> bytes:
        """Return the content of a packed file, as far as there is room."""
        content = file.read(min(_MAX_FILE, self.left)) if self.left else b""
        self.left -= len(content)
        return content


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _unpack(content: bytes, room: _Room, layer: int = 0) -> Iterator["str | np.ndarray"]:
    """Yield what a file contains: its text, arrays, and what is packed or encoded in it, a few layers deep."""
    if layer > _MAX_LAYERS:
        return
    is_packed = False
    for packed in _open_packed(content, room):
        is_packed = True
        yield from _unpack(packed, room, layer + 1)
    yield from _read_arrays(content)
    if is_packed:
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    yield text
    if layer < _MAX_LAYERS:
        yield codecs.decode(text, "rot13")
        joined = _JOINED.sub("", text)
        for decode, pattern in _ENCODINGS:
            for match in list(pattern.finditer(joined))[:_MAX_PARTS]:
                with suppress(ValueError, binascii.Error):
                    yield from _unpack(decode(match[0]), room, layer + 1)


def _from_base64(text: str) -> bytes:
    padded = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)


_ENCODINGS: tuple[tuple[Callable[[str], bytes], re.Pattern[str]], ...] = (
    (bytes.fromhex, _HEX),
    (_from_base64, _BASE64),
    (base64.b85decode, _BASE85),
)


def _open_packed(content: bytes, room: _Room) -> Iterator[bytes]:
    """Yield what is in an archive or a compressed file; nothing of it is executed."""
    with suppress(*_DAMAGED):
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for member in archive.infolist()[:_MAX_PARTS]:
                    with archive.open(member) as file:
                        yield room.read(file)
            return
    with suppress(*_DAMAGED), tarfile.open(fileobj=io.BytesIO(content), mode="r:") as files:
        for entry in islice(files, _MAX_PARTS):
            if entry.isfile() and (source := files.extractfile(entry)):
                yield room.read(source)
        return
    for start, unpacked in _COMPRESSED.items():
        if content.startswith(start):
            with suppress(*_DAMAGED):
                yield room.read(unpacked(content))


_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
)
"""What is raised for files that are damaged, encrypted, or packed in another way."""


class _Inflated:
    """The content of a zlib stream."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, size: int, /) -> bytes:
        return zlib.decompressobj().decompress(self._content, size)


_COMPRESSED: Mapping[bytes, Callable[[bytes], _Readable]] = {
    b"\x1f\x8b": lambda content: gzip.GzipFile(fileobj=io.BytesIO(content)),
    b"BZh": lambda content: bz2.BZ2File(io.BytesIO(content)),
    b"\xfd7zXZ": lambda content: lzma.LZMAFile(io.BytesIO(content)),  # noqa: SIM115 - of memory
    **dict.fromkeys((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), _Inflated),
}


def _read_arrays(content: bytes) -> Iterator[np.ndarray]:
    """Yield the numbers in an array of NumPy or in a pickle, whose instructions are read and not followed."""
    if content.startswith(b"\x93NUMPY"):
        with suppress(ValueError, EOFError, OSError, MemoryError):
            yield np.load(io.BytesIO(content), allow_pickle=False)
    elif content[:1] == b"\x80" and content.endswith(b"."):
        values = list[object]()
        with suppress(Exception):  # damaged
            for code, argument, _ in pickletools.genops(content):
                if isinstance(argument, int | float | str) and "PUT" not in code.name and "GET" not in code.name:
                    values.append(argument)
                elif isinstance(argument, bytes) and len(argument) >= 64 and len(argument) % 8 == 0:
                    for kind in ("<f8", "<i8"):
                        yield np.frombuffer(argument, kind)
        yield np.array([str(value) for value in values])


def _normalize(text: str) -> str:
    """Return numbers in one form, to six significant digits, and other texts in lower case."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return f"{float(text):.6g}"
    return text.lower()


def _is_distinctive(value: str) -> bool:
    if _NUMBER.fullmatch(value):
        digits = value.lstrip("+-").partition("e")[0].replace(".", "").strip("0")
        return len(digits) >= _DIGITS
    return len(value) >= 2 * _DIGITS


def _sort_key(text: str) -> tuple[float, str]:
    return (float(text), "") if _NUMBER.fullmatch(text) else (math.inf, text)


def _name_forms(name: str) -> Iterator[str]:
    """Yield how a task may be written: with its suite, and alone if nothing else is called so."""
    _, slash, bare = name.rpartition("/")
    if slash:
        yield name
    if bare.count("-") >= 1 and len(bare) >= 2 * _DIGITS:
        yield bare
        yield bare.replace("-", "_")
