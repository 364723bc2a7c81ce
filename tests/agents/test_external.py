"""External agents in a sealed lab: they use the model endpoint, are monitored and limited, and reach nothing else."""

import hashlib
import json
import os
import shlex
from pathlib import Path

import anyio
import pytest
from scripted_researcher import HEADS

from assay.agents import find_agent
from assay.agents.external import External
from assay.agents.external.http import read_upload
from assay.core.errors import LabError, UsageError
from assay.records import OutOfBudget, read_events
from assay.tasks import Budget

pytestmark = pytest.mark.anyio
SCRIPTS = Path(__file__).parent / "external_agents"
TINY = Path(__file__).parent.parent / "tiny"


@pytest.fixture
def external_agent(trial):
    """Makes an external agent from one of the small scripts, for a lab with an endpoint."""
    trial.lab_wishes = {"network": "models"}

    def make_agent(name, *words, **settings):
        program = (SCRIPTS / f"{name}.py").read_text()
        return External(command=shlex.join(["python", "-c", program, *words]), **settings)

    return make_agent


def submissions(trial):
    """Return the size and the fault of each recorded version of the submission."""
    notes = [note["about"] for note in trial.calls("note") if note["topic"] == "submission"]
    return [(note["size"], note["fault"]) for note in notes]


async def test_an_external_agent_solves_the_task_through_the_endpoint(trial, external_agent, script):
    left = await trial.work(external_agent("plain"), {"main": script(HEADS)})
    assert left["submission.csv"].splitlines()[1:3] == [b"30,1", b"31,0"]
    (ended,) = trial.calls("external_process")
    assert (ended["ended"], ended["code"], ended["stopped_by"]) == ("exit", 0, None)
    assert "Submission is valid." in ended["stdout"]
    assert len(trial.calls("validation")) == 1
    (ask,) = trial.calls("model")
    assert ask["used"]["steps"] == 1 and ask["used"]["tokens"] > 0
    assert "Guess which side of each coin is up" in ask["about"]["messages"][0]["text"]
    assert submissions(trial) == [(160, None)]


async def test_its_environment_reveals_nothing_about_the_host(trial, external_agent, script):
    agent = External(command="sh -c 'env > seen; cat /lab/budget.json >> seen; ls -A / /lab >> seen'")
    seen = (await trial.work(agent, {"main": script()}))["seen"].decode()
    assert "OPENAI_BASE_URL=http://127.0.0.1:" in seen and "seconds_left" in seen
    assert str(trial.home.root) not in seen and "coin" not in seen.replace("coin,", "")


