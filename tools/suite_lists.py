"""Write the lists of tasks and splits in the suite.toml of MLE-bench from the facts of its competitions.

A suite is read without reading all its tasks, so its lists are a side table. `python tools/suite_lists.py` renews it
after a competition was added, and with `--check` exits with 1 if it is not current. The published order of tasks is
kept, and new ones follow by name.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from assay.tasks.facts import read_facts

SUITE = Path(__file__).resolve().parent.parent / "src" / "assay" / "suites" / "mlebench"


def main() -> int:
    """Write the lists, or with `--check` only compare them."""
    path = SUITE / "suite.toml"
    text = path.read_text("utf-8")
    current = tomllib.loads(text)
    folders = [folder.parent for folder in sorted(SUITE.glob("*/task.toml"))]
    members = {folder.name: read_facts(folder).splits for folder in folders}
    renewed = replace_list(text, "tasks", sort_names(members, current["tasks"]))
    for split, names in current["splits"].items():
        own = [name for name, splits in members.items() if split in splits]
        renewed = replace_list(renewed, split, sort_names(own, names))
    if "--check" in sys.argv[1:]:
        return 0 if renewed == text else 1
    path.write_text(renewed, "utf-8")
    return 0


def sort_names(names: Iterable[str], published: list[str]) -> list[str]:
    """Return names in their published order, followed by new ones in alphabetical order."""
    members = set(names)
    return [name for name in published if name in members] + sorted(members - set(published), key=str.lower)


def replace_list(text: str, key: str, names: list[str]) -> str:
    """Replace the list of a key by one with a name per line."""
    lines = "".join(f'  "{name}",\n' for name in names)
    return re.sub(rf"^{key} = \[\n.*?^\]", f"{key} = [\n{lines}]", text, count=1, flags=re.MULTILINE | re.DOTALL)


if __name__ == "__main__":
    sys.exit(main())
