"""Run folders for the viewer, written with the real record classes: two agents on the tasks of the pocket suite."""

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.grading.result import Grade
from assay.lab.interface import Sealing
from assay.lab.snapshots import take_snapshot
from assay.models.messages import Message, Reply, Tool, ToolCall, Usage
from assay.records import BudgetUsed, EventLog, RunFolder, State, SubmissionEntry, TrialFile, TrialFolder
from assay.records.content_store import ContentStore
from assay.records.events import (
    ActionRequest,
    ActionResult,
    AgentCrashed,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandRequest,
    CommandResult,
    Execution,
    Graded,
    LabOpened,
    ListRequest,
    ListResult,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NodeResult,
    NoteRequest,
    NoteResult,
    PythonRequest,
    PythonResult,
    ReadRequest,
    ReadResult,
    SearchNode,
    SnapshotTaken,
    Started,
    Submitted,
    UsageSample,
    ValidationRequest,
    ValidationResult,
    WriteRequest,
    WriteResult,
)
from assay.tasks import Budget, Registry, Task
from assay.tasks.model import Resources

TASKS = ("digits", "house-price", "spaceship-titanic", "vectorization")
MEDAL_TASKS = ("spooky-author-identification", "champs-scalar-coupling")
SEALED = Sealing(sandbox="bubblewrap", sealed=True, network="none", enforced={"answers": "not mounted"}, missing={})
FIRST = "import pandas as pd\n\ntrain = pd.read_csv('train.csv')\nmodel = LogisticRegression()\n"
SECOND = FIRST.replace("LogisticRegression()", "HistGradientBoostingClassifier(max_iter=200)  # stronger")


@dataclass
class Texts:
    """What an agent and its model write: harmless by default."""

    reply: str = "The baseline is weak. I will train gradient boosting instead.\n\nAction: Execute Script"
    output: str = "fold 1: 0.971\nfold 2: 0.968\nmean: 0.9695\n"
    error: str = (
        "Traceback (most recent call last):\n  File \"train.py\", line 4\nNameError: name 'model' is not defined\n"
    )
    name: str = "Execute Script"
    argument: str = "train.py"
    path: str = "train.py"
    label: str = "research"
    reason: str = "the agent's code raised NameError"
    code: str = FIRST
    submissions: tuple[bytes | None, bytes] = (None, b"id,label\n1,2\n")


def write_run(
    folder: Path,
    *,
    seeds: int = 3,
    tasks=TASKS,
    texts: Texts | None = None,
    pending: bool = False,
    suite: str = "pocket",
) -> RunFolder:
    """Write a run in which `research` beats `starter` on every task, and fails on one of them."""
    run, texts = RunFolder(folder), texts or Texts()
    files = [
        make_file(f"{suite}/{task}", agent, seed, texts.label if agent == "research" else agent)
        for task in tasks
        for agent in ("starter", "research")
        for seed in range(1, seeds + 1)
    ]
    run.add(files)
    for trial in run.trials():
        file = trial.file
        if pending and file.seed == seeds and file.agent == "research":
            begin_trial(trial)
        elif file.agent == "starter":
            write_trial(trial, texts, strong=False)
        elif file.task.endswith(tasks[-1]) and file.seed == 1 and len(tasks) > 1:
            write_trial(trial, texts, strong=True, crashed=True)
        else:
            write_trial(trial, texts, strong=True)
    return run


def make_file(task: str, agent: str, seed: int, label: str) -> TrialFile:
    name = task.partition("/")[2]
    return TrialFile(
        id=f"{name}-{agent}-{seed}-{hashlib.sha256(f'{name}{agent}{seed}'.encode()).hexdigest()[:10]}",
        task=task,
        edition="v1",
        variant="real",
        agent=agent,
        label=label,
        models={"main": "openai/gpt-5"} if agent == "research" else {},
        seed=seed,
        budget=Budget(time=600, steps=30),
        resources=Resources(),
        environment="core",
        sandbox="bubblewrap",
    )


def begin_trial(trial: TrialFolder) -> None:
    """Write the start of a trial that is still running."""
    with ExitStack() as stack:
        lease = stack.enter_context(trial.acquire())
        held = TrialFolder(trial.path, lease)
        log = stack.enter_context(held.log())
        log.append(Started(trial=trial.path.name, trial_file_sha256="0" * 64, attempt=1))
        log.append(CallStarted(step=1, request=CommandRequest(command=("sh", "-c", "python train.py"), seconds=60)))
        held.write_state(State(status="running", steps=1, elapsed=2.0))


