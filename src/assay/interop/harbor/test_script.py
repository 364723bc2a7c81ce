"""What the tests of a Harbor task install before they run, which labs have from the start.

Most tests begin with the lines of Harbor's template: they install curl and uv from the network, and let uv install
pytest. Here the packages become those of the task's environment, and these lines do nothing.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.interop.harbor.dockerfile import has_debian_package

_DOWNLOAD = re.compile(
    r"\b(curl|wget|git clone|apt(?:-get)? install|(?:pip3?|uv(?: pip)?|npm) install|uvx|uv run|npx)\b"
)
_NEEDLESS = frozenset({"ca-certificates", "curl", "wget"})
"""Packages of Debian with which tests download uv."""
_DROPPED = re.compile(
    r"apt(?:-get)? (?:-\S+ )*update\b"
    r"|curl [^|]*\bastral\.sh/uv/[^|]*\| *(?:\w+=\S+ )*(?:ba)?sh\b"
    r"|(?:source|\.) \S*(?:/\.local/bin/env|/\.cargo/env|/bin/activate)\W*$"
    r"|uv (?:init|venv)\b"
)
_APT = re.compile(r"apt(?:-get)? (?:-\S+ )*install\b(.*)")
_INSTALL = re.compile(r"(?:uv add|uv pip install|(?:python3? -m )?pip3? install)\b(.*)")
_RUN = re.compile(r"(?:uvx|uv tool run|uv run)((?:\s+-[\w-]+(?:[ =][^-\s]\S*)?)*)\s+(?=[\w./])(\S+)")
_WITH = re.compile(r"(?:--with|--from|-w)[ =](\S+)")
_FLAGS = re.compile(r"\s--(?:no-project|isolated|quiet|no-cache|no-config|offline|system)(?=\s)|\s-q(?=\s)")
_PREFIX = re.compile(r"^(?:sudo |DEBIAN_FRONTEND=\S+ |env )*")


@dataclass
class TestScript:
    """A `test.sh` without what it installs: its text, the Python packages, and what cannot be had in a lab."""

    text: str
    packages: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)


def read_test_script(text: str, has_package: Callable[[str], bool] | None = None) -> TestScript:
    """Return what a `test.sh` runs and needs; `has_package` says whether this machine has a package of Debian."""
    script, lines = TestScript(""), list[str]()
    for number, count, line in _logical_lines(text):
        if not line.lstrip().startswith("#"):
            commands = line.split(" && ")
            line = " && ".join(_follow(script, command, has_package or has_debian_package) for command in commands)
            if download := _DOWNLOAD.search(line):
                script.obstacles.append(f"its tests need a network: tests/test.sh:{number}: {download[0]}")
        lines += [line, *[""] * (count - 1)]
    script.text = "\n".join([*lines, ""])
    return script


def _logical_lines(text: str) -> list[tuple[int, int, str]]:
    """Return the lines with their numbers; those that a backslash continues are joined, and counted."""
    lines, start = list[tuple[int, int, str]](), 1
    for match in re.finditer(r"(?:[^\n]*\\\n)*[^\n]*(?:\n|$)", text):
        if match[0]:
            count = match[0].count("\n")
            lines.append((start, max(1, count), re.sub(r"\s*\\\n\s*", " ", match[0]).rstrip("\n")))
            start += count
    return lines


def _follow(script: TestScript, command: str, has_package: Callable[[str], bool]) -> str:
    """Return a command without what it installs, which is noted."""
    indent = command[: len(command) - len(command.lstrip())]
    bare = _PREFIX.sub("", command.strip())
    if _DROPPED.match(bare):
        return f"{indent}:"
    if apt := _APT.match(bare):
        missing = [name for name in _names(apt[1]) if name not in _NEEDLESS and not has_package(name)]
        if missing:
            script.obstacles.append(f"its tests need packages that this machine lacks: {', '.join(missing)}")
        return f"{indent}:"
    if install := _INSTALL.match(bare):
        names = _names(install[1])
        if any("/" in name for name in names) or re.search(r"\s(-r|-e)\b", install[1]):
            return command
        script.packages += names
        return f"{indent}:"
    return _RUN.sub(lambda match: _run(script, match), _FLAGS.sub("", command) if "uv" in command else command)


def _run(script: TestScript, match: re.Match[str]) -> str:
    """Return the command that uv runs in an environment with packages."""
    options, program = match[1], match[2]
    script.packages += [name.strip("'\"") for name in _WITH.findall(options)]
    if match[0].startswith("uv run"):
        return f"python {program}" if program.endswith(".py") else program
    name, _, version = program.partition("@")
    if not any(re.split(r"[\[=]", package)[0] == name for package in script.packages) and "--from" not in options:
        script.packages.append(f"{name}=={version}" if version else name)
    return name


def _names(words: str) -> list[str]:
    """Return the words of a command up to a redirection, without its options."""
    plain = re.split(r"\s[12]?>|\|\||[;|&]", words)[0]
    try:
        return [word for word in shlex.split(plain) if not word.startswith("-")]
    except ValueError:
        return [word for word in plain.split() if not word.startswith("-")]
