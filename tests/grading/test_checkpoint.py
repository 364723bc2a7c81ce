"""A checkpoint is graded by running it in the task's code; anything but valid weights is rejected in a sentence."""

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from assay.core.errors import InvalidSubmission, LabError, NotPrepared
from assay.core.home import Home
from assay.grading import Grade, grade_submission, validate_submission
from assay.grading.by_running.checkpoint import MAX_ARRAYS, check_checkpoint
from assay.tasks import Task

MODEL = """
import numpy as np

def load(path):
    with np.load(path, allow_pickle=False) as file:
        weights = {name: file[name] for name in file.files}
    if set(weights) != {"slope"}:
        raise ValueError(f"it holds {sorted(weights)}; slope is required")
    if weights["slope"].shape != ():
        raise ValueError(f"slope has the shape {weights['slope'].shape}")
    if not np.isfinite(weights["slope"]):
        raise ValueError("slope is not finite")
    return weights["slope"]
"""

JUDGE = """
import sys
from pathlib import Path
import model

try:
    slope = model.load(sys.argv[1])
except ValueError as error:
    sys.exit(str(error))
rows = [line.split(",") for line in Path("inputs/sizes.csv").read_text().splitlines()]
Path("predictions.csv").write_text("id,price\\n" + "".join(f"{id},{slope * float(size)}\\n" for id, size in rows))
"""

Judge = Callable[..., Grade]
Save = Callable[..., Path]


@pytest.fixture
def slope(tmp_path: Path, prepared: Any) -> Task:
    """A small task: the slope of a line through sizes 1, 2 and 3, whose prices are 10, 20 and 30."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "judge.py").write_text(JUDGE)
    (prepared.private / "inputs").mkdir()
    (prepared.private / "inputs" / "sizes.csv").write_text("007,1\n8,2\n9,3\n")
    return Task.model_validate(
        {
            "format": "task/1",
            "title": "Slope",
            "summary": "Slope.",
            "kind": "language-modeling",
            "judged": "checkpoint",
            "source": {"about": "made up", "license": "MIT"},
            "submission": {
                "form": "file",
                "file": "checkpoint.npz",
                "max_size": "1MB",
                "judge_time": "10m",
                "id": "id",
                "columns": {"price": {"type": "number"}},
            },
            "metric": {"name": "mae", "direction": "lower"},
            "budget": {"time": "1m"},
            "suite": "made-up",
            "name": "slope",
            "folder": tmp_path,
            "editions": ["v1"],
        }
    )


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write arrays as a checkpoint."""

    def save(**arrays: Any) -> Path:
        np.savez(tmp_path / "checkpoint.npz", **arrays)
        return tmp_path / "checkpoint.npz"

    return save


@pytest.fixture
def grade_file(slope: Task, prepared: Any, home: Home) -> Judge:
    """Grade a file on the small task."""
    return lambda path: grade_submission(path, replace(prepared, task=slope), home=home)


def test_weights_are_scored_by_the_predictions_of_the_model(grade_file: Judge, save: Save, home: Home) -> None:
    """Worked by hand: with slope 11 the prices are off by 1, 2 and 3, which is 2 in the mean."""
    grade = grade_file(save(slope=11.0))
    assert (grade.why, grade.score, grade.sealed, grade.deterministic) == (None, 2.0, True, True)
    assert list(home.labs.iterdir()) == []


def test_a_perfect_model_has_the_perfect_score(grade_file: Judge, save: Save) -> None:
    assert grade_file(save(slope=np.float16(10))).score == 0


def test_the_form_is_validated_without_running_anything(slope: Task, prepared: Any, save: Save) -> None:
    (slope.folder / "judge.py").unlink()
    validate_submission(save(slope=1.0), replace(prepared, task=slope))
    validate_submission(save(anything=np.ones((3, 4)), more=np.array([True])), replace(prepared, task=slope))
    with pytest.raises(InvalidSubmission, match="only plain numbers"):
        validate_submission(save(slope="words"), replace(prepared, task=slope))


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"slopes": 1.0}, "checkpoint.npz: it holds ['slopes']; slope is required."),
        ({"slope": 1.0, "more": 2.0}, "checkpoint.npz: it holds ['more', 'slope']; slope is required."),
        ({"slope": np.ones(3)}, "checkpoint.npz: slope has the shape (3,)."),
        ({"slope": np.nan}, "checkpoint.npz: slope is not finite."),
    ],
)
def test_faults_that_only_the_model_can_find_are_reported_by_its_judge(
    grade_file: Judge, save: Save, arrays: dict[str, Any], why: str
) -> None:
    grade = grade_file(save(**arrays))
    assert (grade.score, grade.why, grade.sealed) == (None, why, True)


