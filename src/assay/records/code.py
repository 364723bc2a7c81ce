"""Submitted code: a command and the text files it needs, as the record keeps them."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from assay.core.errors import RecordError, RefusedCode
from assay.core.quantities import Model
from assay.core.text import quote
from assay.core.untrusted import parse_json
from assay.lab.snapshots import Snapshot
from assay.records.events import Event, Reran, Restarted

MAX_FILES = 50
MAX_CODE = 500_000
"""Bytes of all files of submitted code together."""
MAX_CONFIG = 20_000
"""Bytes of a file that is not code, such as a configuration; predictions and weights are larger."""
CODE_ENDINGS = (".py", ".sh", ".R", ".jl", ".ipynb")


@dataclass(frozen=True)
class Solution:
    """Where the code of an agent is: a command, and patterns of the files in the workspace that it needs."""

    command: tuple[str, ...] = ("python", "solution.py")
    files: tuple[str, ...] = ("solution.py", "solution/*")


class Code(Model):
    """What is rerun: a command, and the files it needs besides those that every agent starts with."""

    format: Literal["code/1"] = "code/1"
    command: tuple[str, ...]
    files: dict[str, str]

    def encode(self) -> bytes:
        """Return it as the record stores it: equal code has equal bytes."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False).encode()

    @property
    def sha256(self) -> str:
        """The SHA-256 of what the record stores."""
        return hashlib.sha256(self.encode()).hexdigest()


def decode_code(content: bytes) -> Code:
    """Read stored code; `RecordError` if it is none."""
    parse_json(content, "submitted code")
    try:
        return Code.model_validate_json(content)
    except ValueError:
        raise RecordError("the record of submitted code is damaged") from None


def check_code(code: Code) -> Code:
    """Return code from a record; `RefusedCode` if it is more than could have been submitted."""
    if len(code.files) > MAX_FILES or sum(len(word) for word in code.command) > MAX_CONFIG:
        raise RefusedCode(f"it has {len(code.files):,} files and a command of {len(code.command):,} words")
    return make_code(code.command, {name: text.encode(errors="replace") for name, text in code.files.items()})


def choose_files(solution: Solution, names: Iterable[str]) -> list[str]:
    """Return which files of a workspace are the agent's code; `RefusedCode` if there is none, or too many are."""
    chosen = sorted(name for name in names if any(fnmatchcase(name, pattern) for pattern in solution.files))
    missing = [name for name in solution.files if "*" not in name and name not in chosen]
    if missing:
        raise RefusedCode(f"no code was submitted: there is no {', '.join(missing)} in the workspace", "no code")
    if len(chosen) > MAX_FILES:
        raise RefusedCode(f"{len(chosen):,} files were submitted as code; at most {MAX_FILES} are accepted")
    return chosen


def collect_code(solution: Solution, snapshot: Snapshot, read: Callable[[str, int], bytes]) -> Code:
    """Return the agent's code in a snapshot; `read` returns a content by its SHA-256 and its size."""
    names = choose_files(solution, snapshot.files)
    for name in names:
        check_size(name, snapshot.files[name].size)
    files = {name: snapshot.files[name] for name in names}
    return make_code(solution.command, {name: read(file.sha256, file.size) for name, file in files.items()})


def check_size(name: str, size: int) -> None:
    """Raise `RefusedCode` for a file that is larger than code or a configuration is."""
    limit = MAX_CODE if name.endswith(CODE_ENDINGS) else MAX_CONFIG
    if size > limit:
        raise RefusedCode(f"{quote(name)} is no code: it has {size:,} bytes, and at most {limit:,} are accepted")


def make_code(command: tuple[str, ...], contents: Mapping[str, bytes]) -> Code:
    """Return code with files of text; `RefusedCode` if one is not text, or too long."""
    files = dict[str, str]()
    for name, content in contents.items():
        check_size(name, len(content))
        try:
            files[name] = content.decode()
        except UnicodeDecodeError:
            raise RefusedCode(f"{quote(name)} is no code: it is not UTF-8 text") from None
    if (total := sum(map(len, contents.values()))) > MAX_CODE:
        raise RefusedCode(f"the submitted code has {total:,} bytes; at most {MAX_CODE:,} are accepted")
    return Code(command=command, files=files)


def find_rerun(events: Sequence[Event]) -> Reran | None:
    """Return how submitted code was rerun last, since the agent last started from the beginning."""
    for event in reversed(events):
        if isinstance(event, Reran):
            return event
        if isinstance(event, Restarted):
            return None
    return None