def write_trial(trial: TrialFolder, texts: Texts, *, strong: bool, crashed: bool = False) -> None:
    """Write a finished trial with one call of each kind."""
    with ExitStack() as stack:
        lease = stack.enter_context(trial.acquire())
        held = TrialFolder(trial.path, lease)
        log = stack.enter_context(held.log())
        log.append(Started(trial=trial.path.name, trial_file_sha256="0" * 64, attempt=1))
        log.append(LabOpened(sealing=SEALED, answers="withheld"))
        contents = ContentStore(trial.snapshots)
        if strong:
            write_calls(log, texts, contents, trial.snapshots)
        else:
            call(log, 1, CommandRequest(command=("python", "starter.py"), seconds=60), command("score: 0.9\n"))
        state = State(
            status="failed" if crashed else "done",
            cause="agent" if crashed else None,
            failure="crash" if crashed else None,
            error_type="NameError" if crashed else None,
            reason=texts.reason if crashed else None,
            elapsed=95.0 if strong else 4.0,
            steps=3 if strong else 1,
            tokens=5200 if strong else 0,
            cost=0.04 if strong else 0.0,
            started_at="2026-11-16T12:00:00+00:00",
            sealing=SEALED,
            answers="withheld",
        )
        if crashed:
            log.append(AgentCrashed(error_type="NameError", message=texts.error, traceback=texts.error))
        entry = SubmissionEntry(at="2026-11-16T12:01:00+00:00", reason=texts.reason)
        if not crashed:
            entry = held.save_submission("submission.csv", b"id,label\n1,2\n")
        log.append(Submitted(submission=entry, state=state))
        held.submit(entry)
        if not crashed:
            grade = make_grade(trial.file, strong)
            log.append(Graded(grade=grade))
            held.write_grade(grade)
        held.write_state(state)


def write_calls(log: EventLog, texts: Texts, contents: ContentStore, store: Path) -> None:
    """Write the calls of a model-driven agent."""
    system = Message(role="system", text="You are a machine learning engineer.")
    tool = Tool(name="run", description=texts.reply)
    first = ask(
        log,
        1,
        ModelRequest(role="main", messages=(system, Message(role="user", text=texts.reply)), tools=(tool,)),
        texts,
    )
    write(log, 1, texts.path, texts.code, contents)
    action = log.append(
        CallStarted(
            step=1,
            request=ActionRequest(name=texts.name, arguments={"script": texts.argument, texts.name: texts.reply * 3}),
        )
    )
    train = CommandRequest(command=("python", texts.path), seconds=60)
    failing = CommandResult(ended="exit", code=1, stdout=texts.output, stderr=texts.error, seconds=1.5)
    call(log, 1, train, failing, changes=True, action=action.number)
    finish(log, action.number, ActionResult(observation=texts.error, cause="crash", seconds=1.6), 1)
    files = {"notes.txt": b"started\n", file_name(texts.path): texts.code.encode(errors="replace")}
    earlier, later = texts.submissions
    save_files(log, 1, store, files if earlier is None else files | {"submission.csv": earlier})
    more = ModelRequest(role="main", base=first, shared=2, messages=(Message(role="tool", text=texts.output),))
    ask(log, 2, more, texts)
    write(log, 2, texts.path, texts.code.replace(FIRST, SECOND), contents)
    call(log, 2, PythonRequest(code=texts.code, seconds=60), PythonResult(output=texts.output, seconds=2.0))
    call(log, 2, train, command(texts.output), changes=True)
    files = {"notes.txt": b"started\nfinished\n", "model.bin": b"\0\1\2", "submission.csv": later}
    save_files(log, 2, store, files | {"out.txt": texts.output.encode(errors="replace")})
    call(log, 3, ReadRequest(path=texts.path), ReadResult(content=contents.put(texts.code.encode(errors="replace"))))
    call(log, 3, ListRequest(), ListResult(files=(texts.path, "submission.csv")))
    call(log, 3, NoteRequest(topic=texts.name, reason=texts.reply, data={texts.name: texts.output}), NoteResult())
    call(log, 3, ValidationRequest(), ValidationResult())
    for node in make_nodes(texts):
        call(log, 3, NodeRequest(node=node), NodeResult())
    if texts.label != "research":
        log.append(BudgetExhausted(limit="steps", reason=texts.reason))


def file_name(text: str) -> str:
    """Return a name that a file system accepts."""
    return text.replace("/", "_").encode(errors="replace").decode()[:80]


def save_files(log: EventLog, step: int, store: Path, files: dict[str, bytes]) -> None:
    """Take a snapshot of a workspace with these files."""
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        snapshot = take_snapshot(Path(folder), store, max_size=10**9)
    log.append(SnapshotTaken(snapshot=snapshot.id, step=step))


