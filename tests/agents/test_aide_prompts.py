"""The prompts of a search, and the parsing of replies and metrics."""

import json
import subprocess
import sys
from importlib.resources import files

import pytest

from assay.agents.aide.draft import parse_proposal
from assay.agents.aide.execute import NoMetric, parse_metric
from assay.agents.aide.operators import (
    Memory,
    OperatorPrompts,
    RemainingBudget,
    complexity_hint,
    make_messages,
    summarize_fixes,
    summarize_nodes,
)
from assay.agents.prompts import Templates
from assay.agents.replies import UnreadableReply, code_block
from assay.models import Message, Reply, Usage
from assay.records import Journal
from assay.records.events import Execution, SearchNode

BUDGET = RemainingBudget(steps_left=3, time_left="10m", limit="2m")
TEMPLATES = Templates("assay.agents.aide")
PROMPTS = OperatorPrompts(TEMPLATES, "The task.", memory=Memory(2_000))


def node(id, operator="draft", parents=(), metric=None, plan=None, reason="it ended with exit code 1", output="Oh!"):
    execution = Execution(ended="exit", code=int(metric is None), seconds=1.0, output=output)
    about = {
        "plan": plan or f"plan {id}",
        "code": f"print({id})",
        "execution": execution,
        "metric": metric,
        "status": "buggy" if metric is None else "good",
        "reason": reason if metric is None else "",
    }
    return SearchNode(id=id, operator=operator, parents=parents, **about)


def render_prompt(journal, chosen, prompts=PROMPTS, **more):
    system, user = make_messages(prompts, journal.put(chosen), chosen, BUDGET, **more)
    assert system.text == "The task."
    return user.text


def test_the_summary_lists_good_and_failed_nodes_in_order():
    journal = Journal(
        "higher", (node(0, metric=0.5), node(1, output="x\nKeyError: 'a'"), node(2, "improve", (0,), 0.75))
    )
    assert summarize_nodes(journal, 1_000).splitlines() == [
        "- 0 (draft), metric 0.5. plan 0",
        "- 1 (draft), failed: it ended with exit code 1: KeyError: 'a'. plan 1",
        "- 2 (improve of 0), metric 0.75. plan 2",
    ]


def test_the_summary_is_limited_and_keeps_the_best_nodes():
    nodes = [node(id, metric=id / 100 if id % 2 else None, plan="x" * 1_000) for id in range(100)]
    summary = summarize_nodes(Journal("lower", tuple(nodes)), 2_000)
    assert len(summary) < 2_100
    assert "- 1 (draft), metric 0.01." in summary and "metric 0.99" not in summary
    assert summary.endswith("more omitted)")


def test_scripts_written_side_by_side_get_different_prompts():
    done = (node(0, metric=0.5), node(1, metric=0.6))
    pending = [SearchNode(id=2 + n, operator="improve", parents=(1,)) for n in range(2)] + [
        SearchNode(id=4, operator="draft")
    ]
    journal = Journal("higher", (*done, *pending))
    first, second, draft = (render_prompt(journal, chosen) for chosen in pending)
    assert first != second
    assert "Solution 3 is an improvement of solution 1." in first and "implement idea 1;" in first
    assert "Solution 4 is a new draft." in second and "implement idea 2;" in second
    assert "in parallel" not in draft
    assert "in parallel" not in render_prompt(Journal("higher", (*done, pending[0])), pending[0])


def test_pending_nodes_are_not_summarized():
    assert (
        summarize_nodes(Journal("higher", (SearchNode(id=0, operator="draft"),)), 1_000)
        == "None; this is the first solution."
    )


def test_a_debug_prompt_contains_only_the_chain_of_fixes():
    journal = Journal(
        "higher",
        (node(0), node(1, metric=0.5), node(2, "debug", (0,)), node(3, "debug", (2,), output="still wrong")),
    )
    prompt = render_prompt(journal, SearchNode(id=4, operator="debug", parents=(3,)))
    assert "print(3)" in prompt and "still wrong" in prompt
    assert "plan 2" in prompt and "plan 1" not in prompt and "Previous solutions" not in prompt
    assert summarize_fixes(journal, journal.nodes[0], 1_000) == "None so far."


def test_a_crossover_prompt_contains_both_scripts_with_their_metrics():
    journal = Journal("higher", (node(0, metric=0.5), node(1, metric=0.25)))
    prompt = render_prompt(journal, SearchNode(id=2, operator="crossover", parents=(1, 0)))
    assert prompt.index("This is solution 1, with a metric of 0.25. Its plan: plan 1") < prompt.index("print(1)")
    assert (
        prompt.index("print(1)") < prompt.index("This is solution 0, with a metric of 0.5.") < prompt.index("print(0)")
    )


