"""`assay agents` lists every agent with its summary, requirements and settings."""

import json

from assay.agents.agent import agent_names


def test_every_agent_is_listed_with_its_requirements_and_settings(assay):
    done = assay("agents", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["agent"]: row for row in json.loads(done.stdout)["agents"]}
    assert list(rows) == agent_names()
    assert {"starter", "automl", "research", "shell", "human", "replay"} <= set(rows)
    assert all(row["summary"] for row in rows.values())
    needs = {name: rows[name]["needs"] for name in ("shell", "human", "replay", "starter")}
    assert needs == {"shell": "a model", "human": "a person at the terminal", "replay": None, "starter": None}
    assert rows["shell"]["settings"]["protocol"] == {
        "default": "tools", "required": False, "about": "how the model issues commands: tools (tool calls) or text",
    }  # fmt: skip
    assert rows["replay"]["settings"]["trial"]["required"] is True
    settings = [setting for row in rows.values() for setting in row["settings"].values()]
    assert all(setting["about"] for setting in settings)


def test_the_printed_list_names_every_setting_and_its_default(assay):
    listed = {line.split()[0]: line for line in assay("agents").stdout.splitlines() if line.strip()}
    assert "a model  " in listed["shell"] and "one bash command after another; the minimal agent" in listed["shell"]
    output = [" ".join(line.split()) for line in assay("agents", "shell", "replay").stdout.splitlines()]
    assert "shell: a model issues one bash command after another; the minimal agent (needs a model)" in output
    assert "share 0.25 default time limit of a command, as a share of the time left" in output
    assert "trial required folder of the trial to repeat, RUN/trials/ID" in output


def test_the_check_names_what_an_agent_lacks_and_how_to_get_it(assay, tmp_path):
    (tmp_path / "own.txt").write_text("six==1.17.0\n")
    (tmp_path / "own.toml").write_text('title = "Own"\ncommand = ["true"]\nenvironment = "own.txt"\npython = [3, 99]\n')
    done = assay("agents", "--check", "starter", f"external,profile={tmp_path / 'own.toml'}", "--json")
    assert done.returncode == 1
    ready, lacking = (row["missing"] for row in json.loads(done.stdout)["agents"])
    assert ready is None and lacking.startswith("Own requires Python 3.99 in the lab")
    (tmp_path / "own.toml").write_text('title = "Own"\ncommand = ["true"]\nenvironment = "own.txt"\n')
    done = assay("agents", "--check", f"external,profile={tmp_path / 'own.toml'}")
    assert done.returncode == 1 and "run: assay lab build" in " ".join(done.stdout.split())
    assert assay("agents", "--check", "starter").returncode == 0
