"""Submitted code is timed in labs: an honest speedup counts, and wrong code is rejected with one sentence."""

from dataclasses import replace

import pytest

from assay.grading import grade_submission, validate_submission
from assay.grading.by_running.speed import median_interval

FAST = "def squares(numbers):\n    return numbers * numbers\n"


def test_an_honest_gain_counts_and_no_lab_is_left_behind(judge, home):
    grade = judge(FAST, variant="real")
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


def test_the_interval_of_a_median_follows_from_the_binomial_distribution():
    """Worked by hand: of 16 fair coins, 3 or fewer show heads with 697 / 65536 = 1.1%, 4 or fewer with 3.8%."""
    assert median_interval([*range(16, 0, -1)]) == (4, 13)
    assert median_interval([1, 2, 3, 4, 5, 6]) == (1, 6)  # all six on one side of the median: 2 / 64 = 3.1%
    with pytest.raises(ValueError, match="5 values are too few"):
        median_interval([1, 2, 3, 4, 5])


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
        "squares.py: squares failed with ValueError: no idea\ufffd[31m.",
    ),
    "list": (
        "def squares(n):\n    return list(n * n)\n",
        "squares.py: squares failed with TypeError: squares returned list, not a numpy array.",
    ),
    "objects": (
        "def squares(n):\n    return (n * n).astype(object)\n",
        "squares.py: squares failed with TypeError: squares returned an array of object, which is not numeric.",
    ),
    "other type": (
        "def squares(n):\n    return (n * n).astype('f4')\n",
        "squares.py: squares returned float32 of shape (1,); float64 of shape (1,) is expected.",
    ),
    "other shape": (
        "def squares(n):\n    return (n * n)[None]\n",
        "squares.py: squares returned float64 of shape (1, 1); float64 of shape (1,) is expected.",
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


def test_a_missing_submission_starts_no_lab(squares, home, prepared, tmp_path):
    grade = grade_submission(tmp_path / "squares.py", replace(prepared, task=squares), home=home)
    assert (grade.submission_exists, grade.why, grade.sealed) == (False, "squares.py does not exist.", None)
    assert grade_submission(None, replace(prepared, task=squares), home=home).why == "Nothing was submitted."


def test_only_the_form_of_code_is_validated(squares, prepared, tmp_path):
    path = tmp_path / "squares.py"
    path.write_text("raise SystemExit(1)\n")
    validate_submission(path, replace(prepared, task=squares))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "squares.py is empty."),
        (b"\xff\xfe", "squares.py is not UTF-8 text."),
        (b"#" * 10_001, "squares.py is 10,001 bytes; at most 10,000 are accepted."),
    ],
)
def test_a_file_that_is_not_code_is_refused(content, why, squares, home, prepared, tmp_path):
    path = tmp_path / "squares.py"
    path.write_bytes(content)
    assert grade_submission(path, replace(prepared, task=squares), home=home).why == why
