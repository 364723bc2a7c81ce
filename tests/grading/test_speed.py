"""Code is judged by its speed in labs: an honest gain counts, and no trick gains anything."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.data.store import prepare
from assay.grading import Grade, grade_file, validate_file
from assay.home import Home
from assay.progress import Silent
from assay.tasks import Registry, Task

REFERENCE = """
import numpy as np

def squares(numbers):
    result = np.zeros(len(numbers))
    for place in range(len(numbers)):
        result[place] = numbers[place] * numbers[place]
    return result
"""

CASES = """
import numpy as np

FUNCTION = "squares"

def checks(random):
    yield (random.standard_normal(1),)
    yield (random.standard_normal(1000),)

def timed(random):
    return (random.standard_normal(100_000),)

def difference(output, expected):
    return None if np.allclose(output, expected) else "the output is wrong"
"""

FAST = "def squares(numbers):\n    return numbers * numbers\n"

Judge = Callable[[str], Grade]


@dataclass(frozen=True)
class Prepared:
    """The part of a prepared task that grading uses."""

    private: Path
    edition: str = "v1"
    variant: str = "real"


@pytest.fixture
def squares(tmp_path: Path) -> Task:
    """A small timed task: square the numbers."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "reference.py").write_text(REFERENCE)
    (tmp_path / "cases.py").write_text(CASES)
    return Task.model_validate(
        {
            "format": "task/1",
            "title": "Squares",
            "summary": "Squares.",
            "kind": "code-speed",
            "source": {"about": "made up", "licence": "MIT"},
            "submission": {"form": "file", "file": "squares.py", "max_size": 10_000},
            "metric": {"name": "speedup", "direction": "higher"},
            "budget": {"time": "1m"},
            "suite": "made-up",
            "name": "squares",
            "folder": tmp_path,
            "editions": ["v1"],
        }
    )


@pytest.fixture
def judge(squares: Task, home: Home, tmp_path: Path) -> Judge:
    """Grade a piece of code on the small timed task."""

    def graded(code: str) -> Grade:
        path = tmp_path / "squares.py"
        path.write_text(textwrap.dedent(code))
        return grade_file(path, squares, Prepared(tmp_path / "private"), home=home)

    return graded


@pytest.fixture
def vectorization(home: Home, tmp_path: Path) -> Judge:
    """Grade a piece of code on the real task."""
    task = Registry().task("pocket/vectorization")
    prepared = prepare(home, task, progress=Silent())

    def graded(code: str) -> Grade:
        path = tmp_path / "convolve.py"
        path.write_text(code)
        return grade_file(path, task, prepared, home=home)

    return graded


TASK = Registry().task("pocket/vectorization")


