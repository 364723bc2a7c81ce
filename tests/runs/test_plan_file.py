"""Plan files: what they may say, which setting counts, and what a plan shows without doing anything."""

import json
import os
from pathlib import Path

import pytest

from assay.agents import find_agent
from assay.core.errors import UsageError
from assay.models import Models, ModelSettings, Prices, settings_by_role
from assay.runs.forecast import Forecast, ForecastLine
from assay.runs.plan_config import (
    BudgetConfig,
    PlanConfig,
    config_from_environment,
    config_from_flags,
    load_preset,
    preset_names,
    read_plan_file,
    resolve_config,
)

WHOLE = """
format = "plan/1"
tasks = ["tiny"]
agents = ["starter", {name = "automl", settings = {share = 0.5}}]
models = ["scripted/replies.json", {main = "openai/gpt-5", fast = "openai/gpt-5-mini"}]
seeds = 2
edition = "v1"
variant = "real"
sandbox = "bubblewrap"
total_cost = 100.0
attempts = 5

[model_settings]
temperature = 0

[budget]
time = "1m30s"
steps = 7
working = "1m"
tokens = 1000
cost = 2.5

[resources]
cores = 2
memory = "1GB"
disk = "500MB"
gpus = 0
"""


def plan_in(folder: Path, text: str) -> Path:
    (folder / "plan.toml").write_text(text)
    return folder / "plan.toml"


def test_a_plan_can_contain_every_setting(tmp_path):
    plan = read_plan_file(plan_in(tmp_path, WHOLE))
    assert plan.tasks == ("tiny",) and plan.agents is not None and plan.models is not None
    assert [(agent.name, agent.settings) for agent in plan.agents] == [("starter", {}), ("automl", {"share": 0.5})]
    assert plan.models[0] == {"main": "scripted/replies.json"} and plan.models[1]["fast"] == "openai/gpt-5-mini"
    assert plan.budget.model_dump() == {"time": 90.0, "steps": 7, "working": 60.0, "tokens": 1000, "cost": 2.5}
    assert plan.resources.model_dump() == {"cores": 2, "memory": 10**9, "disk": 5 * 10**8, "gpus": 0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('format = "plan/1"\nsedes = 3', "sedes: unknown setting; did you mean seeds?"),
        ('format = "plan/1"\n[budget]\ntiem = "1h"', "budget.tiem: unknown setting; did you mean time?"),
        ('format = "plan/1"\n[budget]\ntime = "soon"', "budget.time: 'soon' is not a duration"),
        ('format = "plan/1"\n[resources]\nmemory = "lots"', "resources.memory: 'lots' is not a size"),
        ('format = "plan/1"\nseeds = 0', "seeds: Input should be greater than or equal to 1"),
        (
            'format = "plan/1"\n[[agents]]\nnmae = "starter"',
            "agents.0.nmae: unknown setting; did you mean name?",
        ),
        ('format = "plan/1"\nagents = ["automl,share"]', "agents.0: agent automl: 'share' is not a setting"),
        ('format = "plan/9"', 'a plan starts with the line: format = "plan/1"'),
        ("tasks = [", "is not TOML"),
    ],
)
def test_errors_in_a_plan_are_named(tmp_path, text, words):
    with pytest.raises(UsageError) as error:
        read_plan_file(plan_in(tmp_path, text))
    assert words in str(error.value) and "plan.toml" in str(error.value)


def test_the_plan_in_the_documentation_is_valid(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "runs.md").read_text()
    plan = read_plan_file(plan_in(tmp_path, text.partition("```toml\n")[2].partition("```")[0]))
    assert plan.agents is not None and plan.total_cost == 200.0
    for agent in plan.agents:
        find_agent(agent.name, agent.settings)


def test_flags_override_the_plan_which_overrides_environment_and_user_config(tmp_path):
    (tmp_path / "config.toml").write_text(
        'format = "config/1"\nseeds = 9\nedition = "e"\ncores = 4\n[budget]\ncost = 1.0\nsteps = 9\ntime = 9\n'
    )
    variables = {
        "ASSAY_CONFIG": str(tmp_path / "config.toml"), "ASSAY_SEEDS": "8", "ASSAY_STEPS": "8", "ASSAY_TIME": "8s",
    }  # fmt: skip
    plan = read_plan_file(plan_in(tmp_path, 'format = "plan/1"\nseeds = 7\n[budget]\nsteps = 7\n'))
    config, origins = resolve_config(config_from_flags({"seeds": 6}), plan, variables)
    assert (config.seeds, config.budget.steps, config.budget.time, config.budget.cost) == (6, 7, 8.0, 1.0)
    assert origins == {
        "seeds": "flag",
        "budget.steps": "plan file",
        "budget.time": "environment",
        "budget.cost": "user config",
        "edition": "user config",
        "cores": "user config",
    }


