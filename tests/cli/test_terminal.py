"""Tables fit the terminal, colors have a meaning, and commands find what the user means."""

import csv
import io
import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.core.table import TableColumn, fit_table, shorten_middle

COLUMNS = (
    TableColumn("name", shrinks=True, min_width=10),
    TableColumn("kind", leave_out=1),
    TableColumn("score", right=True),
)
ROWS = [["a-rather-long-name-of-a-task", "tabular", "0.5"], ["short", "image", "12.25"]]


def on_terminal(home: Home, *words: str, width: int, **variables: str) -> str:
    """Return what a terminal of this width shows."""
    main, terminal = pty.openpty()
    settings = {"ASSAY_HOME": str(home.root), "COLUMNS": str(width), "TERM": "xterm-256color", **variables}
    command = [sys.executable, "-m", "assay", *words]
    process = subprocess.Popen(command, stdout=terminal, stderr=subprocess.PIPE, env={**os.environ, **settings})
    os.close(terminal)
    shown = b""
    while select.select([main], [], [], 120)[0]:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        shown += part
    assert process.wait() == 0, process.communicate()[1]
    process.communicate()
    os.close(main)
    return shown.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "words",
    [
        ("tasks",),
        ("show", "pocket/house-price"),
        ("agents",),
        ("agents", "aide"),
        ("config",),
        ("check", "pocket/house-price"),
        ("published", "table"),
        ("--help",),
        ("run", "--help"),
    ],
)
def test_no_line_is_torn(prepared_home, words, width):
    lines = plain(on_terminal(prepared_home, *words, width=width)).splitlines()
    assert lines and max(map(len, lines)) <= width


def test_color_has_a_meaning_and_can_be_switched_off(home):
    colored = on_terminal(home, "tasks", "pocket", width=100)
    assert "\x1b[" in colored
    assert "\x1b[" not in on_terminal(home, "tasks", "pocket", width=100, NO_COLOR="1")


def test_cells_are_shortened_then_columns_left_out_in_order_and_nothing_in_a_pipe():
    whole = fit_table(COLUMNS, ROWS, None)
    assert whole.rows[0] == ("a-rather-long-name-of-a-task", "tabular", "  0.5")
    shorter = fit_table(COLUMNS, ROWS, 36)
    assert shorter.left_out == () and shorter.rows[0][0].startswith("a-rather") and "…" in shorter.rows[0][0]
    assert len("  ".join(shorter.rows[0])) == 36
    narrow = fit_table(COLUMNS, ROWS, 20)
    assert narrow.left_out == ("kind",) and len("  ".join(narrow.rows[0])) <= 20
    assert shorten_middle("abcdefghij", 5) == "ab…ij"
    prose = fit_table([TableColumn("about", shrinks=True, prose=True, min_width=8)], [["what it does"]], 8)
    assert prose.rows == (("what it…",),)


def test_json_is_never_wrapped(home):
    shown = on_terminal(home, "show", "pocket/house-price", "--json", width=80)
    assert json.loads(shown)["title"] == "House prices in Ames"