@pytest.mark.parametrize(
    ("siblings", "words"), [(0, "simple"), (1, "simple"), (2, "moderate"), (3, "moderate"), (4, "ambitious")]
)
def test_the_complexity_hint_grows_with_the_number_of_siblings(siblings, words):
    journal = Journal("higher", (node(0, metric=0.5), *(node(id + 1, "improve", (0,), 0.5) for id in range(siblings))))
    chosen = SearchNode(id=siblings + 1, operator="improve", parents=(0,))
    assert words in complexity_hint(journal.put(chosen), chosen)
    adaptive = OperatorPrompts(TEMPLATES, "The task.", memory=Memory(2_000), complexity_hints=True)
    assert words in render_prompt(journal, chosen, adaptive) and "Aim" not in render_prompt(journal, chosen)


def test_a_compressed_prompt_contains_less_of_the_past_but_the_whole_script():
    journal = Journal(
        "higher", (node(0, metric=0.5, output="o" * 9_000), *(node(id, plan="p" * 300) for id in range(1, 9)))
    )
    chosen = SearchNode(id=9, operator="improve", parents=(0,))
    lengths = [len(render_prompt(journal, chosen, compression=level)) for level in range(3)]
    assert lengths[0] > 2 * lengths[1] > 2 * lengths[2]
    assert "print(0)" in render_prompt(journal, chosen, compression=3)


def test_templates_can_be_overridden(tmp_path):
    (tmp_path / "draft.md").write_text("Draft! $memory $complexity $budget")
    own = OperatorPrompts(Templates("assay.agents.aide", tmp_path), "The task.", memory=Memory(100))
    assert render_prompt(Journal("higher"), SearchNode(id=0, operator="draft"), own).startswith("Draft! None; this")


def test_a_code_block_cannot_be_closed_by_its_content():
    assert code_block("a\n```\nb") == "````\na\n```\nb\n````"
    assert code_block("`" * 5_000).splitlines()[0] == "`" * 5_001


def reply(text, stop="stop"):
    return Reply(
        message=Message(role="assistant", text=text),
        stop=stop,
        usage=Usage(),
        model="m",
        number=0,
        seconds=0.0,
        waited=0.0,
    )


def test_a_proposal_is_a_plan_and_one_script():
    answer = parse_proposal(reply("I will\ntry.\n\n```python\nprint(1)\n```\n"))
    assert (answer.plan, answer.code) == ("I will\ntry.", "print(1)\n")
    holding = parse_proposal(reply('Plan.\n````python\ntext = """\n```\n"""\n````'))
    assert holding.code == 'text = """\n```\n"""\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("First\n```bash\npip list\n```\nthen\n```python\nprint(1)\n```", "print(1)\n"),
        ("Plan\n```python\nprint(1)\n```\nExpected output:\n```\nMETRIC: 0.5\n```", "print(1)\n"),
        ("<think>\n```python\nx = 1\n```\n</think>\nPlan\n```python\nprint(x)\n```", "x = 1\n\n\nprint(x)\n"),
        ("Plan\n```python\nimport os\n```\nand\n```python\nbroken(\n```", "import os\n"),
        ("Plan\n```\nprint(1)\n```\nOutput\n```\nit prints one\n```", "print(1)\n"),
        ("Plan\n```sh\nls\n```\n```py\nbroken(\n```", "broken(\n"),
        ("Plan\n```\nbroken(\n```", "broken(\n"),
        ("import os\nprint(os.name)", "import os\nprint(os.name)"),
    ],
)
def test_the_python_blocks_that_compile_are_joined(text, code):
    assert parse_proposal(reply(text)).code == code


@pytest.mark.parametrize(
    ("text", "stop", "complaint"),
    [
        ("Only a plan.", "stop", "in one code block"),
        ("", "stop", "in one code block"),
        ("a\n```python\n1 +\n```\nb\n```python\n2 +\n```", "stop", "in one code block"),
        ("a\n```sh\nls\n```\nb\n```text\n2\n```", "stop", "in one code block"),
        ("a\n```python\n1\n", "stop", "in one code block"),
        ("a\n```python\n1\n```\nb\n```python\n2\n", "stop", "in one code block"),
        ("a\n```python\n\n```", "stop", "is empty"),
        ("a\n```python\n1\n```", "length", "cut off"),
    ],
)
def test_replies_in_any_other_form_are_rejected(text, stop, complaint):
    with pytest.raises(UnreadableReply, match=complaint):
        parse_proposal(reply(text, stop))