def test_an_invalid_environment_variable_is_named():
    with pytest.raises(UsageError, match="ASSAY_STEPS"):
        config_from_environment({"ASSAY_STEPS": "many"})


def test_without_any_settings_the_config_is_empty(tmp_path):
    config, origins = resolve_config(PlanConfig(), PlanConfig(), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert origins == {} and config == PlanConfig()


def test_a_plan_is_shown_then_run_and_a_second_run_does_nothing(tiny, tmp_path):
    text = 'format = "plan/1"\ntasks = ["tiny"]\nagents = ["starter"]\nseeds = 2\n[budget]\ntime = 40\n'
    plan = plan_in(tmp_path, f'{text}[resources]\nmemory = "1GB"\n')
    words = (str(plan), "--out", str(tiny.out))
    printed = tiny.call("plan", *words, "--cores", "2", "--steps", "9")
    assert printed.returncode == 0, printed.stderr
    assert "2 trials, 0 done." in printed.stdout and "40s, 9 steps" in printed.stdout
    assert "Maximum time: 40s on 2 cores. Maximum cost: $0.00." in printed.stdout
    assert not tiny.out.exists()
    ran = tiny.call("run", *words, "--steps", "9", "--quiet")
    assert ran.returncode == 0, ran.stderr
    trials = list(tiny.folder.trials())
    assert [(trial.file.budget.time, trial.file.budget.steps, trial.file.seed) for trial in trials] == [
        (40.0, 9, 1),
        (40.0, 9, 2),
    ]
    assert trials[0].file.resources.memory == 10**9
    origins = trials[0].file.origins
    named = ("budget.time", "budget.steps", "budget.tokens", "resources.memory", "resources.cores", "seeds", "variant")
    assert [origins[name] for name in named] == [
        "plan file", "flag", "default", "plan file", "default", "plan file", "default",
    ]  # fmt: skip
    before = [trial.events.read_bytes() for trial in trials]
    assert tiny.call("run", *words, "--steps", "9", "--quiet").returncode == 0
    assert [trial.events.read_bytes() for trial in tiny.folder.trials()] == before
    forecast = json.loads(tiny.call("plan", *words, "--steps", "9", "--json").stdout)
    assert (forecast["trials"], forecast["done"], forecast["time"], forecast["cost"]) == (2, 2, 0.0, 0.0)


def test_other_resources_make_another_trial(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    assert tiny.call(*tiny.run_words("starter"), "--memory", "1GB").returncode == 0
    assert len({trial.file.id for trial in tiny.folder.trials()}) == 2


def test_the_maximum_cost_is_known_only_if_it_is_limited(tiny, tmp_path):
    replies = tmp_path / "replies.json"
    replies.write_text("[]")
    words = ("plan", "tiny", "--agent", "research", "--model", f"scripted/{replies}", "--seeds", "2")
    assert "Maximum cost: unknown (set a limit with --cost)" in tiny.call(*words).stdout
    assert "Maximum cost: $5.00." in tiny.call(*words, "--cost", "2.5").stdout


def test_own_prices_in_a_plan_give_a_cost(tiny, tmp_path):
    replies, plan = tmp_path / "replies.json", tmp_path / "plan.toml"
    submit = {"tool_calls": [{"name": "bash", "arguments": {"command": "submit"}}], "usage": {"input_tokens": 500_000}}
    replies.write_text(json.dumps([submit]))
    plan.write_text('format = "plan/1"\ntasks = ["tiny"]\n[prices."scripted/*"]\ninput = 3\noutput = 0\n')
    words = (
        "--agent",
        "shell",
        "--model",
        f"scripted/{replies}",
        "--time",
        "60s",
        "--out",
        str(tiny.out),
        "--quiet",
    )
    result = tiny.call("run", str(plan), *words)
    (trial,) = tiny.folder.trials()
    assert trial.state.cost == 1.5, result.stderr  # half a million tokens at 3 dollars per million
    again = (
        str(plan),
        "--agent",
        "shell",
        "--model",
        f"scripted/{replies}",
        "--seeds",
        "4",
        "--out",
        str(tiny.out),
    )
    forecast = tiny.call("plan", *again, "--time", "60s")
    assert "Expected cost: $4.50, by the mean of 1 finished trial." in forecast.stdout, forecast.stderr
    other = json.loads(tiny.call("plan", *again, "--agent", "research", "--json").stdout)
    assert other["expected_cost"] is None, "no trial of the other agent has ended"


def test_the_maximum_time_is_that_of_trials_that_wait_for_free_cores():
    def line(seeds: int, time: float, cores: int, done: int = 0) -> ForecastLine:
        return ForecastLine("a/b", "starter", {}, seeds, done, time, 50, None, cores, 10**9, 0, 0.0, {})

    assert Forecast((line(3, 10.0, 1),), {}, (), (), cores=2).time == 20.0  # two, then one
    assert Forecast((line(4, 10.0, 1, done=2),), {}, (), (), cores=2).time == 10.0
    assert (
        Forecast((line(1, 5.0, 1), line(2, 10.0, 2)), {}, (), (), cores=2).time == 25.0
    )  # wide trials wait for all cores
    assert Forecast((line(1, 10.0, 8),), {}, (), (), cores=2).time == 10.0
    assert Forecast((), {}, (), (), cores=2).time == 0.0


def test_a_plan_lists_tasks_that_are_not_prepared(tiny):
    leaf = "mlebench/leaf-classification"
    result = tiny.call("plan", "tiny", "pocket/digits", leaf, "--agent", "starter")
    assert result.returncode == 0, result.stderr
    assert f"Not ready: {leaf}" in result.stdout and f"assay prepare {leaf}" in result.stdout
    assert "Not ready: pocket/digits: the run prepares it first, which takes seconds" in result.stdout
    assert "1 trial, 0 done, without 2 tasks not ready." in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run",), "No tasks given"),
        (("run", "tiny"), "No agent given"),
        (("run", "starter", "--agent", "tiny"), "starter is an agent, not a task: pass --agent starter"),
        (("run", "tiny", "--agent", "pocket:quick"), "pocket:quick is a suite, not an agent"),
        (("run", "no-such-plan.toml"), "No such file"),
        (
            ("run", "tiny", "--agent", "starter", "--on", "moon"),
            "no executor is called 'moon'; available: local, ray",
        ),
        (("run", "tiny", "--agent", "starter", "--variant", "mlbench=synthetic"), "did you mean mlebench?"),
        (("plan", "one.toml", "two.toml"), "Pass one plan file"),
        (("plan", "tiny", "--agent", "starter", "--set", "temprature=0"), "did you mean temperature?"),
        (("plan", "tiny", "--agent", "starter", "--set", "fast.temprature=0"), "did you mean temperature?"),
    ],
)
def test_missing_or_wrong_arguments_are_named(tiny, words, message):
    result = tiny.call(*words, "--out", str(tiny.out))
    assert result.returncode == 2 and message in result.stderr
    assert not tiny.out.exists()


