"""Submitted code that attacks the judge gains nothing: it is invalid, or has the score it would have had anyway."""

import pytest

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


def test_a_result_that_would_be_computed_later_is_refused(judge):
    grade = judge(
        """
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


def test_changed_clocks_and_patched_numpy_gain_nothing(judge, reference):
    """The reference's own code, with every clock it can reach stopped and comparisons bent, scores as the reference."""
    grade = judge(
        """
        import time
        for clock in ("time", "perf_counter", "monotonic", "process_time"):
            setattr(time, clock, lambda: 0)
            setattr(time, clock + "_ns", lambda: 0)
        import numpy as np
        np.allclose = np.array_equal = lambda *_, **__: True
        """,
        reference,
    )
    assert grade.why is None
    assert 0.4 < grade.score < 2.5


def test_a_child_that_burns_the_processor_does_not_slow_the_reference(judge, reference):
    """Were it alive while the reference runs, the score would rise; in its own lab it can only slow itself."""
    grade = judge(
        """
        import os
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
        """,
        reference,
    )
    assert grade.why is None
    assert grade.score < 1.5
