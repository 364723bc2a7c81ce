"""Prompts in the log: each message is stored once, and whole prompts can be restored."""

import random
from pathlib import Path

import anyio
import pytest

from assay.core.errors import RecordError
from assay.models.messages import Message, Reply, Tool, ToolCall, Usage
from assay.records import BudgetUsed, EventLog, read_events
from assay.records.events import (
    ActionRequest,
    ActionResult,
    CallStarted,
    CommandRequest,
    CommandResult,
    ModelRequest,
    ModelResult,
    QuotingMessage,
    ReplyOf,
    Started,
)
from assay.records.prompts import PromptRecorder, Prompts
from assay.records.tape import Tape, past_of

STARTED = Started(trial="test", trial_file_sha256="0" * 64, attempt=1)
BASH = Tool(name="bash", description="Run a command.")
OUTPUT = 8_000


def reply_with(message: Message) -> ModelResult:
    return ModelResult(
        reply=Reply(message=message, stop="stop", usage=Usage(), model="test", number=0, seconds=1.0, waited=0.0)
    )


class Conversation:
    """An agent that asks a model, runs the command it names, and shows it the output, step by step.

    The calls are recorded as a trial records them: model call, action, the command in it, and a snapshot.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prompts: list[tuple[Message, ...]] = []
        self.new_calls = 0

    async def work(self, steps: int) -> None:
        past = past_of(read_events(self.path))
        recorder = PromptRecorder(past.prompts)
        history = [
            Message(role="system", text="You are a machine learning engineer."),
            Message(role="user", text="Go."),
        ]
        with EventLog(self.path, 1) as log:
            log.add(STARTED)
            tape = Tape(log, past.calls)
            for step in range(steps):
                self.prompts.append(tuple(history))
                history += await self._step(tape, recorder, history, step)

    async def _step(self, tape: Tape, recorder: PromptRecorder, history: list[Message], step: int) -> list[Message]:
        output = random.Random(step).randbytes(OUTPUT // 2).hex()
        call = ToolCall(id=f"call-{step}", name="bash", arguments={"command": f"python step_{step}.py"})

        async def ask() -> ModelResult:
            self.new_calls += 1
            return reply_with(Message(role="assistant", text=f"Step {step}.", tool_calls=(call,)))

        async def execute() -> CommandResult:
            self.new_calls += 1
            return CommandResult(ended="exit", code=0, stdout=output, stderr="", seconds=1.0)

        replayed = tape.replays()
        request = ModelRequest(role="main") if replayed else recorder.request("main", history, [BASH], None)
        model_call = await tape.call(request, ask, step=step, used=BudgetUsed)
        reply = model_call.result.reply.message
        with tape.action(ActionRequest(name="bash", arguments=call.arguments), step=step) as action:
            command = CommandRequest(command=("bash", "-c", "…"), seconds=1.0)
            ran = await tape.call(command, execute, step=step, used=BudgetUsed, changes=True)
            observation = f"Exit code {ran.result.code}.\n\n{ran.result.stdout}"
            acted = action.finish(ActionResult(observation=observation, seconds=1.0), BudgetUsed())
        if not replayed:
            recorder.add_prompt(model_call.number, history, [BASH])
            recorder.add_reply(model_call.number, reply)
            recorder.add_observation(acted.number, observation)
        if not tape.replaying:
            tape.snapshot_taken("0" * 64, step)
        return [reply, Message(role="tool", text=f"{observation}\n\n({step} steps used)", tool_call_id=call.id)]


def test_a_trial_of_500_steps_is_stored_linearly_and_read_in_one_pass(tmp_path: Path) -> None:
    sizes, parsed = {}, {}
    for steps in (125, 250, 500):
        trial = Conversation(tmp_path / f"{steps}.jsonl")
        anyio.run(trial.work, steps)
        events = read_events(trial.path)
        sizes[steps], parsed[steps] = trial.path.stat().st_size, len(events)
        prompts = Prompts(events)
        for index in (0, 1, steps // 2, steps - 1):
            assert prompts.messages(prompts.calls[index]) == trial.prompts[index]
            assert prompts.tools(prompts.calls[index]) == (BASH,)
        largest = max(len(line) for line in trial.path.read_bytes().splitlines())
        assert largest < 2 * OUTPUT, "no line grows with the length of the conversation"
    print(f"{sizes[500] / 1e6:.1f} MB and {parsed[500]} events for 500 steps with {OUTPUT} bytes of output")
    assert sizes[500] < 20e6
    # Twice the steps take twice the bytes and twice the events.
    assert sizes[500] / sizes[250] == pytest.approx(2, rel=0.02) == sizes[250] / sizes[125]
    assert (parsed[250], parsed[500]) == (2 * parsed[125] - 1, 4 * parsed[125] - 3)


def test_a_resumed_trial_repeats_nothing_and_continues_the_same_conversation(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    anyio.run(Conversation(path).work, 20)
    size = path.stat().st_size
    resumed = Conversation(path)
    anyio.run(resumed.work, 25)
    assert resumed.new_calls == 2 * 5
    assert path.stat().st_size < 1.3 * size, "earlier messages are not stored again"
    prompts = Prompts(read_events(path))
    assert [prompts.messages(call) for call in prompts.calls] == resumed.prompts


def test_replies_and_quoted_observations_are_references(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    anyio.run(Conversation(path).work, 3)
    requests = [
        event.request
        for event in read_events(path)
        if isinstance(event, CallStarted) and isinstance(event.request, ModelRequest)
    ]
    assert [(request.shared, len(request.messages)) for request in requests] == [(0, 2), (2, 2), (4, 2)]
    reply, observation = requests[1].messages
    assert isinstance(reply, ReplyOf) and isinstance(observation, QuotingMessage)
    assert observation.message.text == "\n\n(0 steps used)"


def test_a_message_that_quotes_several_observations_is_restored(tmp_path: Path) -> None:
    recorder = PromptRecorder()
    first, second = "a" * 300, "b" * 300
    texts = [f"{first} and {second}.", f"{second}{first}{second}", f"x{first}", "neither", first]
    messages = [Message(role="user", text=text) for text in texts]
    with EventLog(tmp_path / "log", 1) as log:
        log.append(STARTED)
        tape = Tape(log)
        for observation in (first, second):
            with tape.action(ActionRequest(name="look"), step=1) as action:
                number = action.finish(ActionResult(observation=observation, seconds=0.0), BudgetUsed()).number
            recorder.add_observation(number, observation)
        request = recorder.request("main", messages, [], None)
        call = log.append(CallStarted(step=1, request=request)).number
    assert len(request.model_dump_json()) < 1_500
    assert list(Prompts(read_events(tmp_path / "log")).messages(call)) == messages


@pytest.mark.parametrize(
    "request_", [ModelRequest(role="main", base=0, shared=1), ModelRequest(role="main", base=1, shared=5)]
)
def test_a_prompt_with_a_dangling_reference_is_damaged(tmp_path: Path, request_: ModelRequest) -> None:
    with EventLog(tmp_path / "log", 1) as log:
        log.append(STARTED)
        log.append(CallStarted(step=0, request=ModelRequest(role="main", messages=(Message(role="user"),))))
        log.append(CallStarted(step=0, request=request_))
    with pytest.raises(RecordError):
        Prompts(read_events(tmp_path / "log"))
