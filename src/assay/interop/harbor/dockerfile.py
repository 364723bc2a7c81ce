"""What a Dockerfile of a Harbor task does, as far as a lab can do the same without an image.

Files are copied, Python packages are installed by name, and Debian's packages are those of this machine, whose `/usr`
labs show. Every other instruction that changes an image is an obstacle.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_PLAIN_IMAGES = frozenset({"python", "debian", "ubuntu", "buildpack-deps"})
_REGISTRY = re.compile(r"^(?:[\w-]+(?:\.[\w-]+)+/)?(?:docker/)?(?:library/)?")
_PYTHON = frozenset({"python3", "python3-pip", "python3-venv", "python3-dev", "python-is-python3"})
"""Packages of Debian that labs have in another way."""
_INSTALLERS = frozenset({"pip", "setuptools", "uv", "wheel"})
"""Packages with which others are installed."""
_IGNORED = frozenset(
    {"ARG", "CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "SHELL", "STOPSIGNAL"}
)
_PIP = re.compile(r"^(?:(?:python3?|/usr/bin/python3?) -m )?(?:pip3?|uv pip)\s+install\b")
_HARMLESS = re.compile(r"^(?:apt(?:-get)? (?:update|clean|autoremove)\b|rm -r?f? ?/var/lib/apt/lists|true$|set -)")
_DOCUMENT = re.compile(r"<<-?\s*[\"']?(\w+)")
_OPTIONS_WITH_VALUE = frozenset({"-i", "--index-url", "--extra-index-url", "-c", "--constraint", "--find-links", "-f"})


@dataclass
class Recipe:
    """What a Dockerfile does: files to copy as pairs of source and destination, packages, and what a lab cannot do."""

    folder: str = "/"
    copies: list[tuple[str, str]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    obstacles: list[str] = field(default_factory=list)


def read_dockerfile(text: str, has_package: Callable[[str], bool] | None = None) -> Recipe:
    """Return what a Dockerfile does; `has_package` says whether this machine has a package of Debian."""
    recipe = Recipe()
    for number, line in _instructions(text):
        word, _, rest = line.partition(" ")
        obstacle = _follow(recipe, word.upper(), rest.strip(), has_package or has_debian_package)
        if obstacle:
            recipe.obstacles.append(f"environment/Dockerfile:{number}: {obstacle}")
    return recipe


def has_debian_package(name: str) -> bool:
    """Whether a package of Debian is installed on this machine."""
    if shutil.which("dpkg-query") is None:
        return False
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", "--", name]
    return subprocess.run(command, capture_output=True, text=True).stdout == "installed"


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """Yield the instructions with the number of their first line; continued lines are joined, documents left out."""
    start, parts, end = 0, list[str](), ""
    for number, line in enumerate(text.splitlines(), 1):
        if end:
            end = end if line.strip() != end else ""
            continue
        if document := _DOCUMENT.search(line):
            end = document[1]
        if line.lstrip().startswith("#") or not (line.strip() or parts):
            continue
        start = start or number
        parts.append(line.strip().removesuffix("\\").strip())
        if not line.rstrip().endswith("\\"):
            yield start, " ".join(part for part in parts if part)
            start, parts = 0, []
    if parts:
        yield start, " ".join(parts)


def _follow(recipe: Recipe, word: str, rest: str, has_package: Callable[[str], bool]) -> str | None:
    """Do what an instruction says, or return why a lab cannot."""
    if "<<" in rest:
        return "a here-document"
    match word:
        case "FROM":
            return _check_image(rest)
        case "WORKDIR":
            recipe.folder = _join(recipe, _expand(rest, recipe.variables))
        case "ENV":
            recipe.variables |= _read_variables(rest, recipe.variables)
        case "COPY" | "ADD":
            return _copy(recipe, _expand(rest, recipe.variables))
        case "USER" if rest not in ("root", "0"):
            return f"it needs the user {rest}"
        case "RUN":
            problems = (_run(recipe, command, has_package) for command in _split_commands(rest))
            return "; ".join(problem for problem in problems if problem) or None
        case "USER":
            return None
        case _ if word not in _IGNORED:
            return f"{word} is not supported"
    return None


def _check_image(rest: str) -> str | None:
    image = next((part for part in rest.split() if not part.startswith("--")), "")
    if _REGISTRY.sub("", image).partition(":")[0].partition("@")[0] not in _PLAIN_IMAGES:
        return f"it needs the image {image}"
    return "it is built in several stages" if " as " in rest.lower() else None


def _read_variables(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    if "=" not in rest.partition(" ")[0]:
        name, _, value = rest.partition(" ")
        return {name: _expand(value, known)}
    variables = dict[str, str]()
    for part in _split(rest):
        name, _, value = part.partition("=")
        variables[name] = _expand(value, {**known, **variables})
    return variables


def _copy(recipe: Recipe, rest: str) -> str | None:
    words = [word for word in _split(rest) if not word.startswith(("--chmod", "--chown"))]
    if any(word.startswith("--") for word in words):
        return "it copies from another image"
    if rest.startswith("[") or len(words) < 2 or any("://" in word for word in words):
        return f"COPY {rest} is not supported"
    *sources, target = words
    folder = target.endswith("/") or len(sources) > 1 or target in (".", "./")
    path = _join(recipe, target)
    recipe.copies += [(source, f"{path}/" if folder else path) for source in sources]
    return None


def _run(recipe: Recipe, command: str, has_package: Callable[[str], bool]) -> str | None:
    words = _split(command)
    if not words or _HARMLESS.match(command):
        return None
    if re.match(r"^apt(-get)? ", command) and "install" in words:
        names = [word.partition("=")[0] for word in words[words.index("install") + 1 :] if not word.startswith("-")]
        missing = [name for name in names if name not in _PYTHON and not has_package(name)]
        modules = [name for name in missing if name.startswith("python3-")]
        recipe.packages += [name.removeprefix("python3-") for name in modules]
        missing = [name for name in missing if name not in modules]
        return f"this machine lacks the packages {', '.join(missing)}" if missing else None
    if _PIP.match(command):
        packages = _pip_packages(words[words.index("install") + 1 :])
        if isinstance(packages, str):
            return packages
        recipe.packages += [package for package in packages if package not in _INSTALLERS]
        return None
    if words[0] == "chmod" and len(words) > 2 and words[1] in ("+x", "a+x", "755"):
        recipe.programs += [_join(recipe, word) for word in words[2:]]
        return None
    if words[0] == "mkdir":
        recipe.folders += [_join(recipe, word) for word in words[1:] if not word.startswith("-")]
        return None
    return f"RUN {command[:80]} needs an image"


def _pip_packages(words: Sequence[str]) -> list[str] | str:
    packages, skip = list[str](), False
    for word in words:
        if skip:
            skip = False
        elif word in ("-r", "--requirement", "-e", "--editable") or word.startswith("-r"):
            return "it installs Python packages from a file"
        elif word.startswith("-"):
            skip = word in _OPTIONS_WITH_VALUE
        elif "/" in word or "://" in word:
            return f"it installs the Python package {word}, which is no name"
        else:
            packages.append(word)
    return packages


def _split_commands(text: str) -> list[str]:
    return [command.strip() for command in re.split(r"&&|;|\|\|", text) if command.strip()]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _expand(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda match: variables.get(match[1], match[0]), text)


def _join(recipe: Recipe, path: str) -> str:
    """Return an absolute path without `.` and a slash at its end."""
    parts = [part for part in (path if path.startswith("/") else f"{recipe.folder}/{path}").split("/") if part != "."]
    return "/" + "/".join(part for part in parts if part)
