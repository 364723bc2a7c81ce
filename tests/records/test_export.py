"""A run packed into one file for others."""

import json
import zipfile

from assay.records.signature import run_digest


def test_an_export_is_reproducible_and_contains_everything_needed_to_verify_it(finished, tmp_path):
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    for path in (first, second):
        result = finished.assay("export", finished.run.path, "--out", path)
        assert result.returncode == 0, result.stderr
        assert run_digest(finished.run) in result.stdout
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        index = json.loads(archive.read("index.json"))
        for trial in finished.trials:
            inside = f"trials/{trial.path.name}"
            assert archive.read(f"{inside}/events.jsonl") == trial.events.read_bytes()
            assert {f"{inside}/trial.json", f"{inside}/grade.json", f"{inside}/submission/manifest.json"} <= names
            assert f"{inside}/submission/submission.csv" not in names
    assert index["digest"] == run_digest(finished.run)
    assert set(index["files"]) == names - {"index.json"}


def test_an_unpacked_export_passes_verification(finished, tmp_path):
    assert finished.assay("export", finished.run.path, "--out", tmp_path / "run.zip", "--submissions").returncode == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    digest = run_digest(finished.run)
    result = finished.assay("verify", tmp_path / "unpacked", "--digest", digest, "--quiet")
    assert result.returncode == 0, result.stdout
    assert "4 trials: everything matches" in result.stdout and "exports contain only the list of files" in result.stdout
    grade = next((tmp_path / "unpacked").glob("trials/*/grade.json"))
    grade.write_text(grade.read_text().replace('"valid_submission": true', '"valid_submission": false'))
    result = finished.assay("verify", tmp_path / "unpacked", "--quiet")
    assert result.returncode == 1 and "the grade was changed" in result.stdout


def test_grading_reports_are_exported_by_seed(finished, tmp_path):
    reports = tmp_path / "reports"
    words = ("export", finished.run.path, "--out", tmp_path / "run.zip", "--reports", reports)
    assert finished.assay(*words).returncode == 0
    files = sorted(reports.glob("tiny-v1-real/starter/*_grading_report.json"))
    assert [path.name for path in files] == ["seed-001_grading_report.json", "seed-002_grading_report.json"]
    content = json.loads(files[0].read_text())
    assert (content["total_runs"], content["total_valid_submissions"], content["not_graded"]) == (1, 1, [])
    assert content["competition_reports"][0]["competition_id"] == "coin"
    (tmp_path / "coins").write_text("coin\n")
    result = finished.assay("study", "aggregate", *files, "--split", tmp_path / "coins", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["seeds"] == 2