@pytest.mark.parametrize(
    ("stdout", "metric"),
    [
        ("METRIC: 0.5", 0.5),
        ("METRIC: 1\nMETRIC: 2\nbye", 2.0),
        ("  METRIC : -1e-3  \r\n", -0.001),
        ("METRIC=7", 7.0),
        ("fold METRIC: 1\nMETRIC: 3", 3.0),
    ],
)
def test_the_last_metric_line_is_parsed(stdout, metric):
    assert parse_metric(stdout) == metric


@pytest.mark.parametrize(
    "stdout",
    ["", "metric is 5", "METRIC:", "METRIC: 0.5 (good)", "METRIC: 1\nMETRIC: nan", "METRIC: Infinity", "METRIC: 1e101"],
)
def test_other_output_contains_no_metric(stdout):
    with pytest.raises(NoMetric):
        parse_metric(stdout)


def preview(folder, max_length=6_000):
    """Return the output of the preview script for `data` in a folder."""
    script = files("assay.agents.aide").joinpath("preview.py").read_bytes()
    command = [sys.executable, "-", str(max_length)]
    return json.loads(subprocess.run(command, input=script, cwd=folder, capture_output=True, check=True).stdout)


def test_the_preview_describes_columns_and_summarizes_many_files(tmp_path):
    images = tmp_path / "data" / "images"
    images.mkdir(parents=True)
    for number in range(20):
        (images / f"{number:02}.png").write_bytes(b"x" * 2_000)
    (tmp_path / "data" / "train.csv").write_text("id,kind,size\n1,big,2.5\n2,,7\n3,small,\n4,big,3\n")
    content = preview(tmp_path)
    assert "train.csv (45 B)" in content["data"] and "00.png (2 kB)" in content["data"]
    assert "… and 12 more files: 12 .png" in content["data"]
    assert "data/train.csv: 4 rows, 3 columns" in content["data"]
    assert "  kind: text, 2 distinct, e.g. 'big', 'small', 25% missing" in content["data"]
    assert "  size: numeric, 2.5 to 7, 3 distinct, 25% missing" in content["data"]
    assert any(package.startswith("pandas ") for package in content["packages"])


def test_the_preview_names_all_columns(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    names = [f"a measurement called {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(120)]
    header = ["id", *names, *(f"f{n}" for n in range(200)), "target"]
    row = ",".join(["0.123456789"] * len(header))
    (data / "train.csv").write_text(",".join(header) + "\n" + f"{row}\n" * 9)
    (data / "test.csv").write_text(",".join(header[:-1]) + "\n" + f"{row.rpartition(',')[0]}\n" * 5)
    content = preview(tmp_path)["data"]
    assert all(name in content for name in [*names, "f0 to f199 (200 columns)"])
    assert "data/test.csv: 5 rows, 321 columns, the same columns as data/train.csv without target" in content
    assert "  id: numeric, 0.123457 to 0.123457, 1 distinct" in content
    assert len(content) <= 6_000


def test_the_preview_is_limited_in_length(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for number in range(8):
        columns = [f"column_{n}" for n in range(50_000)]
        (data / f"wide-{number}.csv").write_text(",".join(columns) + "\n" + ",".join(["1"] * len(columns)))
    (data / "long.csv").write_text("a,b\n" + "1,2\n" * 50_000)
    (data / "odd.csv").write_bytes(b'"never closed\n\xff\xfe\n' * 100)
    (data / "empty.csv").write_text("")
    for number in range(30):
        (data / f"{number}.csv").write_text("x,y\n" + "text text,1\n" * 10)
    content = preview(tmp_path)["data"]
    assert len(content) <= 6_000
    assert "data/wide-0.csv: 1 rows, 50,000 columns\n" in content
    assert "column_0 to column_49999 (50,000 columns)" in content or "column_49999 (" in content
    assert "data/wide-7.csv: 1 rows, 50,000 columns, the same columns as data/wide-0.csv" in content
    assert len(preview(tmp_path, 500)["data"]) <= 500


def test_memory_can_leave_failures_out():
    nodes = (
        SearchNode(id=0, operator="draft", plan="Good.", status="good", metric=0.5),
        SearchNode(id=1, operator="draft", plan="Bad.", status="buggy", reason="it failed"),
    )
    journal = Journal("higher", nodes)
    assert "Bad." in summarize_nodes(journal, 1_000) and "Bad." not in summarize_nodes(journal, 1_000, failures=False)
