"""List or run the solutions of a reference panel: `--list` prints their names, weakest first, `NAME` runs one.

This script is copied into the lab next to a task's `panel.py`. It uses the standard library alone, because Assay is not
installed there.
"""

import importlib
import sys


def main(argument: str) -> None:
    """Print the names of the solutions, or let one of them write its submission."""
    panel = importlib.import_module("panel")
    solutions = panel.SOLUTIONS
    if not isinstance(solutions, dict):
        solutions = {function.__name__.replace("_", "-"): function for function in solutions}
    if argument == "--list":
        sys.stdout.writelines(f"{name}\n" for name in solutions)
    else:
        panel.write_submission(solutions[argument])


if __name__ == "__main__":
    main(sys.argv[1])
