"""Reading untrusted files, such as the records of somebody else's run.

Every reader of a record goes through this module. A file must be a regular file: a link could lead to the answers of a
task or to a key, and reading a pipe or a device could take forever. Sizes, line lengths, nesting and the numbers of
files and of values in JSON are limited. JSON must mean the same to every reader, so duplicate keys and constants such
as NaN are refused.
Every problem is a `RecordError`, except that a missing file is a `FileNotFoundError`, because many files are optional.
"""

import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from assay.core.errors import RecordError

MAX_JSON = 64 * 2**20
MAX_TOML = 10 * 2**20
MAX_LOG = 2 * 2**30
MAX_LINE = 256 * 2**20
MAX_CONTENT = 2**30
MAX_DEPTH = 100
MAX_VALUE_DEPTH = 64
"""Max depth of a value from outside that is recorded, which leaves room for the levels around it."""
MAX_ENTRIES = 5_000_000
MAX_VALUES = 2_000_000
"""Max values in one JSON document, because parsed values take up to fifty times the memory of their text."""

_MAX_DIGITS = 20
# Possessive, and with an optional end, so that it takes linear time on any input.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


def is_plain_name(text: str) -> bool:
    """Whether this can be the name of a file or folder, and cannot lead out of the folder that it is in."""
    return bool(_PLAIN_NAME.fullmatch(text))


def open_plain(path: Path, max_size: int) -> BinaryIO:
    """Open a regular file for reading."""
    try:
        # Without O_NONBLOCK, opening a pipe that has no writer would block.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ELOOP: it is a link; ValueError: a NUL character in the name
        raise RecordError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise RecordError(f"{path} is not a regular file")
    if status.st_size > max_size:
        os.close(handle)
        raise RecordError(f"{path} has {status.st_size:,} bytes; at most {max_size:,} are read")
    return os.fdopen(handle, "rb")


def read_plain(path: Path, max_size: int = MAX_JSON) -> bytes:
    """Return the content of a regular file.

    One that says it is empty is not read: in /proc, such files may have an end that never comes.
    """
    with open_plain(path, max_size) as file:
        try:
            content = file.read(max_size + 1) if os.fstat(file.fileno()).st_size else b""
        except OSError as error:
            raise RecordError(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > max_size:
        raise RecordError(f"{path} has more than {max_size:,} bytes")
    return content


def parse_json(content: bytes, name: object, *, strict: bool = True) -> Any:
    """Parse JSON; `name` is for the message. If `strict`, any reader must understand it in the same way."""
    check_values(content, name)
    try:
        value = _strict_decoder.decode(content.decode()) if strict else json.loads(content)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RecordError(f"{name} is not valid JSON: {reason}") from None
    if content.count(b"{") + content.count(b"[") > MAX_DEPTH:
        _check_depth(value, name)
    return value


def check_values(content: bytes, name: object) -> None:
    """Raise `RecordError` if JSON has too many values to be parsed."""
    # Strings contain such marks as well, but to remove them takes longer than to parse most files.
    if _count_marks(content) >= MAX_VALUES and count_values(content) > MAX_VALUES:
        raise RecordError(f"{name} has more than {MAX_VALUES:,} JSON values")


def count_values(content: bytes) -> int:
    """Return at least the number of values in JSON, without parsing it."""
    return 1 + _count_marks(_STRING.sub(b"", content))


def _count_marks(content: bytes) -> int:
    return sum(content.count(mark) for mark in (b",", b"[", b"{"))


def find_unrecordable(value: object) -> str | None:
    """Return why a record must not contain this JSON value, because `parse_json` would refuse it; None if it may.

    Values that come from models and agents are checked before they are recorded. Numbers that are not finite are
    recorded as null.
    """
    level = [value]
    for _ in range(MAX_VALUE_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list | tuple):
                below.extend(item)
            elif isinstance(item, int) and abs(item) >= 10 ** (_MAX_DIGITS - 1):
                return f"a number has more than {_MAX_DIGITS - 1} digits"
        if not below:
            return None
        level = below
    return f"it is nested more than {MAX_VALUE_DEPTH} levels deep"


def read_json(path: Path, max_size: int = MAX_JSON, *, strict: bool = True) -> Any:
    """Return the content of a JSON file."""
    return parse_json(read_plain(path, max_size), path, strict=strict)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, such as a plan; `ValueError` says what is wrong with it."""
    return parse_toml(read_toml_file(path))


def read_toml_file(path: Path) -> bytes:
    """Return the bytes of a TOML file."""
    # A link to it may be the user's own.
    return read_plain(path.resolve(), MAX_TOML)


def parse_toml(content: bytes) -> dict[str, Any]:
    """Parse TOML; `ValueError` says what is wrong with it."""
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_lines(path: Path) -> Iterator[bytes]:
    """Read a file line by line; lines keep their line break."""
    with open_plain(path, MAX_LOG) as file:
        yield from split_lines(file, path)


def split_lines(file: BinaryIO, name: object) -> Iterator[bytes]:
    """Yield the lines of an open file; `name` is for the message if one is too long."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise RecordError(f"{name} has a line of more than {MAX_LINE:,} bytes")
        yield line


def refuse_links(*paths: Path) -> None:
    """Raise `RecordError` if one of these paths is a link or a special file; those that do not exist are fine."""
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise RecordError(f"{path} is a link or a special file; a record contains only regular files")


def list_plain_files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, each folder's own first and by name; links and special files are not."""
    for parent, subfolders, names in os.walk(folder):
        subfolders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def find_special_entries(folder: Path) -> set[str]:
    """Return the names of the entries of a folder that are links or special files; none if there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name
                for entry in entries
                if not (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False))
            }
    except (FileNotFoundError, NotADirectoryError):
        return set()


def find_special_file(folder: Path) -> str | None:
    """Return the first entry below a folder that is neither a regular file nor a folder, or why they cannot be read."""
    pending, count = [(folder, 0)], 0
    while pending:
        parent, depth = pending.pop()
        if depth > MAX_DEPTH:
            return f"{_show(parent, folder)} (nested too deeply)"
        try:
            with os.scandir(parent) as entries:
                for entry in entries:
                    count += 1
                    if count > MAX_ENTRIES:
                        return f"{_show(parent, folder)} (more than {MAX_ENTRIES:,} entries)"
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((Path(entry.path), depth + 1))
                    elif not entry.is_file(follow_symlinks=False):
                        return _show(Path(entry.path), folder)
        except OSError as error:
            return f"{_show(parent, folder)} ({error.strerror})"
    return None


def _show(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        duplicate = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {duplicate[:80]!r} occurs more than once")
    return content


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"the number {text[:40]} has too many digits")
    return int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _check_depth(value: Any, name: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return
        level = below
    raise RecordError(f"{name} is nested more than {MAX_DEPTH} levels deep")


_strict_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_parse_float, parse_int=_parse_int
)


def replace_surrogates(value: Any) -> Any:
    """Return plain data with question marks for lone surrogates, which can neither be written to a file nor sent."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(item) for item in value]
    return value
