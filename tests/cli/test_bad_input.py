"""Invalid input is reported in one sentence with the right exit code, and no partial output is left."""

from pathlib import Path

import pytest

from assay.core.home import Home
from assay.data.store import load_prepared
from assay.tasks import Registry


def error_of(result) -> str:
    """The one sentence on standard error."""
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["tasks", "hause-price"], 2, "did you mean house-price?"),
        (["tasks", "pocket:slow"], 2, "no split 'slow'"),
        (["grade", "nowhere.csv", "pocket/house-price"], 2, "File nowhere.csv does not exist"),
        (["grade", "pocket/house-price", "nowhere.csv"], 2, "The submission comes first: assay grade nowhere.csv"),
        (["run", "pocket/digits", "--agent", "starter", "--no-build"], 1, "assay prepare pocket/digits"),
        (["run", "pocket/digits", "--agent", "starter", "--time", "5"], 2, "5 has no unit; write 5s, 5m or 5h"),
        (["run", "pocket/digits", "--agent", "starter", "--seeds", "three"], 2, "'three' is not an integer"),
        (["run", "pocket/digits", "--agent", "automl,share=lots"], 2, "share: 'lots' is not a number"),
        (["run", "pocket/digits", "--agent", "starter", "--steps", "ten"], 2, "'ten' is not a valid integer"),
        (["run", "pocket/digits", "--agent", "shell", "--model", "gpt-5"], 2, "PROVIDER/MODEL, e.g. openai/gpt-5"),
        (["try", "mine.py:Mine", "--time", "5"], 2, "5 has no unit"),
        (["try", "mine.py"], 2, "error: mine.py is missing"),
        (["study", "powr"], 2, "did you mean power?"),
        (["report", "nosuch"], 2, "nosuch does not exist; there are no runs below this folder"),
        (["report", "."], 2, "not a run folder"),
        (["resume", "."], 2, "not a run folder"),
        (["frobnicate"], 2, "No such command"),
        (["study", "aggregate", __file__, "--split", "low"], 2, "is not a grading report"),
        (["run", "pocket/digits", "--agent", "starter", "--time", "soon"], 2, "not a duration"),
        (["prepare", "pocket/digits", "--edition", "v9"], 2, "no edition 'v9'"),
        (["--tasks", ".", "tasks"], 2, "not a suite"),
        (["run", "/dev/null", "--agent", "starter"], 2, "is named '/dev/null'"),
        (["lab", "build", "nowhere.txt"], 2, "requirements file nowhere.txt does not exist"),
        (["report", __file__], 2, "neither a run folder nor a zip file"),
        (["study", "violations", __file__], 2, "neither a run folder nor a zip file"),
    ],
)
def test_a_usage_error_is_one_sentence(assay, tmp_path: Path, monkeypatch, words, code, sentence):
    monkeypatch.chdir(tmp_path)
    result = assay(*words)
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.returncode == code
    assert list(tmp_path.iterdir()) == []


def test_an_empty_list_is_named(assay, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.write_text("# nothing\n")
    for words in (["tasks", empty], ["run", empty, "--agent", "starter"], ["prepare", empty]):
        result = assay(*words)
        assert result.returncode == 2 and f"{empty} is not a list of tasks: it names none" in result.stderr
    empty.write_text("")
    result = assay("grade", empty, "--out", tmp_path / "reports")
    assert result.returncode == 2 and "lists no submissions" in result.stderr and not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (b"\x00\x01", "agent.py cannot be imported: "),
        (b"def", "agent.py cannot be imported: SyntaxError: invalid syntax (agent.py, line 1)"),
        (b"import nowhere", "agent.py:1: ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_code_of_an_agent_that_cannot_be_imported_is_one_sentence(assay, pocket_home, tmp_path, code, sentence):
    (tmp_path / "agent.py").write_bytes(code)
    result = assay("run", "digits", "--agent", f"{tmp_path}/agent.py:Mine", "--out", tmp_path / "run", home=pocket_home)
    assert result.returncode == 2 and sentence in error_of(result) and not (tmp_path / "run").exists()


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
def test_an_invalid_agent_is_one_sentence_and_creates_no_folder(assay, pocket_home, tmp_path: Path, agent, sentence):
    result = assay("run", "digits", "--agent", agent, "--out", tmp_path / "run", home=pocket_home)
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
def test_an_invalid_submission_gets_a_grade_instead_of_a_crash(assay, pocket_home, tmp_path: Path, content, sentence):
    path = tmp_path / "submission.csv"
    path.write_bytes(content)
    graded = assay("grade", path, "pocket/house-price", home=pocket_home)
    assert graded.returncode == 0
    assert "invalid submission" in graded.stdout
    assert sentence in graded.stdout
    validated = assay("grade", "--validate", path, "pocket/house-price", home=pocket_home)
    assert validated.returncode == 1
    assert sentence in error_of(validated)


def sample(home: Home) -> list[str]:
    public = load_prepared(home, Registry().task("pocket/house-price")).public
    return (public / "sample_submission.csv").read_text().splitlines()


@pytest.mark.parametrize("fault", ["duplicate", "nan", "missing", "unknown"])
def test_invalid_ids_and_values_are_named(assay, pocket_home, tmp_path: Path, fault):
    lines = sample(pocket_home)
    first = lines[1].partition(",")[0]
    changed = {
        "duplicate": [*lines[:2], lines[1], *lines[3:]],
        "nan": [lines[0], f"{first},nan", *lines[2:]],
        "missing": lines[:-1],
        "unknown": [lines[0], "no-such-id,1", *lines[2:]],
    }[fault]
    path = tmp_path / "submission.csv"
    path.write_text("\n".join(changed) + "\n")
    result = assay("grade", "--validate", path, "pocket/house-price", home=pocket_home)
    assert result.returncode == 1
    named = {"duplicate": first, "nan": first, "missing": lines[-1].partition(",")[0], "unknown": "no-such-id"}[fault]
    assert named in error_of(result)


def test_the_sample_submission_is_valid_and_validation_prints_no_score(assay, pocket_home, tmp_path: Path):
    path = tmp_path / "submission.csv"
    path.write_text("\n".join(sample(pocket_home)) + "\n")
    result = assay("grade", "--validate", path, "pocket/house-price", home=pocket_home)
    assert result.returncode == 0
    assert "valid" in result.stdout
    assert "rmsle" not in result.stdout
    graded = assay("grade", path, "pocket/house-price", "--json", home=pocket_home)
    assert '"valid_submission": true' in graded.stdout