def panel(*words: str, cwd: Path | None = None) -> str:
    command = [sys.executable, TASK.folder / "panel.py", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_starter_scores_about_one(vectorization):
    grade = vectorization((TASK.folder / "starter" / "convolve.py").read_text())
    assert grade.why is None
    assert 0.5 < grade.score < 2
    assert grade.valid_submission and grade.sealed
    assert not grade.deterministic and grade.tolerance is not None and not grade.any_medal


@pytest.mark.slow
def test_the_last_of_the_panel_is_faster_than_the_starter(vectorization, tmp_path):
    panel(panel("--list").split()[-1], cwd=tmp_path)
    assert vectorization((tmp_path / "convolve.py").read_text()).score > 2


def test_every_solution_of_the_panel_is_right_on_every_shape(tmp_path):
    """In one process on the host: these are our own solutions."""
    program = """
import importlib.util, json, sys
import numpy as np
def load(path):
    spec = importlib.util.spec_from_file_location("loaded", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
cases, right, tried = load(sys.argv[1]), load(sys.argv[2]).convolve, load("convolve.py").convolve
faults = [cases.difference(tried(*given), right(*given)) for given in cases.checks(np.random.default_rng())]
print(json.dumps([fault for fault in faults if fault]))
"""
    names = panel("--list").split()
    assert 12 <= len(names) <= 15
    for name in names:
        panel(name, cwd=tmp_path)
        words = [TASK.folder / "cases.py", TASK.folder / "starter" / "convolve.py"]
        finished = subprocess.run([sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        assert (name, json.loads(finished.stdout)) == (name, [])


def test_an_honest_gain_counts_and_no_lab_is_left_behind(judge, home):
    grade = judge(FAST)
    assert grade.why is None
    assert grade.score > 2
    assert grade.sealed
    assert list(home.labs.iterdir()) == []


def test_prints_and_input_do_not_disturb(judge):
    grade = judge(
        """
        import sys
        print("hello", flush=True)
        def squares(numbers):
            print("x" * 100_000, flush=True)
            assert sys.stdin.read() == ""
            return numbers * numbers
        """
    )
    assert grade.why is None
    assert grade.score > 1


def test_a_view_that_a_thread_changes_is_judged_by_what_was_sent(judge):
    grade = judge(
        """
        import threading
        def squares(numbers):
            result = numbers * numbers
            threading.Timer(0.5, result.fill, [0]).start()
            return result[:]
        """
    )
    assert grade.why is None


REFUSED = {
    "wrong": ("def squares(n):\n    return n * n + 1\n", "squares.py: the output is wrong."),
    "not a number": ("def squares(n):\n    return n * float('nan')\n", "squares.py: the output is wrong."),
    "no function": (
        "x = 1\n",
        "squares.py: squares failed with AttributeError: module 'submission' has no attribute 'squares'.",
    ),
    "no syntax": (
        "def squares(",
        "squares.py: squares failed with SyntaxError: '(' was never closed (squares.py, line 1).",
    ),
    "raises": (
        "def squares(n):\n    raise ValueError('no\\nidea\\x1b[31m')\n",
        "squares.py: squares failed with ValueError: no idea [31m.",
    ),
    "list": (
        "def squares(n):\n    return list(n * n)\n",
        "squares.py: squares failed with TypeError: squares returned list, not a numpy array.",
    ),
    "objects": (
        "def squares(n):\n    return (n * n).astype(object)\n",
        "squares.py: squares failed with TypeError: squares returned an array of object with 1 axes, which is not numeric.",
    ),
    "other type": (
        "def squares(n):\n    return (n * n).astype('f4')\n",
        "squares.py: squares returned float32 of shape (1,), where float64 of shape (1,) is right.",
    ),
    "other shape": (
        "def squares(n):\n    return (n * n)[None]\n",
        "squares.py: squares returned float64 of shape (1, 1), where float64 of shape (1,) is right.",
    ),
    "exits by exception": (
        "import sys\ndef squares(n):\n    sys.exit(0)\n",
        "squares.py: squares failed with SystemExit: 0.",
    ),
    "network": (
        "import socket\ndef squares(n):\n    socket.create_connection(('192.0.2.1', 80), 5)\n",
        "squares.py: squares failed with OSError: [Errno 101] Network is unreachable.",
    ),
}


@pytest.mark.parametrize(("code", "sentence"), REFUSED.values(), ids=REFUSED)
def test_code_that_is_not_right_is_refused_with_one_sentence(code, sentence, judge):
    grade = judge(code)
    assert (grade.score, grade.valid_submission, grade.why) == (None, False, sentence)
    assert grade.sealed


GONE = {
    "on import": "import os\nos._exit(0)\n",
    "on call": "import os\ndef squares(n):\n    os._exit(0)\n",
    "with a child left": "import os\nif os.fork():\n    os._exit(0)\nos.setsid()\nwhile True: pass\n",
    "by signal": "import os, signal\ndef squares(n):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "by memory": "def squares(n):\n    blocks = []\n    while True: blocks.append(bytearray(10**8))\n",
}


@pytest.mark.parametrize("code", GONE.values(), ids=GONE)
def test_code_that_ends_the_driver_is_refused(code, judge):
    grade = judge(code)
    assert grade.score is None
    assert grade.why.startswith(
        ("squares.py: it ended before it answered", "squares.py: squares failed with MemoryError")
    )


CHANNEL = """
import os, stat
def channels():
    "The driver's own pipes: every pipe but the three standard ones."
    for handle in range(3, 20):
        try:
            if stat.S_ISFIFO(os.fstat(handle).st_mode):
                yield handle
        except OSError:
            pass
"""

FORGED = {
    "an answer before the request": CHANNEL
    + """
import struct
def shout():
    for handle in channels():
        try:
            os.write(handle, bytes(16) + b"R" + struct.pack("<BB8Q", 11, 1, 1, *[0] * 7) + bytes(8))
        except OSError:
            pass
shout()
def squares(n):
    return n * n
""",
    "an answer ready for the next request": CHANNEL
    + """
import struct, threading
def squares(n):
    if len(n) > 1:
        for handle in channels():
            try:
                os.write(handle, bytes(16) + b"R" + struct.pack("<BB8Q", 11, 1, len(n), *[0] * 7))
            except OSError:
                pass
    return n * n
""",
    "a frame of absurd size": CHANNEL
    + """
import struct, sys
import numpy as np
main = sys.modules["__main__"]
main.pack_header = lambda array: struct.pack("<BB8Q", 11, 8, *[2**63] * 8)
def squares(n):
    return n * n
""",
    "a frame of no type": """
import struct, sys
sys.modules["__main__"].pack_header = lambda array: struct.pack("<BB8Q", 200, 200, *[1] * 8)
def squares(n):
    return n * n
""",
    "a fault of absurd size": """
import struct, sys
main = sys.modules["__main__"]
main.RESULT = b"F"
main.pack_header = lambda array: struct.pack("<BB8Q", 2, 1, 2**62, *[0] * 7)
def squares(n):
    return n * n
""",
}


@pytest.mark.parametrize("code", FORGED.values(), ids=FORGED)
def test_forged_answers_gain_nothing(code, judge):
    grade = judge(code)
    assert grade.score is None
    assert grade.why.startswith("squares.py: ")
    assert len(grade.why) < 300


def test_results_remembered_from_the_untimed_call_are_wrong(judge):
    grade = judge(
        """
        kept = {}
        def squares(numbers):
            if len(numbers) not in kept:
                kept[len(numbers)] = numbers * numbers
            return kept[len(numbers)]
        """
    )
    assert grade.why == "squares.py: the output is wrong."


def test_a_lazy_array_is_computed_before_the_clock_stops(judge):
    """An array type that computes when it is read has the score of computing: about that of the reference."""
    grade = judge(
        """
        import numpy as np
        class Lazy(np.ndarray):
            pass
        class Later:
            def __init__(self, numbers):
                self.numbers = numbers
            def __array__(self, *_, **__):
                return self.numbers * self.numbers
        def squares(numbers):
            return Later(numbers)
        """
    )
    assert grade.why == "squares.py: squares failed with TypeError: squares returned Later, not a numpy array."


def test_changed_clocks_and_patched_numpy_gain_nothing(judge):
    """The reference's own code, with every clock it can reach stopped and comparisons bent, scores as the reference does."""
    grade = judge(
        """
        import time
        for clock in ("time", "perf_counter", "monotonic", "process_time", "time_ns", "perf_counter_ns", "monotonic_ns"):
            setattr(time, clock, lambda: 0)
        import numpy as np
        np.allclose = np.array_equal = lambda *_, **__: True
        """
        + textwrap.indent(REFERENCE, "        ")
    )
    assert grade.why is None
    assert 0.4 < grade.score < 2.5


def test_a_child_that_burns_the_processor_does_not_slow_the_reference(judge):
    """Were it alive while the reference runs, the score would rise; in its own lab it can only slow itself."""
    grade = judge(
        """
        import os
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
        """
        + textwrap.indent(REFERENCE, "        ")
    )
    assert grade.why is None
    assert grade.score < 1.5


def test_nothing_handed_in_starts_no_lab(squares, home, tmp_path):
    prepared = Prepared(tmp_path / "private")
    grade = grade_file(tmp_path / "squares.py", squares, prepared, home=home)
    assert (grade.submission_exists, grade.why, grade.sealed) == (False, "squares.py does not exist.", None)
    assert grade_file(None, squares, prepared, home=home).why == "Nothing was handed in."


def test_only_the_form_of_code_is_validated(squares, tmp_path):
    path = tmp_path / "squares.py"
    path.write_text("raise SystemExit(1)\n")
    validate_file(path, squares, Prepared(tmp_path / "private"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "squares.py is empty."),
        (b"\xff\xfe", "squares.py is not UTF-8 text."),
        (b"#" * 10_001, "squares.py is 10,001 bytes; at most 10,000 are accepted."),
    ],
)
def test_a_file_that_is_no_code_is_refused(content, why, squares, home, tmp_path):
    path = tmp_path / "squares.py"
    path.write_bytes(content)
    assert grade_file(path, squares, Prepared(tmp_path / "private"), home=home).why == why
