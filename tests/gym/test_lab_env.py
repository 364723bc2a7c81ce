"""Labs as environments of Gymnasium: checked by Gymnasium itself, sealed, and paid as documented."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.gym import LabEnv, LabVectorEnv, Rewards, World, bash, edit, make_worlds, python, submit
from assay.records import RunFolder
from assay.runs.plan import Plan
from assay.runs.trial import run_trial
from assay.tasks import Registry
from tiny_run import TESTS, prepare_tiny

COIN = World("tiny/coin", folder=TESTS / "tiny")
CONSTANT = (
    "import pandas as pd; d = pd.read_csv('data/test.csv'); d['side'] = {side}; d.to_csv('submission.csv', index=False)"
)


@pytest.fixture
def coins(home: Home) -> Home:
    prepare_tiny(home)
    return home


@pytest.fixture
def make_env(coins):
    opened = []

    def make(**settings) -> LabEnv:
        opened.append(LabEnv(COIN, home=coins, **settings))
        return opened[-1]

    yield make
    for env in opened:
        env.close()


def constant(side: int):
    return python(CONSTANT.format(side=side))


def labs_of(home: Home) -> list:
    return [path for path in home.labs.rglob("workspace/*") if path.is_file()] if home.labs.exists() else []


def test_gymnasiums_own_checker_finds_nothing(coins):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("assay/Lab-v0", worlds=COIN, home=coins)
        check_env(env.unwrapped)
        env.close()


def test_the_test_score_is_told_and_paid_at_the_end_only(make_env):
    env = make_env()
    observation, info = env.reset(seed=1)
    assert "Guess which side of each coin is up" in observation["text"] and info["task"] == "tiny/coin"
    rewards = {}
    for side in (0, 1):
        env.reset(seed=1)
        _, reward, ended, _, info = env.step(constant(side))
        assert (reward, ended, info) == (0.0, False, {"paid": {}, "exit_code": 0})
        _, rewards[side], ended, truncated, info = env.step(submit())
        assert ended and not truncated
        assert info["grade"]["valid_submission"] and info["paid"].get("score", 0.0) == rewards[side]
    assert rewards[0] != rewards[1]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(submit())


def test_labs_work_in_a_process_that_ran_a_trial_before(make_env, coins, tmp_path):
    task = Registry([TESTS / "tiny"]).task("tiny/coin")
    run = RunFolder(tmp_path / "run")
    run.add(Plan(tasks=(task,), agents=(("starter", {}),), budget={"time": 60.0}).trials(coins))
    (trial,) = run.trials()
    run_trial(trial.path, coins)
    env = make_env()
    env.reset(seed=1)
    assert env.step(bash("false"))[4]["exit_code"] == 1


def test_each_part_of_the_rewards_is_paid_as_documented(make_env):
    env = make_env(rewards=Rewards(score=0, valid=2, validation=4, step=-0.25, failure=-1))
    env.reset(seed=1)
    assert env.step(bash("false"))[1] == -1.25
    assert env.step(edit("submission.csv", "coin,side\n"))[1] == -0.25  # not valid
    paid = [env.step(constant(side))[4]["paid"] for side in (0, 1, 1)]
    assert paid[0]["valid"] == 2 and "valid" not in paid[1]
    assert 0 < sum(part.get("validation", 0.0) for part in paid) <= 4
    assert paid[2] == {"step": -0.25}  # what has not changed is not paid again
    _, reward, _, _, info = env.step(submit())
    assert reward == -0.25 and info["grade"]["score"] is not None


def test_hidden_validation_does_not_depend_on_the_test_rows(make_env):
    env, totals = make_env(rewards=Rewards(score=0, validation=1)), []
    code = CONSTANT.format(side=0).replace("d.to_csv", "d.loc[{rows}, 'side'] = 1; d.to_csv")
    for rows in ("[]", "d.coin >= 30", "d.coin < 30"):  # no row, the test rows, the hidden ones
        env.reset(seed=1)
        totals.append(env.step(python(code.format(rows=rows)))[1])
    assert totals[0] == totals[1] != totals[2]


@pytest.mark.parametrize(
    ("limit", "action"), [({"steps": 2}, bash("true")), ({"seconds": 0.2}, bash("sleep 60"))], ids=["steps", "time"]
)
def test_an_episode_is_truncated_when_its_budget_is_spent(make_env, limit, action):
    env = make_env(**limit)
    env.reset(seed=1)
    for _ in range(2):
        *_, truncated, info = env.step(action)
        if truncated:
            break
    assert truncated and info["grade"]["valid_submission"] is False


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "data/train.csv", "", "a\0b"])
def test_files_outside_of_the_workspace_cannot_be_edited(make_env, path):
    env = make_env()
    env.reset(seed=1)
    observation, *_ = env.step(edit(path, "x"))
    assert "not written" in observation["text"]


def test_hostile_output_stays_within_the_space_of_observations(make_env):
    env = make_env()
    env.reset(seed=1)
    for action in (python("print('\\U0001f600' * 10**6)"), bash("head -c 100000 /dev/urandom"), bash("a\0b")):
        observation, *_ = env.step(action)
        assert observation in env.observation_space and len(observation["text"]) < 21_000
    with pytest.raises(UsageError, match="no tool 'sudo'"):
        env.step({"tool": "sudo", "text": "id"})


@pytest.mark.parametrize("command", ["echo \ud800", "echo " + "a" * 200_000, "echo \0"], ids=["half", "long", "NUL"])
@pytest.mark.parametrize("tool", ["bash", "python"])
def test_a_command_that_no_program_can_get_is_an_action_that_failed(make_env, tool, command):
    env = make_env(rewards=Rewards(failure=-1.0))
    env.reset(seed=0)
    seen, reward, *_ = env.step({"tool": tool, "text": command})
    assert seen["text"].startswith("A command can") and reward == -1.0


def test_labs_of_a_vector_act_at_once_and_start_again(coins):
    envs = LabVectorEnv(COIN, 3, home=coins)
    try:
        observations, infos = envs.reset(seed=5)
        assert len(observations["text"]) == 3 and list(infos["task"]) == ["tiny/coin"] * 3
        observations, *_ = envs.step([bash(f"echo lab {number} > mine; cat mine") for number in range(3)])
        assert labs_of(coins)
        assert [text.split("\n")[0] for text in observations["text"]] == ["lab 0", "lab 1", "lab 2"]
        _, _, ended, _, infos = envs.step([bash("true"), submit(), bash("true")])
        assert ended.tolist() == [False, True, False] and infos["_grade"].tolist() == [False, True, False]
        observations, rewards, ended, truncated, _ = envs.step([bash("cat mine")] * 3)
        assert not ended.any() and not truncated.any() and rewards.dtype == np.float64
        assert "Guess which side" in observations["text"][1] and observations["text"][0].startswith("lab 0")
        envs.step(envs.action_space.sample())
    finally:
        envs.close()
    assert not labs_of(coins)


def test_held_out_worlds_share_no_data_with_those_to_train_in(home):
    train, held_out = make_worlds("mlebench/spooky-author-identification", seeds=1, held_out=1)
    assert not set(train) & set(held_out)
    tables = [
        set((world.load(home).public / "train.csv").read_text().splitlines()[1:]) for world in (*train, *held_out)
    ]
    assert tables[0] and tables[1] and not tables[0] & tables[1]
    with pytest.raises(UsageError, match="no miniatures"):
        make_worlds("pocket/digits")
