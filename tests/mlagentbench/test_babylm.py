"""The BabyLM task: a model is graded by its bits on hidden text, in code that checkpoints cannot influence."""

import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from starters import run_starter

from assay.audit.task_check import check_task
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.job import PrepareJob, run_prepare
from assay.data.store import PrepareOptions
from assay.grading import grade_submission
from assay.lab.environments import find_environment
from assay.tasks import Registry, Task

SOURCES = [
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed", "simple_wikipedia",
    "switchboard", "wikipedia",
]  # fmt: skip
EVERY_BYTE = "joins a token that is neither a byte nor made by a row before it"
REFUSED = {
    "a setting is missing": "there is no array layers",
    "a setting is a fraction": "layers must be one whole number, not float64 of shape ()",
    "a setting is a list": "width must be one whole number, not int64 of shape (1,)",
    "too many layers": "layers is 25; it must be from 1 to 24",
    "less than nothing": "context is -1; it must be from 16 to 1024",
    "heads that do not fit": "a width of 16 cannot be shared out among 3 heads",
    "outsized": "the model has 302,597,120 weights; at most 32,000,000 are allowed",
    "a weight is missing": "there is no array last.bias",
    "a weight more": "the model has no array blocks.2.close.bias",
    "a weight of another shape": "last.bias must be floats of shape (16,), not float32 of shape (17,)",
    "a weight of whole numbers": "last.bias must be floats of shape (16,), not int64 of shape (16,)",
    "a weight that is not a number": "last.bias holds numbers that are not finite",
    "a weight beyond 32 bits": "last.bias holds numbers that are not finite",
    "a merge of what is not there": f"row 1 of merges {EVERY_BYTE}",
    "a merge with itself": f"row 0 of merges {EVERY_BYTE}",
    "a merge with less than a byte": f"row 0 of merges {EVERY_BYTE}",
    "merges of three": "merges must be whole numbers of shape (n, 2), with n at most 16,384, not int64 of shape (6, 3)",
    "merges of fractions": (
        "merges must be whole numbers of shape (n, 2), with n at most 16,384, not float64 of shape (6, 2)"
    ),
    "too many merges": (
        "merges must be whole numbers of shape (n, 2), with n at most 16,384, not int64 of shape (16385, 2)"
    ),
    "scores without bounds": "the model's scores are not finite",
}

SMALLER = {
    "layers=4, width=128, heads=4, inner=512": "layers=1, width=64, heads=2, inner=64",
    "MERGES = 256": "MERGES = 64",
    "TRAIN_ON = 6_000_000": "TRAIN_ON = 100_000",
}
"""How the starter is made cheap here; what it does stays the same."""


@pytest.fixture(scope="module")
def babylm() -> Task:
    return Registry().task("mlagentbench/babylm")


