"""Weaknesses of the published environment that must not come back; docs/mlagentbench.md lists all of them.

Those that belong to one part of Assay are tested there. Here are the rest, each in a whole trial where it can be.
"""

import ast
import json
import re
from pathlib import Path

import pytest

import assay as package
from assay.data.store import load_prepared
from assay.lab.host.gpus import gpu_nodes
from assay.records import EventLog, RunFolder, read_events
from assay.records.events import SnapshotTaken
from assay.records.prompts import Prompts
from assay.records.tape import finished_calls
from assay.tasks import Registry
from tiny_run import prepare_tiny

TESTS = Path(__file__).parent.parent
SOURCE = Path(package.__file__).parent
THOUGHTS = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")


def say(action, arguments):
    """A reply with every thought field that any of the agents requires."""
    thoughts = [f"{name}: Well." for name in THOUGHTS]
    return "\n".join([*thoughts, f"Action: {action}", f"Action Input: {arguments}"])


def do(action, **arguments):
    return say(action, json.dumps(arguments))


END = do("Final Answer", final_answer="Done.")


@pytest.fixture
def tiny(assay, home, tmp_path, monkeypatch):
    """Runs the coin task with a model that gives these replies, by each of the agents, and returns the trials."""
    monkeypatch.setenv("ASSAY_ATTEMPTS", "1")

    def run(*replies, agents=("act,add_actions=Write File+Python REPL",)):
        (tmp_path / "main.json").write_text(json.dumps(replies))
        prepare_tiny(home)
        result = assay(
            "--tasks", TESTS / "tiny", "run", "tiny", *(word for agent in agents for word in ("--agent", agent)),
            "--model", f"scripted/{tmp_path / 'main.json'}", "--out", tmp_path / "run", "--quiet",
        )  # fmt: skip
        assert (tmp_path / "run" / "run.json").is_file(), result.stderr
        return list(RunFolder(tmp_path / "run").trials())

    return run


@pytest.fixture(scope="module")
def nodes():
    """The nodes of the syntax tree of every module."""
    return {path: list(ast.walk(ast.parse(path.read_text()))) for path in SOURCE.rglob("*.py")}


def done(trial, what):
    """The results of every call of a type, in order."""
    calls = (call for _, call in finished_calls(read_events(trial.events)))
    return [call.result.model_dump() for call in calls if call.request.type == what]


def asked(trial):
    """The last message of each prompt."""
    prompts = Prompts(read_events(trial.events))
    return [prompts.messages(call)[-1].text for call in prompts.calls]


def test_a_trial_reaches_neither_the_harness_nor_a_copy_of_the_data(tiny, home):
    session = "import os, sys; print('parents', os.getppid(), [n for n in sys.modules if 'assay' in n]); import assay"
    closed = "import os, sys\nos.close(1)\nfor n in range(3): print('late', n, file=sys.stderr, flush=True)"
    look = "import os; print('inode', os.stat('data/train.csv').st_ino)"
    (trial,) = tiny(
        do("Python REPL", command=session),
        do("Write File", file_name="closed.py", content=closed),
        do("Execute Script", script_name="closed.py"),
        do("Python REPL", command=look),
        END,
    )
    repl, _, script, inode, _ = [act["observation"] for act in done(trial, "action")]
    # W4: the session is a process of its own in the lab, which cannot see Assay.
    assert "[]" in repl and "No module named 'assay'" in repl
    # W12: a stream that ends early is not read as endless empty lines.
    assert re.search(r"stderr:\nlate 0\nlate 1\nlate 2\s*$", script) and "\n\n\n" not in script
    # W19: the lab mounts the prepared data itself, not a copy.
    public = load_prepared(home, Registry([TESTS / "tiny"]).task("tiny/coin")).public
    assert f"inode {(public / 'train.csv').stat().st_ino}\n" in f"{inode}\n"
    assert not list((trial.path).rglob("train.csv"))


def test_invalid_actions_cost_all_agents_the_same_and_prompts_show_the_remaining_budget(tiny):
    trials = tiny(
        "no move at all", say("Fly", "{}"), say("List Files", "{not json"), say("List Files", '{"dir": "."}'), END,
        agents=("research", "react", "act"),
    )  # fmt: skip
    assert len(trials) == 3
    for trial in trials:
        # W24: a reply without an action costs no step, one with an invalid action costs a step.
        assert [act["cause"] for act in done(trial, "action")] == ["arguments", "format", "arguments", None]
        assert trial.state.steps == 4
        # W25: each question says how many steps and how much time are left.
        left = [re.search(r"You have (\d+) steps and (\S+)", text) for text in asked(trial)]
        assert [int(match[1]) for match in left] == [20, 20, 19, 18, 17]


