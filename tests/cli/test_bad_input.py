"""Invalid input is reported in one sentence with the right exit code, and no partial output is left."""

from pathlib import Path

import pytest

SAMPLE = "row_id,SalePrice\n"


def error_of(result) -> str:
    """The one sentence on standard error."""
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["show", "hause-price"], 2, "did you mean house-price?"),
        (["show", "pocket"], 2, "4 tasks"),
        (["tasks", "pocket:slow"], 2, "no split 'slow'"),
        (["grade", "nowhere.csv", "pocket/house-price"], 2, "File nowhere.csv does not exist"),
        (["grade", "pocket/house-price", "nowhere.csv"], 2, "The submission comes first: assay grade nowhere.csv"),
        (["run", "pocket/digits", "--agent", "starter"], 1, "assay prepare pocket/digits"),
        (["report", "."], 2, "not a run folder"),
        (["resume", "."], 2, "not a run folder"),
        (["frobnicate"], 2, "No such command"),
        (["aggregate", __file__, "--split", "low"], 2, "is not a grading report"),
        (["run", "pocket/digits", "--agent", "starter", "--time", "soon"], 2, "not a duration"),
        (["prepare", "pocket/digits", "--edition", "v9"], 2, "no edition 'v9'"),
        (["--tasks", ".", "tasks"], 2, "not a suite"),
    ],
)
def test_a_usage_error_is_one_sentence(assay, tmp_path: Path, words, code, sentence):
    result = assay(*words, cwd=tmp_path)
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("automal", "did you mean automl?"),
        ("automl,share=2", "share"),
        ("automl,colour=red", "colour: unknown setting; available: "),
        ("starter,colour=red", "colour: unknown setting; there are none"),
        ("automl,share", "is not a setting"),
        ("nowhere.py:Agent", "nowhere.py is missing"),
    ],
)
def test_an_invalid_agent_is_one_sentence_and_creates_no_folder(assay_prepared, tmp_path: Path, agent, sentence):
    result = assay_prepared("run", "digits", "--agent", agent, "--out", tmp_path / "run", cwd=tmp_path)
    assert result.returncode == 2
    assert sentence in error_of(result)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "submission.csv"),
        (b"", "empty"),
        (b"row_id,Price\n1,2\n", "SalePrice"),
        (b"row_id,SalePrice\n1,2\n", "row"),
    ],
    ids=["binary", "empty", "wrong-columns", "missing-rows"],
)
def test_an_invalid_submission_gets_a_grade_instead_of_a_crash(assay_prepared, tmp_path: Path, content, sentence):
    path = tmp_path / "submission.csv"
    path.write_bytes(content)
    graded = assay_prepared("grade", path, "pocket/house-price")
    assert graded.returncode == 0
    assert "invalid submission" in graded.stdout
    assert sentence in graded.stdout
    validated = assay_prepared("validate", path, "pocket/house-price")
    assert validated.returncode == 1
    assert sentence in error_of(validated)


def sample(assay_prepared) -> list[str]:
    from assay.core.home import Home
    from assay.data.store import load_prepared
    from assay.tasks import Registry

    home = Home(Path(assay_prepared.__closure__[0].cell_contents.root))
    public = load_prepared(home, Registry().task("pocket/house-price")).public
    return (public / "sample_submission.csv").read_text().splitlines()


@pytest.mark.parametrize("fault", ["duplicate", "nan", "missing", "unknown"])
def test_invalid_ids_and_values_are_named(assay_prepared, tmp_path: Path, fault):
    lines = sample(assay_prepared)
    first = lines[1].partition(",")[0]
    changed = {
        "duplicate": [*lines[:2], lines[1], *lines[3:]],
        "nan": [lines[0], f"{first},nan", *lines[2:]],
        "missing": lines[:-1],
        "unknown": [lines[0], "no-such-id,1", *lines[2:]],
    }[fault]
    path = tmp_path / "submission.csv"
    path.write_text("\n".join(changed) + "\n")
    result = assay_prepared("validate", path, "pocket/house-price")
    assert result.returncode == 1
    named = {"duplicate": first, "nan": first, "missing": lines[-1].partition(",")[0], "unknown": "no-such-id"}[fault]
    assert named in error_of(result)


def test_the_sample_submission_is_valid_and_validation_prints_no_score(assay_prepared, tmp_path: Path):
    path = tmp_path / "submission.csv"
    path.write_text("\n".join(sample(assay_prepared)) + "\n")
    result = assay_prepared("validate", path, "pocket/house-price")
    assert result.returncode == 0
    assert "valid" in result.stdout
    assert "rmsle" not in result.stdout
    graded = assay_prepared("grade", path, "pocket/house-price", "--json")
    assert '"valid_submission": true' in graded.stdout