def test_a_file_that_would_run_code_when_unpickled_runs_none(grade_file: Judge, tmp_path: Path) -> None:
    trap, witness = tmp_path / "checkpoint.npz", tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (witness,)

    trap.write_bytes(pickle.dumps(Trap()))
    assert grade_file(trap).why == "checkpoint.npz is not a readable .npz file; write it with numpy.savez."
    np.savez(trap, slope=np.array([Trap()], dtype=object))
    assert grade_file(trap).why == "checkpoint.npz, array 'slope' is of type 'object'; only plain numbers are accepted."
    assert not witness.exists()


def header(shape: str, kind: str = "<f4") -> bytes:
    """The beginning of an array's file that says what follows."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archive(*members: tuple[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", packing) as file:
        for name, data in members:
            file.writestr(name, data)
    return content.getvalue()


HOSTILE = {
    "not a zip file": (b"slope = 1", "is not a readable .npz file"),
    "cut off": (archive(("slope.npy", header("()") + b"1234"))[:-30], "is not a readable .npz file"),
    "nothing in it": (archive(), "contains no arrays"),
    "a member that is no array": (archive(("run.py", b"import os")), "'run.py', which is not the name of an array"),
    "a path": (archive(("../slope.npy", header("()") + b"1234")), "which is not the name of an array"),
    "not an array inside": (archive(("slope.npy", b"import os")), "is not a readable .npz file"),
    "a pickle inside": (archive(("slope.npy", pickle.dumps([1]))), "is not a readable .npz file"),
    "objects": (archive(("slope.npy", header("(1,)", "|O") + b"12345678")), "only plain numbers"),
    "text": (archive(("slope.npy", header("(1,)", "<U1") + b"1234")), "only plain numbers"),
    "a huge shape": (
        archive(("slope.npy", header("(99999999999, 99999999999)"))),
        "as its header says",
    ),
    "fewer numbers than it says": (
        archive(("slope.npy", header("(2,)") + b"1234")),
        "as its header says",
    ),
    "more numbers than it says": (
        archive(("slope.npy", header("(1,)") + b"12345678")),
        "as its header says",
    ),
    "a negative length": (archive(("slope.npy", header("(-1, -1)") + b"1234")), "an impossible shape"),
    "very many axes": (archive(("slope.npy", header(f"({'1, ' * 40})") + b"1234")), "an impossible shape"),
    "a call in its header": (archive(("slope.npy", header("print(1)"))), "is not a readable .npz file"),
    "a deep header": (archive(("slope.npy", header("(" * 900 + ")" * 900))), "is not a readable .npz file"),
    "an endless header": (archive(("slope.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")), "is not a readable .npz file"),
    "a way of packing that opens slowly": (
        archive(("slope.npy", header("()") + b"1234"), packing=zipfile.ZIP_LZMA),
        "compressed in a way that numpy does not write",
    ),
    "a bomb": (
        archive(("slope.npy", header("(10000000,)") + bytes(40_000_000)), packing=zipfile.ZIP_DEFLATED),
        "unpacks to 40,0",
    ),
    "very many arrays": (
        archive(*((f"a{number}.npy", b"") for number in range(MAX_ARRAYS + 1))),
        "holds 2,001 arrays; at most 2,000 are accepted",
    ),
    "more arrays than are worth counting": (b"PK\x01\x02" * 50_000, "holds more than 2,000 arrays"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_before_any_lab_opens(
    name: str, grade_file: Judge, slope: Task, prepared: Any, home: Home, tmp_path: Path
) -> None:
    content, why = HOSTILE[name]
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(content)
    grade = grade_file(path)
    assert grade.score is None and not grade.valid_submission
    assert grade.why is not None and why in grade.why
    with pytest.raises(InvalidSubmission) as refused:
        validate_submission(path, replace(prepared, task=slope))
    assert str(refused.value) == grade.why
    assert not (home.root / "labs").exists()


def test_an_array_that_is_there_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = archive(*[("slope.npy", header("()") + b"1234")] * 2)
    with pytest.raises(InvalidSubmission, match="holds an array twice"):
        check_checkpoint(content, "checkpoint.npz", 10**6)


@hypothesis.given(strategies.data())
def test_a_damaged_file_is_accepted_or_refused_but_never_a_crash(data: strategies.DataObject) -> None:
    content = io.BytesIO()
    np.savez(content, slope=np.arange(3.0), **{"weights.first": np.ones((2, 2), np.float32)})
    damaged = bytearray(content.getvalue())
    for _ in range(data.draw(strategies.integers(1, 8))):
        damaged[data.draw(strategies.integers(0, len(damaged) - 1))] = data.draw(strategies.integers(0, 255))
    try:
        check_checkpoint(bytes(damaged), "checkpoint.npz", 10**6)
    except InvalidSubmission as refused:
        assert str(refused).endswith(".")


def test_a_file_that_is_too_large_or_missing_is_reported(grade_file: Judge, save: Save) -> None:
    path = save(slope=np.ones(300_000))
    size = f"{path.stat().st_size:,}"
    assert grade_file(path).why == f"checkpoint.npz is {size} bytes; at most 1,000,000 are accepted."
    assert grade_file(None).why == "Nothing was submitted."


def test_damage_found_only_while_reading_is_reported(grade_file: Judge, save: Save) -> None:
    path = save(slope=np.zeros(5000))
    content = bytearray(path.read_bytes())
    content[20_000] ^= 1
    path.write_bytes(content)
    grade = grade_file(path)
    assert grade.score is None and "Bad CRC-32" in str(grade.why)


def test_a_judge_that_takes_too_long_is_ended(grade_file: Judge, save: Save, slope: Task) -> None:
    (slope.folder / "model.py").write_text("import time\ndef load(path):\n    time.sleep(600)\n")
    short = slope.submission.model_copy(update={"judge_time": 1.0})
    object.__setattr__(slope, "submission", short)
    assert grade_file(save(slope=1.0)).why == "checkpoint.npz: running it took more than 1s."


def test_a_judge_that_takes_too_much_memory_is_ended(grade_file: Judge, save: Save, slope: Task) -> None:
    (slope.folder / "model.py").write_text("def load(path):\n    return [bytes(10**7) + b'1' for _ in range(100)]\n")
    small = slope.resources.model_copy(update={"memory": 5 * 10**8})
    object.__setattr__(slope, "resources", small)
    assert "memory" in str(grade_file(save(slope=1.0)).why).lower()


def test_what_a_judge_quotes_is_made_safe_to_print(grade_file: Judge, save: Save, slope: Task) -> None:
    (slope.folder / "model.py").write_text("def load(path):\n    raise ValueError('a\\x1b[31m\\x00b' + 'x' * 1000)\n")
    why = str(grade_file(save(slope=1.0)).why)
    assert why.startswith("checkpoint.npz: a\ufffd[31m\ufffdb") and why.isprintable() and len(why) < 400


def test_invalid_predictions_are_rejected_like_a_submitted_table(grade_file: Judge, save: Save, slope: Task) -> None:
    (slope.folder / "judge.py").write_text("open('predictions.csv', 'w').write('id,price\\n007,nan\\n8,2\\n9,3\\n')\n")
    assert "predictions.csv" in str(grade_file(save(slope=1.0)).why)


def test_a_judge_that_writes_nothing_or_a_link_is_a_lab_error(grade_file: Judge, save: Save, slope: Task) -> None:
    (slope.folder / "judge.py").write_text("import os\nos.symlink('/etc/passwd', 'predictions.csv')\n")
    with pytest.raises(LabError, match="made-up/slope wrote no table"):
        grade_file(save(slope=1.0))


def test_the_answers_and_the_name_of_the_task_are_not_in_the_lab(grade_file: Judge, save: Save, slope: Task) -> None:
    (slope.folder / "judge.py").write_text(
        "import os, sys\n"
        "found = sorted(os.path.relpath(os.path.join(at, name)) for at, _, names in os.walk('.') for name in names)\n"
        "sys.exit(' '.join([*found, *(line.split()[3] for line in open('/proc/self/mountinfo'))]))\n"
    )
    why = str(grade_file(save(slope=1.0)).why)
    assert why.startswith("checkpoint.npz: checkpoint.npz inputs/sizes.csv judge.py model.py ")
    assert "slope" not in why and "answers" not in why


def test_a_task_without_hidden_inputs_is_not_prepared(grade_file: Judge, save: Save, prepared: Any) -> None:
    (prepared.private / "inputs" / "sizes.csv").unlink()
    with pytest.raises(NotPrepared, match="no hidden inputs"):
        grade_file(save(slope=1.0))
