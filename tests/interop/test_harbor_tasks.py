"""Harbor's task folders in labs: what can run does, sealed and resumable, and what cannot is said before."""

from pathlib import Path

import pytest

from assay.interop.harbor.dockerfile import read_dockerfile
from assay.interop.harbor.tasks import read_task
from assay.interop.harbor.test_script import read_test_script
from assay.records import RunFolder
from command_line import Assay

GREETING = {
    "task.toml": '[task]\nname = "demo/greeting"\n[agent]\ntimeout_sec = 120\n[verifier]\ntimeout_sec = 60\n',
    "instruction.md": "Write `hello` to `/app/greeting.txt`, and the number of lines of `/data/table.csv` below it.\n",
    "environment/Dockerfile": (
        "FROM python:3.12-slim\n"
        "ENV DEPTH=2\n"
        "RUN apt-get update && \\\n    apt-get install -y coreutils && rm -rf /var/lib/apt/lists/*\n"
        "WORKDIR /app\n"
        "COPY greet.sh /app/\n"
        "COPY data/ /data/\n"
    ),
    "environment/greet.sh": '#!/bin/sh\necho "depth $DEPTH"\n',
    "environment/data/table.csv": "a\n1\n2\n",
    "tests/test.sh": (
        "#!/bin/bash\n"
        'if [ "$(cat /app/greeting.txt)" = "$(cat /tests/expected.txt)" ]; then\n'
        "  echo '{\"reward\": 1.0}' > /logs/verifier/reward.json\n"
        "else\n  echo 0 > /logs/verifier/reward.txt\nfi\n"
    ),
    "tests/expected.txt": "hello\n3\n",
}
SOLVES = "bash -c './greet.sh; { echo hello; wc -l < /data/table.csv; } > /app/greeting.txt'"
CHEATS = (
    "bash -c 'mkdir -p /logs/verifier .outside/tests; echo 1 > /logs/verifier/reward.txt; "
    'echo "{\\"reward\\": 1}" > /logs/verifier/reward.json; echo exit > .outside/tests/test.sh\''
)


