"""A script that runs in a lab: import all installed packages and print the result of each as a line of JSON.

They are imported one after another in a fork; if one crashes the interpreter, the next fork continues after it.
"""

import importlib
import importlib.metadata
import json
import os
import sys


def main() -> None:
    """Print one line per package: its name, its modules, and the error of the first that cannot be imported."""
    modules: dict[str, set[str]] = {}
    for module, packages in importlib.metadata.packages_distributions().items():
        if module.isidentifier() and not module.startswith("_"):
            for package in packages:
                modules.setdefault(package, set()).add(module)
    remaining = sorted(modules, key=str.lower)
    while remaining:
        results, status = _import_in_fork([sorted(modules[package]) for package in remaining])
        if len(results) < len(remaining):
            results.append(f"ended with status {status}")
        for package, error in zip(remaining, results, strict=False):
            report = {"package": package, "modules": sorted(modules[package]), "error": error}
            sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()
        remaining = remaining[len(results) :]


def _import_in_fork(packages: list[list[str]]) -> tuple[list[str], int]:
    """Return the error of each package, "" for none, as far as the fork got, and its exit status."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(2, 1)  # what packages print is not a result
        for modules in packages:
            os.write(writing, json.dumps(_import_all(modules)).encode() + b"\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        results = [json.loads(line) for line in pipe]
    return results, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _import_all(modules: list[str]) -> str:
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:  # noqa: BLE001 - packages raise all kinds of errors, and some exit
            return f"{module}: {type(error).__name__}: {error}"[:2000]
    return ""


if __name__ == "__main__":
    main()
