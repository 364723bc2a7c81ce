"""Tables for papers: every number of the overall table, and text of agents that cannot become markup or commands."""

import re

import pytest
from synthetic_outcomes import TASKS, changed, failed, grade, outcome, run

from assay.results.estimate import summarize_agents
from assay.results.frame import Frame
from assay.results.report import to_latex, to_markdown

HOSTILE = "a|b_c & 50% \\\\input{/etc/passwd} $x^2$ <script> [link](http://x) `code` #1 ~\n\\end{table}"


def test_markdown_has_each_agent_with_error_and_interval():
    text = to_markdown(Frame(run()), "Pocket | run")
    assert text.startswith("# Pocket \\| run\n")
    overall = next(line for line in text.splitlines() if line.startswith("| automl"))
    assert overall == "| automl | 3 of 9 | 33% (1–89%) | 3 of 9 | 33.3 ± 33.3% | 9 of 9 | 3 of 4 |"
    assert "standard error clustered by task" in text and "on tasks like these" in text
    scores = next(line for line in text.splitlines() if line.startswith("| vectorization"))
    assert scores.startswith("| vectorization (speedup ↑) | ") and scores.endswith(" | not applicable |")
    assert "over the seeds' rates" in to_markdown(Frame(run()), "x", "seeds")


def test_latex_has_booktabs_rules_and_the_same_numbers():
    text = to_latex(Frame(run()))
    assert text.count("\\toprule") == text.count("\\midrule") == text.count("\\bottomrule") == 2
    assert "automl & 3 of 9 & 33\\% (1--89\\%) & 3 of 9 & 33.3 $\\pm$ 33.3\\% & 9 of 9 & 3 of 4 \\\\" in text


def test_columns_are_chosen_and_the_best_is_bold():
    text = to_latex(Frame(run()), columns=["agent", "valid"])
    assert "automl & 9 of 9 \\\\" in text and "Agent & Valid \\\\" in text
    assert text.count("\\textbf{") == 3 and to_markdown(Frame(run()), "x").count("**") == 6
    with pytest.raises(ValueError, match="there is no column 'score'; available: Agent, Success"):
        to_latex(Frame(run()), columns=["score"])


def test_text_of_an_agent_is_neither_markup_nor_a_command():
    trials = changed(run(), lambda o: o.agent == "automl", agent=HOSTILE)
    latex = to_latex(Frame([*trials, failed("pocket/digits", HOSTILE, 9)]))
    commands = set(re.findall(r"\\\\[a-z]+", latex)) | set(re.findall(r"\\[a-z]+", latex))
    assert commands <= {
        "\\begin", "\\bottomrule", "\\caption", "\\centering", "\\downarrow", "\\end", "\\midrule", "\\pm",
        "\\textasciicircum", "\\textasciitilde", "\\textbackslash", "\\textgreater", "\\textless", "\\toprule",
        "\\uparrow", "\\usepackage", "\\par", "\\smallskip", "\\footnotesize", "\\textbf",
    }  # fmt: skip
    markdown = to_markdown(Frame(trials), HOSTILE)
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {8, 4}
    assert not re.search(r"(?<!\\)[<`\[]", markdown)


def test_errors_of_zero_are_not_mistaken_for_certainty():
    agreeing = [
        outcome(task, "steady", seed, grade=grade(task, 0.5, success=task == "pocket/digits"))
        for task in TASKS
        for seed in range(3)
    ]
    assert summarize_agents(agreeing)[0].success.errors == pytest.approx(
        {"tasks": 0.25, "seeds": 0.0, "attempts": 0.125}
    )
    assert "says that all seeds agree, not that the rate is certain; see the interval: steady" in to_latex(
        Frame(agreeing), "seeds"
    )
    assert "rate is certain" not in to_latex(Frame(agreeing), "tasks")
