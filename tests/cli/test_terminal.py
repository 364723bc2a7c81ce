"""Tables fit the terminal, colors have a meaning, and commands find what the user means."""

import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from assay.cli import assay as command_group
from assay.core.home import Home
from assay.core.layout import TableColumn, fit_table, shorten_middle
from assay.core.progress import ProgressBars
from assay.tasks import Registry
from sample_run import write_run

COLUMNS = (
    TableColumn("name", shrinks=True, min_width=10),
    TableColumn("kind", leave_out=1),
    TableColumn("score", right=True),
)
END = "-- end of the command --"
ROWS = [["a-rather-long-name-of-a-task", "tabular", "0.5"], ["short", "image", "12.25"]]


def on_terminal(home: Home, *commands: tuple[str, ...], width: int, **variables: str) -> list[str]:
    """Return what a terminal of this width shows for each of some commands, which run in one process."""
    main, terminal = pty.openpty()
    settings = {"ASSAY_HOME": str(home.root), "COLUMNS": str(width), "TERM": "xterm-256color", **variables}
    code = (
        f"from assay.cli import assay\nfor words in {commands}:\n assay(words, standalone_mode=False)\n print({END!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=terminal, stderr=subprocess.PIPE, env={**os.environ, **settings}
    )
    os.close(terminal)
    output = b""
    while select.select([main], [], [], 120)[0]:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        output += part
    _, errors = process.communicate()
    os.close(main)
    assert process.returncode == 0, errors
    return output.decode().replace("\r\n", "\n").split(f"{END}\n")[:-1]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_torn(pocket_home, width):
    """What the recording of the first ten minutes does not show (tests/docs/test_recording.py)."""
    commands = (
        ("tasks",),
        ("tasks", "mlebench/spooky-author-identification"),
        ("agents", "aide"),
        ("audit", "--quick", "pocket/house-price"),
        ("study", "leaderboard"),
        ("doctor",),
    )
    outputs = on_terminal(pocket_home, *commands, width=width)
    torn = {words: line for words, text in zip(commands, outputs, strict=True) for line in too_long(text, width)}
    assert all(outputs) and torn == {}


def too_long(text: str, width: int) -> list[str]:
    return [line for line in plain(text).splitlines() if len(line) > width and not is_one_word(line)]


def is_one_word(line: str) -> bool:
    """A path is never broken: it could not be copied."""
    return " " not in line.strip()


def test_color_has_a_meaning_and_can_be_switched_off(home):
    words = ("tasks", "pocket")
    (colored,) = on_terminal(home, words, width=100)
    assert "\x1b[" in colored
    assert on_terminal(home, words, width=100, NO_COLOR="1") == [plain(colored)]


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


@pytest.mark.parametrize(("total", "percentage"), [(None, ""), (10, "0%")])
def test_a_bar_has_a_percentage_only_where_the_total_is_known(monkeypatch, total, percentage):
    main, terminal = pty.openpty()
    monkeypatch.setenv("COLUMNS", "80")
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with ProgressBars().stage("rendering the report of a run with a name that is much too long for a bar", total):
            monkeypatch.undo()
            output = ""
            while "0:00:00" not in output:
                output += os.read(main, 65536).decode()
    os.close(main)
    (line,) = [line for line in plain(output).splitlines() if "report" in line]
    assert len(line.strip()) <= 80 and line.split("━")[-1].split() == [*([percentage] if percentage else []), "0:00:00"]


def test_the_answer_of_a_large_run_stays_on_the_screen(assay, tmp_path):
    tasks = [task.name for task in Registry().select("pocket")]
    run = write_run(tmp_path / "run", seeds=1, tasks=tasks)
    lines = assay("report", run.path).stdout.splitlines()
    assert lines[0].startswith("research is better than starter on these 22 tasks") and len(lines) < 24
    assert any("Scores on 22 tasks, and more: assay report --explain" in line for line in lines)
    agents = [line.split()[0] for line in lines if line.startswith(("research ", "starter "))]
    assert agents[1:3] == ["research", "starter"], "the best comes first"
    assert "clothing accuracy" in assay("report", run.path, "--explain").stdout


def test_json_is_never_wrapped(home):
    (output,) = on_terminal(home, ("tasks", "pocket/house-price", "--json"), width=80)
    assert json.loads(output)["title"] == "House prices in Ames"


def test_names_are_whole_in_a_pipe(assay):
    listed = assay("tasks", "mlebench").stdout
    assert "mlebench/dogs-vs-cats-redux-kernels-edition" in listed and "…" not in listed


def test_shells_complete_commands_tasks_agents_runs_and_trials(assay, tmp_path, monkeypatch):
    (tmp_path / "runs/first/trials/digits-starter-1").mkdir(parents=True)
    (tmp_path / "runs/first/trials/digits-starter-1/trial.json").write_text("{}")
    (tmp_path / "runs/first/run.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for shell in ("bash", "zsh", "fish"):
        assert "_ASSAY_COMPLETE" in assay("config", "--completion", shell).stdout
        for line, expected in [
            ("assay ver", "verify"),
            ("assay run pocket/dig", "pocket/digits"),
            ("assay run pocket --agent ai", "aide"),
            ("assay report runs/", "runs/first"),
            ("assay logs runs/first/tr", "runs/first/trials/digits-starter-1"),
        ]:
            words = line.split(" ")
            monkeypatch.setenv("COMP_WORDS", line)
            monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words) - 1))
            kind = get_completion_class(shell)
            assert kind
            assert expected in kind(command_group, {}, "assay", "_ASSAY_COMPLETE").complete(), (shell, line)


