"""Whatever a model writes, reading it takes linear time, and differences of long texts are shown in bounded time."""

import difflib
import random
import subprocess
import sys
from pathlib import Path

from hostile_texts import ATTACKS

from assay.core.diff import unified_diff

PATIENCE = 300


def test_no_text_of_a_model_stalls_the_harness(record_property):
    script = Path(__file__).with_name("hostile_texts.py")
    # Each of these took hours.
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout.splitlines()) == (0, list(ATTACKS)), done.stderr
    record_property("tried", len(ATTACKS))


def apply_diff(diff: list[str], before: list[str]) -> list[str]:
    """Apply a unified diff as `patch` does."""
    after, position = [], 0
    for line in diff[2:]:
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            first = int(start) - (length != "0")
            after += before[position:first]
            position = first
        elif line[0] == "+":
            after.append(line[1:])
        else:
            assert before[position] == line[1:]
            after += [line[1:]] * (line[0] == " ")
            position += 1
    return after + before[position:]


def test_a_diff_turns_one_text_into_the_other_and_looks_as_usual():
    numbers = random.Random(0)
    for _ in range(300):
        before = [f"{numbers.randrange(30)}\n" for _ in range(numbers.randrange(40))]
        after = [line for line in before if numbers.random() < 0.9]
        after.insert(numbers.randrange(len(after) + 1), "new\n")
        assert apply_diff(list(unified_diff(before, after, "a", "b")), before) == after
    before = [f"{number}\n" for number in range(30)]
    after = [*before[:10], "new\n", *before[11:25], *before[27:]]
    assert list(unified_diff(before, after, "a", "b")) == list(difflib.unified_diff(before, after, "a", "b"))
    assert list(unified_diff(before, before, "a", "b")) == []
    assert list(unified_diff(["x"], ["y"], "a", "b")) == ["--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y"]


def test_long_texts_with_nothing_in_common_count_as_replaced():
    before, after = [f"x{n}\n" for n in range(2_000)], [f"y{n}\n" for n in range(2_000)]
    assert apply_diff(list(unified_diff(before, after, "a", "b")), before) == after
