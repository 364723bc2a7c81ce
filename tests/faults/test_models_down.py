"""A model's provider that is down for a while, in every way there is, costs time and nothing else."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from whole import check_whole, go_on, workspace

sys.path.append(str(Path(__file__).parent.parent / "models"))  # for the server that speaks as OpenAI does

from protocols import Say
from server import KEY, Fail, Garbage, ModelServer, Reset, Silence

SOON = {"retry-after-ms": "1"}
# Ways to be down; the provider's own client asks up to three times before it tells anybody.
OUTAGE = [
    *[Fail(500, "sorry", headers=SOON)] * 3,
    *[Fail(503, "overloaded", headers=SOON)] * 3,
    *[Fail(429, "too many", headers=SOON)] * 3,
    *[Reset()] * 3,
    Garbage(),
    Garbage("<html>We'll be back soon.</html>"),
    Silence(),
    Fail(502, "bad gateway", headers=SOON),
]
ANSWERS = [Say("first"), Say("second"), Say("third")]


def asking(run, busy, address: str, *more: str) -> list[str]:
    """The words of a run that asks a model at an address, and does not wait longer than a test can."""
    words = ["--model", "openai/gpt-4o", "--set", f"base_url={address}", "--set", "max_retries=0"]
    run.variables["OPENAI_API_KEY"] = KEY
    return [*run.run_words(busy("Asks")), *words, "--set", "attempt_timeout=1", "-c", "retry_wait=0s", *more]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


@pytest.mark.slow
def test_an_outage_of_every_kind_is_waited_out_and_no_answer_is_asked_for_twice(tiny, busy):
    with ModelServer(ANSWERS[0], *OUTAGE, *ANSWERS[1:]) as server:
        result = tiny.call(*asking(tiny, busy, server.openai))
    assert result.returncode == 0, result.stderr
    check_whole(tiny, 1)
    (trial,) = tiny.folder.trials()
    assert workspace(trial)["replies.txt"].split() == ["first", "second", "third"]
    asked = [request.body["messages"][-1]["content"] for request in server.requests]
    assert len(asked) == len(OUTAGE) + len(ANSWERS)
    # Every request of the outage was for the second answer: the first was in the record by then.
    assert asked.count("What comes as number 0?") == asked.count("What comes as number 2?") == 1
    kinds = tiny.events()[trial.path.name]
    assert kinds.count("infrastructure_error") >= 6
    # What had been done before was not done again: one step to begin with, and one for each answer.
    assert kinds.count("snapshot") == 4


@pytest.mark.slow
def test_a_provider_that_is_gone_is_told_and_after_it_is_back_resume_completes_the_run(tiny, busy):
    port = free_port()
    words = asking(tiny, busy, f"http://127.0.0.1:{port}/v1", "--attempts", "1")
    result = tiny.call(*words)
    assert result.returncode == 1
    assert "1 of 1 trials could not run (ModelUnavailable: openai/gpt-4o cannot be reached" in result.stderr
    assert f"assay resume {tiny.out}" in result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("failed", "infrastructure")
    tried = tiny.events()[trial.path.name].count("started")
    assert tried == 10
    with ModelServer(*ANSWERS, port=port):
        go_on(tiny)
    check_whole(tiny, 1)
    assert workspace(trial)["replies.txt"].split() == ["first", "second", "third"]


@pytest.mark.slow
def test_a_key_that_is_refused_is_no_outage_to_be_waited_out(tiny, busy):
    with ModelServer() as server:
        words = asking(tiny, busy, server.openai)
        tiny.variables["OPENAI_API_KEY"] = "invalid-key"
        result = tiny.call(*words)
    assert result.returncode == 1 and "ModelError: openai/gpt-4o rejected the API key" in result.stderr
    (trial,) = tiny.folder.trials()
    assert tiny.events()[trial.path.name].count("started") == 3


def test_a_run_killed_while_it_waits_for_a_provider_asks_again_and_no_more_than_that(tiny, busy):
    with ModelServer(ANSWERS[0], Silence(), *ANSWERS[1:]) as server:
        process = tiny.start(*asking(tiny, busy, server.openai, "--set", "attempt_timeout=600"))
        tiny.wait_until(process, lambda: len(server.requests) == 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        go_on(tiny)
        asked = [request.body["messages"][-1]["content"] for request in server.requests]
    assert asked == [f"What comes as number {number}?" for number in (0, 1, 1, 2)]
    check_whole(tiny, 1)