def test_names_are_whole_in_a_pipe(assay):
    listed = assay("tasks", "mlebench").stdout
    assert "mlebench/dogs-vs-cats-redux-kernels-edition" in listed and "…" not in listed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_tasks_agents_and_runs(home, shell, tmp_path):
    script = subprocess.run(
        [sys.executable, "-m", "assay", "completion", shell], capture_output=True, text=True, check=True
    )
    assert "_ASSAY_COMPLETE" in script.stdout
    (tmp_path / "runs/first/trials/digits-starter-1").mkdir(parents=True)
    (tmp_path / "runs/first/trials/digits-starter-1/trial.json").write_text("{}")
    (tmp_path / "runs/first/run.json").write_text(
        '{"format": "run/1", "created_at": "2026-11-16T12:00:00", "trials": []}'
    )
    for line, expected in [
        ("assay ver", "verify"),
        ("assay run pocket/dig", "pocket/digits"),
        ("assay run pocket --agent ai", "aide"),
        ("assay report runs/", "runs/first"),
        ("assay logs runs/first/tr", "runs/first/trials/digits-starter-1"),
    ]:
        words = line.split(" ")
        place = words[-1] if shell == "fish" else str(len(words) - 1)
        settings = {"_ASSAY_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": place}
        found = subprocess.run(
            [sys.executable, "-c", "from assay.cli import assay; assay.main(prog_name='assay')"],
            env={**os.environ, **settings},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert expected in found.stdout, (line, found.stdout, found.stderr)


def test_runs_are_found_exported_and_reported_together(assay_prepared, tmp_path: Path):
    def call(*words):
        done = assay_prepared(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done

    for name in ("first", "second"):
        call("run", "pocket/digits", "--agent", "starter", "--out", f"runs/{name}", "--quiet")
    assert [row["run"] for row in json.loads(call("ls", "--json").stdout)] == ["runs/second", "runs/first"]
    newest = call("report")
    assert "Using the newest run: runs/second" in newest.stderr
    both = call("report", "runs/first", "runs/second")
    assert "2 of 2" in both.stdout
    call("export", "runs/first", "--out", "first.zip")
    assert "1 of 1" in call("report", "first.zip").stdout
    assert "2 of 2" in call("report", "first.zip", "runs/second").stdout
    assert "1 of 1" in call("report", "first.zip", "runs/first").stdout  # a copy counts once
    assert call("verify", "first.zip", "--no-regrade").returncode == 0
    rows = list(csv.DictReader(io.StringIO(call("report", "runs/first", "--csv", "--trials").stdout)))
    assert len(rows) == 1 and rows[0]["agent"] == "starter" and rows[0]["seed"] == "1" and float(rows[0]["score"]) > 0
    (trial,) = (tmp_path / "runs/first/trials").iterdir()
    shown = call("logs", str(trial)).stdout
    assert "python train.py" in shown and shown.splitlines()[-1] == "done"


def test_a_bundle_cannot_write_outside_of_its_folder(assay, tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("run.json", "{}")
        archive.writestr("../evil.txt", "x")
    refused = assay("report", tmp_path / "evil.zip")
    assert refused.returncode == 2 and "which no exported run has" in refused.stderr
    (tmp_path / "text.zip").write_text("no zip")
    refused = assay("report", tmp_path / "text.zip")
    assert refused.returncode == 2 and "neither a run folder nor a zip file" in refused.stderr


def test_swapped_arguments_a_file_without_class_and_missing_variants_are_explained(assay, tmp_path):
    (tmp_path / "sub.csv").write_text("id,label\n")
    swapped = assay("grade", "pocket/digits", tmp_path / "sub.csv")
    assert swapped.returncode == 2 and f"The submission comes first: assay grade {tmp_path}/sub.csv" in swapped.stderr
    leaf = "mlebench/leaf-classification"
    assert assay("prepare", leaf, "--synthetic", "--quiet").returncode == 0
    (tmp_path / "bad.py").write_text("class Bad(Agent):\n    pass\n")
    unnamed = assay("run", leaf, "--agent", tmp_path / "bad.py")
    assert unnamed.returncode == 2 and f"name the class in it: {tmp_path}/bad.py:Bad" in unnamed.stderr
    checked = assay("check", leaf)
    assert checked.returncode == 0 and "Using synthetic-0 data" in checked.stderr
    assert "Checked 1 task" in checked.stdout
    assert assay("check", leaf, "--variant", "synthetic").returncode == 0
    missing = assay("check", leaf, "--variant", "real")
    assert missing.returncode == 1 and "prepared are: synthetic-0; to use one, pass --variant" in missing.stderr
    planned = json.loads(assay("plan", leaf, "--agent", "starter", "--json").stdout)
    assert [(line["time"], line["steps"]) for line in planned["lines"]] == [(600.0, 50)]


def test_the_doctor_names_extras_and_keys(assay):
    found = {row["name"]: row for row in json.loads(assay("doctor", "--json").stdout)}
    assert {"assay", "load", "extra agents", "extra web", "API keys", "cpu limit", "environment core"} <= set(found)
