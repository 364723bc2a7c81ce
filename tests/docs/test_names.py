"""`make lint` rejects names that say nothing about what they hold."""

from pathlib import Path

import pytest

from assay.tasks import load_plugin

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("source", "rejected"),
    [
        ("found = 1", ["found"]),
        ("def one(place, *wanted): pass", ["one", "place", "wanted"]),
        ("sum(some for some in ())", ["some"]),
        ("class Row:\n    shown: int\n    def __init__(self): self._made = 1", ["shown", "_made"]),
        ("import re as same", ["same"]),
        ("match 1:\n    case {**places}: pass\n    case given: pass", ["places", "given"]),
        ("try: pass\nexcept OSError as ones: pass", ["ones"]),
        ("lambda place_: 0", ["place_"]),
        ("library.found(wanted=1); one_line = placed = foundry = 1", []),
    ],
)
def test_definitions_with_a_name_that_could_be_anything_are_rejected(source: str, rejected: list[str], tmp_path: Path):
    names = load_plugin(ROOT / "tools" / "names.py")
    path = tmp_path / "module.py"
    path.write_text(source)
    assert sorted(error.split()[1] for error in names.check_file(path)) == sorted(rejected)
