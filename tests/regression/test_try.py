"""`assay try` and the fixture `assay_try`: versions of an agent are run, compared, kept and shown."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.regression.quick_set import QUICK_SET
from assay.tasks import Registry

TINY = Path(__file__).parent.parent / "tiny"
AGENT = '''
from assay.agents import Agent, Workbench

RULE = "{rule}"

class Coins(Agent):
    """Submits sides of coins by a rule."""

    async def work(self, bench: Workbench) -> None:
        script = "awk -F, 'NR == 1 {{print \\"coin,side\\"}} NR > 1 {{print $1 \\",\\" (%s)}}' data/test.csv"
        await bench.run(["sh", "-c", script % RULE + " > submission.csv"])
'''
TEST = """
def test_agent(assay_try):
    result = assay_try("coins.py:Coins", tasks=["tiny/coin"], seeds=1, folder={tiny!r})
    assert not result.failed and result.outcome != "worse", result.sentence
"""


class Trying:
    """An agent under development, and `assay try` on it."""

    def __init__(self, tiny, folder: Path) -> None:
        self._tiny, self.folder = tiny, folder

    def write(self, rule: str) -> None:
        (self.folder / "coins.py").write_text(AGENT.format(rule=rule))

    def __call__(self, *words: str):
        return self._tiny.call("try", *words)

    def attempt(self, rule: str, *words: str, code: int = 0) -> dict:
        self.write(rule)
        result = self("coins.py:Coins", "tiny/coin", "--seeds", "6", "--json", *words)
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout)


@pytest.fixture
def trying(tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trying:
    """A folder with the agent's file, in which commands are called."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Trying(tiny, folder)


def test_the_quick_set_has_tasks_of_many_kinds():
    registry = Registry()
    tasks = {task.id: task for group in QUICK_SET for task in registry.select_all(group.names)}
    assert len(tasks) == 11 and len({task.kind for task in tasks.values()}) >= 8


@pytest.mark.slow
def test_a_change_is_better_equivalent_or_worse_and_the_history_keeps_it(trying):
    first = trying.attempt("0", "--label", "tails", "--fail-on", "worse")
    assert first["outcome"] is None and "6 of 6 trials" in first["sentence"]
    better = trying.attempt("$1 % 3 == 0")
    assert better["outcome"] == "better" and better["against"] == 1 and better["pairs"] == 6
    assert [change["now"] for change in better["changes"]] == [1.0] * 6
    equal = trying.attempt("($1 % 3 == 0)")
    assert equal["outcome"] == "equivalent" and "the same score in all 6 pairs" in equal["sentence"]
    worse = trying.attempt("broken(", "--fail-on", "worse", code=1)
    assert worse["outcome"] == "worse" and len(worse["broken"]) == 6
    assert worse["sentence"].endswith("; it broke on coin.")
    assert len(worse["failed"]) == 1 and worse["failed"][0].startswith("6 trials without a score (coin): ")

    again = trying.attempt("broken(", "--against", "tails", "--fail-on", "broken", code=1)
    assert again["version"]["number"] == 4 and again["against"] == 1, "unchanged code is no new version"
    back = trying.attempt("0", "--fail-on", "worse")
    assert back["version"]["number"] == 5 and back["version"]["run"] == 1, "known trials are not run again"
    assert back["outcome"] == "better" and back["against"] == 4

    log = json.loads(trying("--log", "--json").stdout)["histories"][0]["rows"]
    assert [row["outcome"] for row in log] == [None, "better", "equivalent", "worse", "better"]
    assert [row["label"] for row in log] == ["tails", None, None, None, None]
    printed = trying("--log", "--diff").stdout
    assert '-RULE = "0"\n+RULE = "$1 % 3 == 0"' in printed and "Version 1 to version 2, 20" in printed


def test_wrong_calls_say_what_to_do(trying):
    for words, message in {
        (): "No agent given; pass path.py:Class or a name, or --log",
        ("--log",): "No version was tried yet below runs/try",
        ("missing.py:Coins",): "missing.py is missing",
        ("starter", "tiny/coin", "--label", "x" * 201): "--label: at most 200 characters",
        ("starter", "tiny/coin", "--against", "main"): "has no version 'main'; it has none",
    }.items():
        result = trying(*words)
        assert result.returncode == 2 and message in result.stderr, (words, result.stderr)
    assert not (trying.folder / "runs").exists()


def test_a_paid_model_says_its_cost_first_and_nothing_is_run(trying):
    result = trying("react", "tiny/coin", "--model", "openai/gpt-4o-mini", "--cost", "0.5", "--seeds", "2")
    assert result.returncode == 2
    assert "2 trials with openai/gpt-4o-mini cost at most $1.00." in result.stderr and "pass --yes" in result.stderr
    assert not (trying.folder / "runs").exists()


def test_the_fixture_tries_agents_in_pytest(trying, tiny):
    trying.write("$1 % 3 == 0")
    (trying.folder / "test_coins.py").write_text(TEST.format(tiny=str(TINY)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--assay-history", "kept"]
    environment = os.environ | {"ASSAY_HOME": str(tiny.home.root)}
    results = []
    for rule in ("$1 % 3 == 0", "broken("):
        trying.write(rule)
        done = subprocess.run(command, cwd=trying.folder, env=environment, capture_output=True, text=True, timeout=600)
        results.append((done.returncode, done.stdout))
    assert results[0][0] == 0, results[0][1]
    assert results[1][0] == 1 and "it broke on coin" in results[1][1], results[1][1]
    assert len(list((trying.folder / "kept" / "Coins" / "versions").iterdir())) == 2