def test_a_resumed_trial_has_its_data_and_the_rest_of_its_budget(tiny, assay, tmp_path):
    (trial,) = tiny(do("Execute Script", script_name="train.py"), {"error": "refused"})
    assert trial.state.cause == "infrastructure"
    used = [event.used for event in read_events(trial.events) if event.kind == "call_finished"][-1]
    check = "open('data/train.csv').readline(), open('submission.csv').readline()"
    (tmp_path / "main.json").write_text(json.dumps(["", do("Python REPL", command=check), END]))
    assert assay("resume", tmp_path / "run", "--quiet").returncode == 0
    # W21: data and files are there, and what was used up before the interruption stays used up.
    assert "('coin,side\\n', 'coin,side\\n')" in done(trial, "action")[1]["observation"]
    assert trial.state.status == "done" and trial.state.steps == 3
    assert trial.state.elapsed > used.elapsed > 0


def test_the_record_of_a_step_does_not_grow_with_the_number_of_steps(tmp_path):
    path, sizes, before = tmp_path / "events.jsonl", [], b""
    with EventLog(path, 1) as log:
        for step in range(100, 200):
            log.append(SnapshotTaken(snapshot="0" * 64, step=step))
            written = path.read_bytes()
            # W20: what is written is never written again.
            assert written.startswith(before)
            sizes.append(len(written) - len(before))
            before = written
    assert max(sizes) - min(sizes) <= 3  # event numbers get longer


def test_no_code_of_assay_unpickles_or_evaluates(nodes):
    """W6: a submission is only data on the host; code runs in a lab, through a driver or a starter.

    Scans the source: a single call anywhere would execute what an agent wrote, and no test could reach them all.
    """
    unwanted = {
        "pickle",
        "cloudpickle",
        "dill",
        "joblib",
        "shelve",
        "marshal",
        "datasets",
        "eval",
        "exec",
        "read_pickle",
    }
    scripts = ("agents/scripts", "agents/aide/interpreter.py", "grading/by_running/driver.py", "lab/import_probe.py")
    in_labs = [SOURCE / path for path in scripts]
    # Passes a request from one process of Assay to another; the submission in it is bytes, or a path, and stays so.
    between_own_processes = SOURCE / "grading" / "isolated.py"
    exempt = [*in_labs, between_own_processes]
    paths = [path for path in nodes if not any(path.is_relative_to(folder) for folder in exempt)]
    assert len(paths) > 100
    for path in paths:
        for node in nodes[path]:
            names = _names(node) & unwanted
            assert not names, f"{path}:{node.lineno}: {names}"
            if isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "weights_only"):
                assert ast.unparse(node.value) == str(node.arg == "weights_only"), f"{path}:{node.value.lineno}"
            if isinstance(node, ast.Attribute) and node.attr == "load":
                assert ast.unparse(node) != "torch.load", f"{path}:{node.lineno}"


def test_no_code_swallows_exceptions(nodes):
    """W17: no bare `except`; one that catches everything re-raises it or says why nothing narrower is right.

    Scans the source: an error that is swallowed shows in no result.
    """
    handlers = [(path, node) for path, tree in nodes.items() for node in tree if isinstance(node, ast.ExceptHandler)]
    assert [f"{path}:{node.lineno}" for path, node in handlers if is_silent(path, node)] == []


def is_silent(path: Path, handler: ast.ExceptHandler) -> bool:
    caught = ast.unparse(handler.type) if handler.type else ""
    if caught and caught not in ("Exception", "BaseException"):
        return False
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return not caught or not (raises or "#" in path.read_text().splitlines()[handler.lineno - 1])


def test_a_lab_gets_exactly_the_assigned_gpus_and_none_by_default(tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidiactl"):
        (tmp_path / name).touch()
    # W26: several devices, or none.
    assert [path.name for path in gpu_nodes((0, 2), tmp_path)] == ["nvidia0", "nvidia2", "nvidiactl"]
    assert gpu_nodes((), tmp_path) == ()


def test_every_weakness_is_covered_by_existing_tests():
    page = (TESTS.parent / "docs" / "mlagentbench.md").read_text()
    rows = re.findall(r"^\| W(\d+) \|(.*)\|$", page, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 27))
    for number, row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, f"W{number} names no test"
        for file, name in named:
            assert f"def {name}(" in (TESTS / file).read_text(), f"W{number}: {file}::{name}"


def _names(node):
    """The names that a statement imports or calls by."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    if isinstance(node, ast.Call):
        return {node.func.id} if isinstance(node.func, ast.Name) else {getattr(node.func, "attr", "")} & {"read_pickle"}
    return set()