@pytest.mark.parametrize(
    ("line", "expected"), [("assay tasks pocket/h", "pocket/house-price"), ("assay run pocket:q", "quick")]
)
def test_bash_completes_with_the_script_that_is_printed(home, line, expected):
    """In a real shell, which takes what stands before a colon for a word of its own."""
    typed = f'COMP_LINE="{line}"; COMP_POINT={len(line)}; _assay_completion assay; echo "${{COMPREPLY[@]}}"'
    variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "ASSAY_HOME": str(home.root)}
    done = subprocess.run(
        ["bash", "-c", f'eval "$(assay config --completion bash)"; {typed}'],
        env=os.environ | variables,
        capture_output=True,
    )
    assert done.stdout.decode() == f"{expected}\n", done.stderr


def test_runs_are_found_exported_reported_together_and_viewed(tiny, tmp_path: Path, monkeypatch):
    def call(*words):
        done = tiny.call(*words)
        assert done.returncode == 0, done.stderr
        return done

    monkeypatch.chdir(tmp_path)
    agent = Path("mine.py")
    for name in ("first", "second"):
        agent.write_text(AGENT.format(name=name))
        call("run", "tiny", "--agent", "mine.py:Mine", "--out", f"runs/{name}", "--quiet")
    assert [row["run"] for row in json.loads(call("ls", "--json").stdout)["rows"]] == ["runs/second", "runs/first"]
    newest = call("report")
    assert "Using the newest run: runs/second" in newest.stderr
    assert "Using the newest run: runs/second" in tiny.call("compare").stderr
    call("export", "runs/second", "--out", "second.zip")
    assert "1 of 1" in call("report", "second.zip").stdout
    both = call("report", "runs/first", "runs/second", "second.zip", "--csv", "--trials")
    rows = list(csv.DictReader(io.StringIO(both.stdout)))  # a copy counts once, and changed code is another agent
    assert [row["run"] for row in rows] == ["first", "second"]
    assert len({row["agent"] for row in rows}) == 2 and {row["seed"] for row in rows} == {"1"}
    assert all(float(row["score"]) > 0 and float(row["seconds"]) > 0 for row in rows)
    assert call("verify", "second.zip", "--no-regrade").returncode == 0
    (trial,) = (tmp_path / "runs/first/trials").iterdir()
    output = call("logs", str(trial)).stdout
    assert "python train.py" in output and output.splitlines()[-1] == "done"

    viewer = tiny.start("view", "second.zip")
    page = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(viewer.stdout.readline().strip())
    assert "Mine" in page.read().decode()
    viewer.send_signal(signal.SIGINT)
    assert viewer.wait() == 0


AGENT = """
from assay.agents import Agent, Workbench

class Mine(Agent):
    async def work(self, bench: Workbench) -> None:
        await bench.run(["python", "train.py", "{name}"])
"""


def test_a_bundle_cannot_write_outside_of_its_folder(assay, tmp_path):
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("run.json", "{}")
        archive.writestr("../evil.txt", "x")
    refused = assay("report", tmp_path / "evil.zip")
    assert refused.returncode == 2 and "which no exported run has" in refused.stderr
    (tmp_path / "text.zip").write_text("no zip")
    for command in ("report", "view", "verify"):
        refused = assay(command, tmp_path / "text.zip")
        assert refused.returncode == 2 and "neither a run folder nor a zip file" in refused.stderr, command


def test_swapped_arguments_a_file_without_class_and_missing_variants_are_explained(assay, tmp_path):
    (tmp_path / "sub.csv").write_text("id,label\n")
    swapped = assay("grade", "pocket/digits", tmp_path / "sub.csv")
    assert swapped.returncode == 2
    assert f"The submission comes first: assay grade {tmp_path}/sub.csv" in swapped.stderr
    leaf = "mlebench/leaf-classification"
    assert assay("prepare", leaf, "--synthetic", "--quiet").returncode == 0
    (tmp_path / "bad.py").write_text("class Bad(Agent):\n    pass\n")
    unnamed = assay("run", leaf, "--agent", tmp_path / "bad.py")
    assert unnamed.returncode == 2 and f"name what it defines: {tmp_path}/bad.py:Bad" in unnamed.stderr
    checked = assay("audit", "--quick", leaf)
    assert checked.returncode == 0 and "Using synthetic-0 data" in checked.stderr
    assert "Checked 1 task" in checked.stdout
    missing = assay("audit", "--quick", leaf, "--variant", "real")
    assert missing.returncode == 1 and "prepared are: synthetic-0; to use one, pass --variant" in missing.stderr
    planned = json.loads(assay("plan", leaf, "--agent", "starter", "--variant", "synthetic", "--json").stdout)
    assert [(line["time"], line["steps"]) for line in planned["lines"]] == [(600.0, 50)]


def test_the_doctor_names_extras_and_keys(assay):
    rows = {row["name"]: row for row in json.loads(assay("doctor", "--json").stdout)["checks"]}
    assert {"assay", "load", "extra agents", "extra kaggle", "API keys", "cpu limit", "environment core"} <= set(rows)