def test_model_settings_of_a_role_change_those_of_all_roles():
    plan = PlanConfig.model_validate({"model_settings": {"temperature": 0.5, "fast": {"temperature": 0.01, "seed": 3}}})
    flags = config_from_flags({"model_settings": {"fast": {"temperature": 0.2}, "main": {"stop": ["Observation:"]}}})
    config, origins = resolve_config(flags, plan, {})
    assert origins == {
        "model_settings.fast.temperature": "flag",
        "model_settings.main.stop": "flag",
        "model_settings.temperature": "plan file",
        "model_settings.fast.seed": "plan file",
    }
    settings = settings_by_role(config.model_settings)
    assert (settings["fast"].temperature, settings["fast"].seed, settings["fast"].stop) == (0.2, 3, ())
    assert (settings["main"].temperature, settings["main"].stop) == (0.5, ("Observation:",))
    models = Models({"main": "scripted/x.json"}, settings, prices=Prices())
    assert models.settings("edit") == ModelSettings(temperature=0.5)
    assert models.settings("fast") == settings["fast"]


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_sets_what_the_plan_leaves_open(name):
    preset = load_preset(name)
    assert preset.title and preset.source
    (agent,) = preset.plan.agents
    find_agent(agent.name, agent.settings)
    settings_by_role(preset.plan.model_settings)
    config, origins = resolve_config(PlanConfig(preset=name), PlanConfig(seeds=2), {"ASSAY_STEPS": "9"})
    assert config.agents == preset.plan.agents and config.budget.steps == preset.plan.budget.steps
    assert config.seeds == 2 and origins["seeds"] == "plan file"
    assert origins["budget.steps"] == origins["agents"] == f"preset {name}"