@pytest.fixture(scope="module")
def miniature(babylm: Task, miniature_home: Home) -> Prepared:
    """Prepare the miniature once and keep its raw data."""
    return prepare(
        miniature_home, babylm, variant="synthetic-0", progress=NoProgress(), options=PrepareOptions(keep_raw=True)
    )


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def seen(babylm: Task, checkpoints: Path) -> dict[str, Any]:
    """Examine model and judge once where torch is installed; keep the checkpoints."""
    python = find_environment(Home.default(), "torch") / "bin" / "python"
    script = Path(__file__).with_name("babylm_model.py")
    variables = os.environ | {"PYTHONPATH": str(babylm.folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, script, checkpoints], env=variables, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def members(ready: Prepared) -> dict[str, bytes]:
    with zipfile.ZipFile(ready.folder / "raw" / "babylm_data.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def hidden(private: Path) -> list[bytes]:
    return [row.tobytes() for row in np.load(private / "inputs" / "texts.npy", allow_pickle=False)]


def test_a_miniature_passes_every_check(miniature: Prepared) -> None:
    findings = {finding.check: finding.passed for finding in check_task(miniature, Home(miniature.folder))}
    assert False not in findings.values()
    assert findings["hidden inputs exist"] and findings["ids are unique"]
    assert findings["no private file is public"]


def test_the_description_names_files_and_limits(babylm: Task) -> None:
    assert (babylm.editions, babylm.budget.time, babylm.budget.steps) == (("fixed", "published"), 5 * 3600, 50)
    words = [*babylm.starter, babylm.submission.file, "data/model.py", "data/judge.py", "bits per byte", *SOURCES]
    assert [word for word in words if word not in babylm.description] == []
    said = " ".join(babylm.description.split()).partition("published for this problem ")[2]
    assert said.startswith("elsewhere are not comparable:")


def test_only_training_and_development_text_is_public_and_unchanged(miniature: Prepared) -> None:
    raw = members(miniature)
    texts = {
        path.relative_to(miniature.public).as_posix(): path.read_bytes() for path in miniature.public.rglob("*.txt")
    }
    expected = {f"train/{name}.txt": raw[f"babylm_data/babylm_10M/{name}.train"] for name in SOURCES}
    expected |= {f"dev/{name}.txt": raw[f"babylm_data/babylm_dev/{name}.dev"] for name in SOURCES}
    assert texts == expected
    assert sorted(path.name for path in miniature.public.iterdir()) == ["dev", "judge.py", "model.py", "train"]


@pytest.mark.parametrize("name", ("model.py", "judge.py"))
def test_the_public_code_is_the_grading_code(miniature: Prepared, babylm: Task, name) -> None:
    assert (miniature.public / name).read_bytes() == (babylm.folder / name).read_bytes()


def test_hidden_text_is_test_text_and_not_public(miniature: Prepared) -> None:
    tests = [text for name, text in members(miniature).items() if name.endswith(".test")]
    contents = [path.read_bytes() for path in miniature.public.rglob("*") if path.is_file()]
    assert len(hidden(miniature.private)) == 40
    for block in hidden(miniature.private):
        assert len(block) == 2048
        [source] = [text for text in tests if block in text]
        start = source.index(block)
        assert start == 0 or source[start - 1 : start] == b"\n"
        # Not even a part of it that is long enough to matter.
        assert not any(block[part : part + 128] in text for text in contents for part in range(0, 2048, 128))


def test_an_archive_with_another_checksum_is_refused(babylm: Task, miniature: Prepared, tmp_path: Path) -> None:
    archive = miniature.folder / "raw" / "babylm_data.zip"
    with pytest.raises(SourceError, match=r"babylm_data.zip is not the file this task was made from: it has .* bytes"):
        prepare(Home(tmp_path), babylm, progress=NoProgress(), options=PrepareOptions(user_copy=archive))


def test_answers_are_the_sizes_of_the_hidden_texts(miniature: Prepared) -> None:
    answers = pd.read_csv(miniature.private / "answers.csv")
    assert list(answers.columns) == ["id", "bytes"]
    assert answers["bytes"].tolist() == [len(block) for block in hidden(miniature.private)]
    assert answers["id"].tolist() == list(range(40))


def test_blocks_of_a_long_test_text_are_spread_and_reproducible(babylm: Task, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    texts = {name: random.choice(np.frombuffer(b"some\nletters", np.uint8), 60_000).tobytes() for name in SOURCES}
    with zipfile.ZipFile(tmp_path / "babylm_data.zip", "w") as archive:
        for name, text in texts.items():
            for member in (f"babylm_10M/{name}.train", f"babylm_dev/{name}.dev"):
                archive.writestr(f"babylm_data/{member}", "short")
            archive.writestr(f"babylm_data/babylm_test/{name}.test", text)
    drawn = []
    for attempt in ("one", "two"):
        public, private = tmp_path / attempt / "public", tmp_path / attempt / "private"
        public.mkdir(parents=True)
        private.mkdir()
        run_prepare(PrepareJob(babylm.in_edition("fixed"), tmp_path, public, private, "fixed"))
        drawn.append(hidden(private))
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == 128
    assert {name for name, text in texts.items() if any(block in text for block in drawn[0])} == set(SOURCES)
    positions = [text.index(block) / len(text) for text in texts.values() for block in drawn[0] if block in text]
    assert min(positions) < 0.1 and max(positions) > 0.9


def test_tokens_equal_textbook_encoding_and_decode_to_every_byte(seen: dict[str, Any]) -> None:
    assert seen["tokens"] == seen["tokens by hand"] == seen["tokens one by one"]
    assert all(seen["spelt again"])
    assert {token for tokens in seen["tokens"] for token in tokens} >= {*range(256, 262)}


def test_exponentially_growing_merges_cost_nothing(seen: dict[str, Any]) -> None:
    """Worked by hand: 1,000 is 512 + 256 + 128 + 64 + 32 + 8, so that doubling makes six tokens of it."""
    assert seen["doubled"] == [6, 1000]


def test_probabilities_add_up_to_one(seen: dict[str, Any]) -> None:
    assert seen["sums over next tokens"] == pytest.approx([1, 1, 1, 1], rel=1e-6)
    assert seen["sum over texts of two bytes"] == pytest.approx(1, rel=1e-6)
    assert seen["probability of one of ten equal scores"] == pytest.approx(0.1, rel=1e-9)


def test_attention_is_causal(seen: dict[str, Any]) -> None:
    assert seen["changed before"] == [0, 0, 0, 0]


def test_batching_does_not_change_the_bits_of_a_token(seen: dict[str, Any]) -> None:
    assert max(map(len, seen["tokens"])) > 2 * 16 > min(map(len, seen["tokens"]))
    for bits, by_hand in zip(seen["bits"], seen["bits by hand"], strict=True):
        assert bits == pytest.approx(by_hand, rel=1e-5)


def test_a_checkpoint_restores_the_model(seen: dict[str, Any]) -> None:
    assert seen["bits once more"] == seen["bits"][0]


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_language_model_is_refused_with_a_sentence(seen: dict[str, Any], name: str) -> None:
    assert seen["refused"][name] == REFUSED[name]


def test_every_invalid_checkpoint_is_covered(seen: dict[str, Any]) -> None:
    assert seen["refused"].keys() == REFUSED.keys()


def test_an_untrained_byte_model_costs_eight_bits_per_byte(
    miniature: Prepared, seen: dict[str, Any], checkpoints: Path, tmp_path: Path, home: Home
) -> None:
    """Worked by hand: with weights of zero all 256 bytes are equally likely, and -log2(1 / 256) is 8."""
    path = changed(checkpoints / "plain.npz", tmp_path, forgotten)
    grade = grade_submission(path, miniature, home=home)
    assert (grade.why, grade.score, grade.sealed, grade.deterministic) == (None, 8, True, True)


def test_merges_that_lose_bytes_are_an_invalid_submission(
    miniature: Prepared, seen: dict[str, Any], checkpoints: Path, tmp_path: Path, home: Home
) -> None:
    path = changed(checkpoints / "merged.npz", tmp_path, lambda name, array: array + 400 * (name == "merges"))
    grade = grade_submission(path, miniature, home=home)
    assert not grade.valid_submission and grade.score is None
    assert grade.why == f"checkpoint.npz: row 0 of merges {EVERY_BYTE}."


@pytest.mark.slow
def test_the_starter_scores_better_than_tokens_alone(miniature: Prepared, tmp_path: Path, home: Home) -> None:
    trained = tmp_path / "trained.npz"
    trained.write_bytes(run_starter(home, miniature, SMALLER))
    grade = grade_submission(trained, miniature, home=home)
    assert grade.valid_submission and grade.sealed, grade.why
    tokens_alone = grade_submission(changed(trained, tmp_path, forgotten), miniature, home=home)
    assert grade.score is not None and tokens_alone.score is not None
    assert grade.score < 0.9 * tokens_alone.score < 0.9 * 8


def changed(path: Path, folder: Path, change: Callable[[str, np.ndarray], Any]) -> Path:
    """Copy a checkpoint with some arrays changed."""
    with np.load(path, allow_pickle=False) as file:
        np.savez(folder / "checkpoint.npz", **{name: change(name, file[name]) for name in file.files})
    return folder / "checkpoint.npz"


def forgotten(name: str, array: np.ndarray) -> np.ndarray:
    """Return the same settings and tokens with zero weights."""
    return np.zeros_like(array) if array.dtype.kind == "f" else array