async def test_a_spy_finds_no_network_keys_or_answers_and_only_one_socket(trial, external_agent, script, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    left = await trial.work(external_agent("spy"), {"main": script()})
    report = json.loads(left["report.json"])
    assert report == {
        "keys": [],
        "reached": [],
        "sockets": ["/lab/models"],
        "secrets": [],
        "removed": False,
        "seen": [],
    }


async def test_only_a_lab_with_the_network_policy_models_can_reach_the_harness(trial):
    async with trial.bench():
        assert trial.lab.sealing.network == "none"
        with pytest.raises(LabError, match="cannot connect to the harness"):
            await trial.lab.listen("models")
    trial.lab_wishes = {"network": "models"}
    async with trial.bench():
        assert (trial.lab.sealing.network, trial.lab.sealing.sealed) == ("models", True)
        async with await trial.lab.listen("models"):
            program = "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect('/lab/models'); print('in')"
            done = await trial.lab.run(["python", "-c", program], seconds=30)
        assert done.stdout.text == "in\n"


async def test_a_flood_of_requests_ends_with_the_budget(trial, external_agent, tmp_path):
    (tmp_path / "more.py").write_text("def answer(messages, tools):\n    return 'more'\n")
    trial.budget = Budget(time=600, steps=15)
    async with trial.bench({"main": f"scripted/{tmp_path}/more.py:answer"}) as bench:
        with pytest.raises(OutOfBudget, match="all 15 steps"):
            await external_agent("flood").work(bench)
    assert len(trial.calls("model")) == 15
    assert trial.calls("external_process")[0]["stopped_by"] == "budget"


async def test_an_agent_that_ignores_the_deadline_is_killed_and_its_last_valid_submission_counts(
    trial, external_agent, script
):
    trial.budget = Budget(time=60, steps=50)
    trial.form = lambda content: None if content.count(b"\n") == 31 else "rows are missing"
    async with trial.bench({"main": script()}) as bench:

        async def let_time_pass():
            while await trial.lab.change_stamp("torn") is None:
                await anyio.sleep(0.02)
            bench.clock.set(bench.clock.used.model_copy(update={"elapsed": 58.0}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(let_time_pass)
            with pytest.raises(OutOfBudget, match="time is up"):
                await external_agent("stubborn").work(bench)
        left = await trial.workspace()
    assert left["asked"] == b"to end"
    (ended,) = trial.calls("external_process")
    assert (ended["ended"], ended["stopped_by"]) == ("signal", "time")
    assert submissions(trial) == [(160, None), (160, None), (13, "rows are missing")]
    assert left["submission.csv"].splitlines()[1] == b"30,1"
    kept = [event.snapshot for event in read_events(trial.events) if event.kind == "snapshot_taken"]
    assert len(set(kept)) >= 4


async def test_a_missing_command_is_recorded(trial, external_agent, script):
    await trial.work(External(command="no-such-agent --now"), {"main": script()})
    (ended,) = trial.calls("external_process")
    assert ended["code"] == 127 and "no-such-agent" in ended["stderr"]


async def test_its_output_is_recorded_in_part(trial, external_agent, script):
    agent = External(command="python -c \"print('begin'); print('x' * 30_000_000); print('end')\"")
    await trial.work(agent, {"main": script()})
    (ended,) = trial.calls("external_process")
    assert ended["stdout"].startswith("begin") and ended["stdout"].endswith("end\n")
    assert len(ended["stdout"]) < 300_000


async def test_its_trajectory_is_kept_with_the_record_up_to_the_max_size(trial, external_agent, script):
    words = """mkdir logs; echo one > logs/a.json; echo other > b.txt
        head -c 5000 /dev/zero > logs/large.json; ln -s /etc/passwd logs/link.json"""
    agent = External(command=shlex.join(["sh", "-c", words]), trajectory="logs/*.json", trajectory_size=1000)
    await trial.work(agent, {"main": script()})
    kept = [path.name for path in (trial.folder / "trajectory").rglob("*") if path.is_file()]
    assert kept == ["a.json"]


async def test_an_interrupted_agent_restarts_with_its_files(trial, external_agent, script):
    words = 'echo "$RESUMED" >> lives; head -n 1 task.md; test -n "$RESUMED" || tail -f /dev/null'
    agent = External(command=shlex.join(["sh", "-c", words]))
    async with trial.bench({"main": script()}) as bench, anyio.create_task_group() as tasks:
        tasks.start_soon(agent.work, bench)
        while await trial.lab.change_stamp("lives") is None:
            await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    left = await trial.work(agent, {"main": script()})
    assert left["lives"] == b"1\n"
    (ended,) = trial.calls("external_process")
    assert "You have worked on this task before" in ended["stdout"]
    await trial.work(agent, {"main": script()})
    assert len(trial.calls("external_process")) == 1


def test_an_agent_outside_the_lab_is_marked_unsealed(tiny, script, tmp_path):
    profile = tmp_path / "plain.toml"
    profile.write_text(f"command = {json.dumps(['python', str(SCRIPTS / 'plain.py')])}\n")
    agent = f"external,profile={profile},inside=no"
    done = tiny.call(*tiny.run_words(agent), "--model", script(HEADS))
    assert done.returncode == 0, done.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.file.sandbox, trial.state.sealing.network, trial.grade.sealed) == ("none", "host", False)
    assert trial.grade.score == 1.0


def test_a_command_that_asks_no_model_needs_none(tiny, tmp_path):
    (tmp_path / "guess.py").write_text((TINY / "coin" / "starter" / "train.py").read_text())
    (tmp_path / "guess.toml").write_text(
        'command = ["python", "guess.py"]\ninclude = ["guess.py"]\nasks_models = false\n'
    )
    agents = (f"external,profile={tmp_path}/guess.toml", "external,command=python train.py")
    done = tiny.call(*tiny.run_words(*agents))
    assert done.returncode == 0, done.stderr
    guess, starter = tiny.folder.trials()
    assert (guess.file.label, starter.file.label) == ("external guess", "external python train.py")
    assert guess.grade.valid_submission and starter.grade.valid_submission
    assert guess.file.models == {} == starter.file.models
    (tmp_path / "guess.py").write_text("print('it does nothing any more')\n")
    tiny.call(*tiny.run_words(agents[0]))
    assert len(list(tiny.folder.trials())) == 3, "a changed script is another agent"


def test_a_profile_says_whether_it_needs_a_model(tmp_path):
    def use(**settings):
        return find_agent("external", settings).model_use()

    assert use(profile="mini-swe-agent") == "required"
    assert use(profile="mini-swe-agent", models=False) == use(command="true", models=False) == "none"
    assert use(command="true") == "optional"


def test_a_profile_includes_only_files_of_its_own_folder(tmp_path):
    profile = tmp_path / "mine.toml"
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("../other.py", "outside the folder"),
        ("other.py", r"other\.py cannot be read: No such file"),
        ("link.py", "is a link"),
        ("folder/passwd", "is a link"),
        ("pipe", "is a link or a special file"),
    ):
        profile.write_text(f'command = ["true"]\ninclude = ["{name}"]\n')
        with pytest.raises(UsageError, match=message):
            find_agent("external", {"profile": str(profile)})


def test_a_profile_or_a_command_is_required():
    with pytest.raises(UsageError, match="either a profile or a command"):
        find_agent("external")
    with pytest.raises(UsageError, match=r"no profile is called 'aida'; did you mean aide\?"):
        find_agent("external", {"profile": "aida"})


def test_a_profile_that_changed_since_the_plan_is_refused(tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('command = ["true"]\n')
    planned = find_agent("external", {"profile": str(profile)}).model_dump(mode="json")
    assert find_agent("external", planned).label("external") == "external mine"
    profile.write_text('command = ["false"]\n')
    with pytest.raises(UsageError, match="has changed since the trial was planned"):
        find_agent("external", planned)


async def test_an_agent_of_mlebench_finds_its_container_and_validation_server(trial, external_agent, script):
    """What MLE-bench's dummy agent does, in our words: look around, write a submission, post it for validation."""
    trial.lab_wishes = {"network": "models", "layout": "mlebench", "description": "Guess the coins."}
    trial.form = lambda content: None if content.count(b"\n") == 31 else "rows are missing"
    words = """
        cat /home/data/description.md; echo; ls /home; ls /private 2>&1
        touch $CODE_DIR/code.py $LOGS_DIR/run.log $AGENT_DIR/note.txt
        touch /home/data/new 2>&1
        seq 31 > $SUBMISSION_DIR/submission.csv
        bash /home/validate_submission.sh /home/submission/submission.csv
        head -n 5 /home/submission/submission.csv > short.csv; bash /home/validate_submission.sh short.csv
        python -c "import urllib.request as r; print(r.urlopen('http://localhost:5000/health').read())"
    """
    left = await trial.work(External(command=shlex.join(["bash", "-c", words])), {"main": script()})
    output = trial.calls("external_process")[0]["stdout"]
    assert output.startswith(
        "Guess the coins.\nagent\ncode\ndata\ninstructions.txt\nlogs\nsubmission\ntask.md\nvalidate_submission.sh\n"
    )
    assert "'/home/data/new': Read-only file system" in output and "cannot access '/private'" in output
    assert '"Submission is valid."' in output and "rows are missing" in output and "running" in output
    assert left["submission.csv"] == left["submission/submission.csv"]
    checked = [call["sha256"] for call in trial.calls("validation")]
    assert checked == [hashlib.sha256(left[name]).hexdigest() for name in ("submission.csv", "short.csv")]
    assert b"`/home/submission/submission.csv`" in left["instructions.txt"]


@pytest.mark.parametrize(
    ("content_type", "body", "content"),
    [
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na\r\n--x--',
            b"a",
        ),
        (
            'multipart/form-data; boundary="x"',
            b"--x\r\ncontent-disposition: form-data; name=file\r\n\r\n\r\n--x--",
            b"",
        ),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\na\r\n--x--',
            None,
        ),
        ("multipart/form-data", b"a", None),
        ("text/csv", b"a", None),
    ],
)
def test_the_file_of_a_form(content_type, body, content):
    assert read_upload(content_type, body) == content


def test_a_form_of_a_million_parts_takes_no_time():
    """Parsed one by one, they would take minutes of the harness's processor, which no limit of the lab counts."""
    part = b'--X\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'
    last = b'--X\r\nContent-Disposition: form-data; name="file"\r\n\r\ncontent\r\n--X--\r\n'
    assert read_upload("multipart/form-data; boundary=X", part * 3 + last) == b"content"
    assert read_upload("multipart/form-data; boundary=X", part * 10**6 + last) is None