def test_the_presets_have_the_published_figures():
    settings = {name: load_preset(name).plan.agents[0].settings for name in preset_names()}
    aide = settings["mlebench-aide"]
    assert (aide["rules"], aide["drafts"], aide["exec_seconds"]) == ("published", 5, 9 * 3600)
    assert (aide["debug_prob"], aide["max_debug_depth"]) == (1, 20)
    assert load_preset("mlebench-aide").plan.budget == BudgetConfig(time="24h", steps=500)
    for name, gpus in (("aide", 1), ("aide-two-gpus", 2), ("mlab", 1), ("openhands", 1)):
        resources = load_preset(f"mlebench-{name}").plan.resources
        assert (resources.cores, resources.memory, resources.gpus) == (36, 440 * 10**9, gpus)
    mlab = load_preset("mlebench-mlab").plan
    assert (mlab.budget.steps, mlab.model_settings["max_tokens"]) == (2000, 16_384)
    assert (
        settings["mlebench-mlab"]["max_attempts"] == 10 and "as much of the time" in settings["mlebench-mlab"]["notes"]
    )
    nodes = {name: load_preset(f"aira-{name}").plan.budget.steps for name in ("greedy", "mcts", "evolution")}
    assert nodes == {"greedy": 500, "mcts": 10_000, "evolution": 10_000}
    assert settings["aira-greedy"]["max_debug_depth"] == 21, "as its comparison counts"
    assert settings["aira-evolution"]["max_debug_seconds"] == 6 * 3600
    evolution = settings["aira-evolution"]
    assert (evolution["population"], evolution["max_pool"], evolution["max_debug_depth"]) == (5, 500, 10)
    assert load_preset("mlagentbench-paper").plan.budget == BudgetConfig(time="5h", steps=50)
    assert settings["mlagentbench-paper"] == {"rules": "published"}
    assert load_preset("mlagentbench-paper").plan.edition == "published"


def test_assay_plan_says_what_this_machine_cannot_give(tiny):
    words = ("plan", "tiny", "--agent", "starter", "-c", "resources.cores=999", "--memory", "900TB", "--gpus", "99")
    printed = tiny.call(*words).stdout
    assert "This machine cannot give what is planned: trials plan 999 cores and get " in printed
    assert "trials plan 900TB of memory" in printed and "trials plan 99 GPUs" in printed
    assert "cannot give" not in tiny.call(*words[:4]).stdout


def test_an_unknown_preset_is_an_error():
    with pytest.raises(UsageError, match="no preset is called 'aide'; "):
        resolve_config(PlanConfig(preset="aide"), PlanConfig(), {})


def test_assay_plan_shows_what_a_preset_sets(tiny, tmp_path):
    (tmp_path / "replies.json").write_text("[]")
    words = (
        "plan",
        "tiny",
        "--preset",
        "aira-mcts",
        "--model",
        f"scripted/{tmp_path / 'replies.json'}",
        "--steps",
        "3",
    )
    result = tiny.call(*words, "--set", "review.temperature=0", "--json")
    assert result.returncode == 0, result.stderr
    preset = json.loads(result.stdout)["preset"]
    assert preset["settings"]["budget.time"] == 24 * 3600 and preset["settings"]["agents"][0]["settings"]["width"] == 5
    assert preset["overridden"] == {"budget.steps": "flag", "model_settings.review.temperature": "flag"}
    printed = tiny.call(*words).stdout
    assert "Preset aira-mcts: AIRA's Monte Carlo tree search" in printed and "budget.steps is set by flag" in printed


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        (lambda path: path.write_text("a = " + "[" * 5_000), "nested too deeply"),
        (lambda path: path.write_text(f"a = {'9' * 5_000}"), "is not TOML"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 10**11), "at most"),
    ],
    ids=["a pipe", "a device", "deep", "a long number", "huge"],
)
def test_a_plan_of_a_stranger_is_refused_in_one_sentence(tmp_path, make, message):
    make(tmp_path / "plan.toml")
    with pytest.raises(UsageError, match=message):
        read_plan_file(tmp_path / "plan.toml")