def make_nodes(texts: Texts) -> list[SearchNode]:
    """Return the nodes of a search: a draft that fails, its fix, and an improvement."""
    execution = Execution(ended="exit", code=0, seconds=2.0, output=texts.output[:5_000])
    failed = execution.model_copy(update={"code": 1, "output": texts.error})
    script = {"plan": texts.reply, "code": texts.code[:5_000]}
    good = script | {"status": "good", "execution": execution}
    first, second = (hashlib.sha256(content).hexdigest() if content else None for content in texts.submissions)
    fixed = good | {"metric": 0.91, "review": texts.reply, "submission": first}
    return [
        SearchNode(id=0, operator="draft", status="buggy", execution=failed, reason=texts.reason, **script),
        SearchNode(id=1, operator="debug", parents=(0,), **fixed),
        SearchNode(id=2, operator="improve", parents=(1,), metric=0.97, submission=second, **good),
    ]


def ask(log: EventLog, step: int, request: ModelRequest, texts: Texts) -> int:
    message = Message(
        role="assistant",
        text=texts.reply,
        reasoning=texts.reply,
        tool_calls=(ToolCall(id="1", name=texts.name, arguments={"script": texts.argument}, parse_error=texts.error),),
    )
    usage = Usage(input_tokens=2400, output_tokens=200, cost=0.02)
    reply = Reply(
        message=message, stop="tool_calls", usage=usage, model="openai/gpt-5", number=0, seconds=3.2, waited=0.0
    )
    return call(log, step, request, ModelResult(reply=reply))


def write(log: EventLog, step: int, path: str, text: str, contents: ContentStore) -> None:
    content = contents.put(text.encode(errors="surrogateescape"))
    call(log, step, WriteRequest(path=path, content=content), WriteResult(), changes=True)


def command(output: str) -> CommandResult:
    samples = [UsageSample(seconds=10.0 * n, cpu=9.0 * n, memory=n * 10**8, disk=n * 10**6) for n in range(1, 5)]
    return CommandResult(ended="exit", code=0, stdout=output, stderr="", seconds=40.2, samples=tuple(samples))


def call(log: EventLog, step: int, request, result, *, changes: bool = False, action: int | None = None) -> int:
    number = log.append(CallStarted(step=step, request=request, changes=changes, action=action)).number
    finish(log, number, result, step)
    return number


def finish(log: EventLog, number: int, result, step: int) -> None:
    log.append(CallFinished(call=number, result=result, used=BudgetUsed(elapsed=20.0 * step, steps=step)))


def make_grade(file: TrialFile, strong: bool) -> Grade:
    task = Registry().task(file.task)
    higher = task.metric.direction == "higher"
    own = grade_by_medals(task, strong) if task.leaderboard else grade_by_baseline(task, file.seed, strong)
    grade = {
        "competition_id": file.task, "gold_threshold": None, "silver_threshold": None,
        "bronze_threshold": None, "median_threshold": None, "any_medal": False, "gold_medal": False,
        "silver_medal": False, "bronze_medal": False, "above_median": False, "submission_exists": True,
        "valid_submission": True, "is_lower_better": not higher, "created_at": "2026-11-16T12:02:00",
        "submission_path": "submission.csv", "task": file.task, "edition": file.edition, "variant": file.variant,
        "success": strong, "success_published": strong,
    }  # fmt: skip
    return Grade.model_validate_json(json.dumps(grade | own))


def grade_by_baseline(task: Task, seed: int, strong: bool) -> dict[str, object]:
    """Return a score better than the starter's, or almost the same."""
    higher, baseline = task.metric.direction == "higher", task.measured.baseline
    factor = 1.0 if not strong else (1.2 if higher else 0.8)
    score = baseline * factor * (1 + 0.001 * seed)
    improvement = (score - baseline) / baseline * (1 if higher else -1)
    rank = 3 if strong else 9
    return {"score": score, "rank": rank, "panel_size": 13, "baseline": baseline, "improvement": improvement}


def grade_by_medals(task: Task, strong: bool) -> dict[str, object]:
    """Return the score of the last team with a silver medal, or of the median team."""
    board = task.leaderboard
    levels = ("gold", "silver", "bronze", "median")
    thresholds = {f"{level}_threshold": getattr(board, level) for level in levels}
    medal = {"any_medal": strong, "silver_medal": strong, "above_median": strong}
    score, percentile = (board.silver, 95.0) if strong else (board.median, 50.0)
    return thresholds | medal | {"score": score, "percentile": percentile}
