"""Temporary outages of a model provider, in every form, cost time and nothing else."""

import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from run_checks import check_complete, complete, workspace

from assay.records import read_events

sys.path.append(str(Path(__file__).parent.parent / "models"))  # for the server with OpenAI's protocol

from protocols import Say
from server import KEY, TEST_PROMPT, Fail, Garbage, ModelServer, Reset, Silence

TESTS = Path(__file__).parent.parent
SOON = {"retry-after-ms": "1"}
# Kinds of outage; the provider's own client retries up to three times before it raises an error.
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


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """Sets the key that the server accepts."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def run_words(run, busy, address: str, *more: str) -> list[str]:
    """Return the arguments of a run that uses a model at an address, with short timeouts."""
    words = ["--model", "openai/gpt-4o", "--set", f"base_url={address}", "--set", "max_retries=0"]
    return [*run.run_words(busy("Asks")), *words, "--set", "attempt_timeout=10", "-c", "retry_wait=0s", *more]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


@pytest.mark.slow
def test_every_kind_of_outage_is_survived_and_no_reply_is_requested_twice(tiny, busy):
    with ModelServer(ANSWERS[0], *OUTAGE, *ANSWERS[1:]) as server:
        result = tiny.call(*run_words(tiny, busy, server.openai))
    assert result.returncode == 0, result.stderr
    check_complete(tiny, 1)
    (trial,) = tiny.folder.trials()
    assert workspace(trial)["replies.txt"].split() == ["first", "second", "third"]
    prompts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert len(prompts) == len(OUTAGE) + len(ANSWERS)
    # Every request during the outage was for the second reply: the first was in the record already.
    assert prompts.count("What comes as number 0?") == prompts.count("What comes as number 2?") == 1
    kinds = tiny.events()[trial.path.name]
    assert kinds.count("infrastructure_error") >= 6
    # No step was repeated: there is one at the beginning, and one for each reply.
    assert kinds.count("snapshot_taken") == 4


def test_a_dead_server_is_reported_before_anything_starts(tiny, busy):
    address = f"http://127.0.0.1:{free_port()}/v1"
    result = tiny.call(*run_words(tiny, busy, address))
    assert result.returncode == 1
    assert f"openai/gpt-4o: cannot reach {address}/: connection refused" in result.stderr
    assert not tiny.out.exists()


@pytest.mark.slow
def test_a_server_that_dies_during_a_run_is_reported_and_resume_completes_the_run_later(tiny, busy):
    port = free_port()
    words = run_words(tiny, busy, f"http://127.0.0.1:{port}/v1", "--attempts", "1")
    with ModelServer(ANSWERS[0], Silence(), port=port) as server:
        process = tiny.start(*words)
        tiny.wait_until(process, lambda: len(server.requests) == 2)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert "1 of 1 trials could not run (openai/gpt-4o cannot be reached: connection refused" in errors
    assert f"assay resume {tiny.out}" in errors
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("failed", "infrastructure")
    assert trial.state.error_type == "ModelUnavailable"
    assert tiny.events()[trial.path.name].count("started") == 10
    again = tiny.call("resume", tiny.out)
    assert again.returncode == 1 and "connection refused" in again.stderr
    assert tiny.events()[trial.path.name].count("started") == 10
    with ModelServer(*ANSWERS[1:], port=port):
        complete(tiny)
    check_complete(tiny, 1)
    assert workspace(trial)["replies.txt"].split() == ["first", "second", "third"]


def test_time_that_ends_without_any_reply_is_not_the_agents_failure(tiny, busy):
    with ModelServer(*[Silence()] * 9) as server:
        words = run_words(tiny, busy, server.openai, "--attempts", "1", "--time", "3s", "-c", "retry_wait=0s")
        result = tiny.call(*words, "--set", "attempt_timeout=100", "--total-time", "1s")
    (trial,) = tiny.folder.trials()
    assert (trial.state.cause, trial.state.error_type) == ("infrastructure", "ModelUnavailable"), result.stderr
    assert trial.state.reason == "no model replied in the time of the trial"


@pytest.mark.slow
def test_a_rejected_key_is_not_treated_as_an_outage(tiny, busy):
    with ModelServer() as server:
        words = run_words(tiny, busy, server.openai)
        tiny.variables["OPENAI_API_KEY"] = "wrong-key"
        result = tiny.call(*words, in_process=False)
    assert result.returncode == 1 and "openai/gpt-4o rejected the API key" in result.stderr
    (trial,) = tiny.folder.trials()
    assert trial.state.error_type == "KeyRejected"
    assert tiny.events()[trial.path.name].count("started") == 1


def test_a_request_that_is_rejected_after_others_were_accepted_is_the_agents_failure(tiny, busy):
    with ModelServer(ANSWERS[0], Fail(400, "invalid characters in the prompt")) as server:
        result = tiny.call(*run_words(tiny, busy, server.openai))
    assert result.returncode == 0, result.stderr
    (trial,) = tiny.folder.trials()
    assert tiny.events()[trial.path.name].count("started") == 1
    assert "agent_crashed" in tiny.events()[trial.path.name] and trial.state.cause != "infrastructure"


def test_settings_that_the_provider_rejects_are_not_the_agents_failure(tiny, busy):
    with ModelServer(*[Fail(400, "temperature must be 1")] * 9) as server:
        result = tiny.call(*run_words(tiny, busy, server.openai, "--attempts", "1"))
    assert result.returncode == 1 and "temperature must be 1" in result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.cause, trial.state.error_type) == ("infrastructure", "RequestRejected")


def test_rejected_requests_and_a_full_disk_of_an_external_agent_are_not_infrastructure_failures(tiny, tmp_path):
    profile = tmp_path / "provoke.toml"
    program = json.dumps((TESTS / "agents" / "external_agents" / "provoke.py").read_text())
    profile.write_text(f'command = ["python", "-c", {program}, "fill"]\nsubmissions = ["mine.csv"]\n')
    with ModelServer(*[Fail(400, "invalid characters in the prompt")] * 20) as server:
        words = run_words(tiny, lambda agent: f"external,profile={profile}", server.openai)
        result = tiny.call(*words, "-c", "resources.disk=20MB")
    assert result.returncode == 0, result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("failed", "agent"), trial.state
    assert tiny.events()[trial.path.name].count("started") == 1
    (ended,) = [
        event.result
        for event in read_events(trial.events)
        if event.kind == "call_finished" and event.result.type == "external_process"
    ]
    assert ended.stdout.startswith("[400, 400, 400, 400, 400, 400, 400]")


POISON = {
    "an internal error": Fail(500, "panic in the tokenizer", headers=SOON),
    "a timeout": Silence(),
    "a firewall": Fail(403, "blocked by the web application firewall"),
    "a quota for long prompts": Fail(429, "more tokens per minute than allowed", headers=SOON),
    "a lost connection": Reset(),
    "a reply that cannot be parsed": Garbage(),
    "no credit for it": Fail(402, "this request costs more than your credit"),
}


@pytest.mark.parametrize("behavior", POISON.values(), ids=POISON.keys())
def test_prompts_that_break_the_provider_are_the_agents_failure(tiny, busy, tmp_path, behavior):
    """The harness's own prompt is answered, so there is no outage: neither agent can have its trial repeated."""
    profile = tmp_path / "provoke.toml"
    program = json.dumps((TESTS / "agents" / "external_agents" / "provoke.py").read_text())
    profile.write_text(f'command = ["python", "-c", {program}]\n')

    def reply(text):
        return Say("OK") if text == TEST_PROMPT else behavior

    with ModelServer(reply=reply) as server:
        for agent in (busy("Asks"), f"external,profile={profile}"):
            words = run_words(tiny, lambda _, agent=agent: agent, server.openai, "--set", "attempt_timeout=1")
            assert tiny.call(*words).returncode == 0
    asks, external = tiny.folder.trials()
    for trial in (asks, external):
        assert trial.state.cause != "infrastructure", trial.state
        kinds = tiny.events()[trial.path.name]
        assert kinds.count("started") == 1 and "infrastructure_error" not in kinds
    assert "agent_crashed" in tiny.events()[asks.path.name]
    (ended,) = [
        event.result
        for event in read_events(external.events)
        if event.kind == "call_finished" and event.result.type == "external_process"
    ]
    assert ended.stdout.startswith("[400, 400, 400, 400, 400, 400, 400]")


