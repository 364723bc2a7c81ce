"""A script that runs in a lab: import all installed packages, use those in `work.toml`, and print the results as JSON.

They are tried one after another in a fork; if one crashes the interpreter, the next fork continues after it.
"""

import importlib
import importlib.metadata
import json
import os
import re
import sys
import tomllib
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO


def main() -> None:
    """Print one line per package: its name, its modules, what they print, and the first error, or ""."""
    work = tomllib.loads(Path("work.toml").read_text())
    modules: dict[str, set[str]] = {}
    for module, packages in importlib.metadata.packages_distributions().items():
        if module.isidentifier() and not module.startswith("_"):
            for package in packages:
                modules.setdefault(package, set()).add(module)
    remaining = sorted(modules, key=str.lower)
    while remaining:
        results, status = _try_in_fork([(package, sorted(modules[package])) for package in remaining], work)
        if len(results) < len(remaining):
            results.append({"error": f"ended with status {status}", "printed": "", "used": False})
        for package, result in zip(remaining, results, strict=False):
            sys.stdout.write(json.dumps({"package": package, "modules": sorted(modules[package]), **result}) + "\n")
        sys.stdout.flush()
        remaining = remaining[len(results) :]


def _try_in_fork(packages: list[tuple[str, list[str]]], work: Mapping[str, str]) -> tuple[list[dict[str, object]], int]:
    """Return the result of each package, as far as the fork got, and its exit status."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with Path(".printed").open("w+b") as printed:
            os.dup2(printed.fileno(), 1)  # what packages print is not a result
            os.dup2(printed.fileno(), 2)
            for package, modules in packages:
                code = work.get(re.sub(r"[-_.]+", "-", package).lower(), "")
                os.write(writing, json.dumps(_try(modules, code, printed)).encode() + b"\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        results = [json.loads(line) for line in pipe]
    return results, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _try(modules: list[str], code: str, printed: BinaryIO) -> dict[str, object]:
    """Import modules, then run code that uses them."""
    known: dict[str, object] = {}
    start, step, text = printed.seek(0, os.SEEK_END), "", ""
    try:
        for step in modules:
            known[step] = importlib.import_module(step)
        sys.stdout.flush()
        sys.stderr.flush()
        printed.seek(start)
        text = printed.read(2000).decode(errors="replace")
        if code:
            step = code.strip().rpartition("\n")[2]
            if "numpy." in code:
                known["numpy"] = importlib.import_module("numpy")
            exec(code, known)
    except BaseException as error:  # noqa: BLE001 - packages raise all kinds of errors, and some exit
        reason = f"{step}: {''.join(traceback.format_exception_only(error)).strip()}"
        return {"error": reason[:2000], "printed": text, "used": False}
    return {"error": "", "printed": text, "used": bool(code)}


if __name__ == "__main__":
    main()