def write_task(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


@pytest.fixture
def run_task(assay: Assay, tmp_path: Path):
    """Runs commands as agents on a task, and returns the grades of their trials."""

    def run(files: dict[str, str], *commands: str):
        write_task(tmp_path / "tasks" / "greeting", files)
        agents = [word for command in commands for word in ("--agent", f"external,models=no,command={command}")]
        out = tmp_path / "run"
        done = assay("run", f"harbor:{tmp_path / 'tasks'}", *agents, "--seeds", "1", "--out", out, "--quiet")
        assert done.returncode == 0, done.stderr
        return done, [trial.grade for trial in RunFolder(out).trials()]

    return run


@pytest.mark.slow
def test_a_task_is_solved_failed_or_tampered_with(run_task, assay: Assay, tmp_path: Path):
    image = {name: text for name, text in GREETING.items() if not name.startswith("environment/")}
    write_task(tmp_path / "tasks" / "other", {**image, "task.toml": '[environment]\ndocker_image = "x/y"\n'})
    write_task(tmp_path / "tasks" / "twin", GREETING)
    done, grades = run_task(GREETING, SOLVES, "true", CHEATS)
    assert [(grade.score, grade.success) for grade in grades] == [(1.0, True), (0.0, False), (0.0, False)]
    assert all(grade.sealed and grade.task == "demo/greeting" for grade in grades)
    assert "other cannot be run here: it needs the image x/y" in done.stderr
    assert "twin cannot be run here: another folder has its name, demo/greeting" in done.stderr
    assert "1 of 3 tasks" in done.stderr
    assert "Agents of Harbor would have a network on 1 task." in done.stderr
    assert "Success: hidden tests give a reward of 1." in done.stdout
    run = RunFolder(tmp_path / "run")
    tasks = {trial.file.tasks_folder for trial in run.trials()}
    checked = assay("--tasks", *tasks, "verify", run.path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert assay("resume", run.path, "--quiet").returncode == 0


@pytest.mark.slow
def test_a_separate_verifier_gets_the_artifacts_only(run_task):
    toml = 'artifacts = ["/app/out/greeting.txt"]\n[task]\nname = "demo/greeting"\n'
    test = (
        "#!/bin/sh\nif [ -e /app/secret ]; then echo 0.5 > /logs/verifier/reward.txt; else "
        'test "$(cat /app/out/greeting.txt)" = hello && echo 1 > /logs/verifier/reward.txt; fi\n'
    )
    files = {**GREETING, "task.toml": f'{toml}[verifier]\nenvironment_mode = "separate"\n', "tests/test.sh": test}
    write = "mkdir out; echo hello > out/greeting.txt; touch secret"
    _, (whole, none) = run_task(files, f"bash -c '{write}'", "true")
    assert (whole.score, whole.success) == (1.0, True)
    assert none.score is None and "no reward" in none.why


OBSTACLES = {
    "image": ({"environment/Dockerfile": "FROM images.example/a/b:1\n"}, "it needs the image images.example/a/b:1"),
    "stages": ({"environment/Dockerfile": "FROM python:3.12 AS build\n"}, "built in several stages"),
    "command": ({"environment/Dockerfile": "FROM python:3.12\nRUN make install\n"}, "Dockerfile:2: RUN make install"),
    "package": (
        {"environment/Dockerfile": "FROM debian\nRUN apt-get install -y no-such-package\n"}, "no-such-package",
    ),
    "version": ({"environment/Dockerfile": "FROM python\nRUN pip install nosuchthing\n"}, "no exact version"),
    "file": ({"environment/Dockerfile": "FROM python\nCOPY missing /app/\n"}, "copies missing, which is not in"),
    "system": ({"environment/Dockerfile": "FROM python\nCOPY greet.sh /etc/\n"}, "etc is a folder of the system"),
    "compose": ({"environment/docker-compose.yaml": "services: {}\n"}, "needs containers"),
    "network": ({"tests/test.sh": "#!/bin/sh\nwget example.org/a\n"}, "tests need a network: tests/test.sh:2: wget"),
    "tools": (
        {"tests/test.sh": "apt-get update && apt-get install -y no-such-thing\n"}, "this machine lacks: no-such-thing",
    ),
    "steps": ({"task.toml": "[[steps]]\nname = 'a'\n"}, "it has several steps"),
    "secret": ({"task.toml": "[verifier.env]\nKEY = '${OPENAI_API_KEY}'\n"}, "${OPENAI_API_KEY} of this machine"),
    "toml": ({"task.toml": "[task\n"}, "it cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_cannot_run_says_why(name: str, tmp_path: Path):
    files, reason = OBSTACLES[name]
    task = read_task(write_task(tmp_path / "greeting", {**GREETING, **files}))
    assert reason in "; ".join(task.obstacles)


def test_an_exported_task_is_run_as_itself(assay: Assay, tmp_path: Path):
    assert assay("export", "--harbor", tmp_path / "tasks", "bait/repeated-rows", "--quiet").returncode == 0
    done = assay("plan", f"harbor:{tmp_path / 'tasks'}", "--agent", "starter")
    assert done.returncode == 2
    assert "it is Assay's own task; run bait/repeated-rows instead" in done.stderr


@pytest.mark.parametrize(
    "link", ["instruction.md", "environment/data", "environment", "tests", "environment/data/more"]
)
def test_links_out_of_a_task_are_not_followed(tmp_path: Path, link: str):
    folder = write_task(tmp_path / "greeting", GREETING)
    if (folder / link).exists():
        (folder / link).rename(tmp_path / "secret")
    else:
        (tmp_path / "secret").write_text("key")
    (folder / link).symlink_to(tmp_path / "secret")
    assert f"{link} is a link or a special file" in "; ".join(read_task(folder).obstacles)


def test_a_dockerfile_is_followed_as_far_as_labs_can():
    text = (
        "FROM python:3.12-slim\nARG X=1\nENV A=1 B=$A\nENV C two words\nWORKDIR /app\nWORKDIR src\n"
        'COPY --chown=root:root a.py b.py lib/\nADD . .\nRUN mkdir -p /data/out && pip install "numpy==2.1.0" pandas\n'
        "CMD [\"bash\"]\n"
    )  # fmt: skip
    recipe = read_dockerfile(text, lambda name: True)
    assert recipe.obstacles == []
    assert recipe.folder == "/app/src"
    assert recipe.copies == [("a.py", "/app/src/lib/"), ("b.py", "/app/src/lib/"), (".", "/app/src/")]
    assert recipe.variables == {"A": "1", "B": "1", "C": "two words"}
    assert recipe.folders == ["/data/out"]
    assert recipe.packages == ["numpy==2.1.0", "pandas"]


def test_an_image_that_is_built_from_the_dockerfile_beside_it_is_not_needed(tmp_path: Path):
    named = {"task.toml": '[task]\nname = "demo/greeting"\n[environment]\ndocker_image = "someone/greeting:1"\n'}
    assert read_task(write_task(tmp_path / "greeting", {**GREETING, **named})).obstacles == ()


TEMPLATES = {
    "uvx": (
        "apt-get update\napt-get install -y curl\n\ncurl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh\n\n"
        "source $HOME/.local/bin/env\n\nuvx \\\n  -p 3.13 \\\n  --with pytest==8.4.1 \\\n"
        "  --with pytest-json-ctrf==0.3.5 \\\n  pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA\n",
        "pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA",
        ["pytest==8.4.1", "pytest-json-ctrf==0.3.5"],
    ),
    "if": ("if uv run --with pytest pytest /tests/a.py -v; then\n", "if pytest /tests/a.py -v; then", ["pytest"]),
    "venv": (
        "uv venv .tests\nsource .tests/bin/activate\nuv pip install numpy==2.1.0 'pandas==2.2.3' > /dev/null 2>&1\n"
        "uv run check.py\n",
        "python check.py",
        ["numpy==2.1.0", "pandas==2.2.3"],
    ),
    "tool": ("uvx --quiet ruff@0.6.0 check /app\n", "ruff check /app", ["ruff==0.6.0"]),
    "condition": ("python -m pip install six==1.17.0 && pytest /tests\n", ": && pytest /tests", ["six==1.17.0"]),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_tests_install_is_there_already(name: str):
    text, command, packages = TEMPLATES[name]
    script = read_test_script(text, lambda package: False)
    assert script.obstacles == []
    assert script.packages == packages
    kept = [line for line in script.text.splitlines() if line not in ("", ":")]
    assert kept == [command]
    assert len(script.text.splitlines()) == len(text.splitlines())  # messages name the lines of the file