def test_a_prompt_that_takes_the_provider_down_with_it_is_the_agents_failure_the_second_time(tiny, busy):
    """A server that restarts after each crash answers the test prompt only later, before the next attempt."""
    crashed = 0

    def reply(text):
        nonlocal crashed
        if text == TEST_PROMPT and crashed:
            crashed -= 1  # the provider's client tries three times
            return Reset()
        if text == TEST_PROMPT:
            return Say("OK")
        crashed = 3
        return Reset()

    with ModelServer(reply=reply) as server:
        assert tiny.call(*run_words(tiny, busy, server.openai)).returncode == 0
    (trial,) = tiny.folder.trials()
    kinds = tiny.events()[trial.path.name]
    assert (kinds.count("started"), kinds.count("infrastructure_error")) == (2, 1)
    assert "agent_crashed" in kinds and trial.state.cause != "infrastructure"


def test_a_run_killed_during_a_request_repeats_only_that_request(tiny, busy):
    with ModelServer(ANSWERS[0], Silence(), *ANSWERS[1:]) as server:
        process = tiny.start(*run_words(tiny, busy, server.openai, "--set", "attempt_timeout=600"))
        tiny.wait_until(process, lambda: len(server.requests) == 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        complete(tiny)
        prompts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert prompts == [f"What comes as number {number}?" for number in (0, 1, 1, 2)]
    check_complete(tiny, 1)
