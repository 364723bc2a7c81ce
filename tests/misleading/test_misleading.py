"""Runs that once misled their readers: the sentence each must produce, and the one it must not."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import unescape
from types import SimpleNamespace

import pytest
from synthetic_outcomes import grade, outcome

from assay.api import Comparisons
from assay.core.claim import format_rate
from assay.core.errors import UsageError
from assay.grading.result import Integrity, TestNoise
from assay.records.registration import PlannedComparison, RegisteredPlan, register_plan
from assay.results.aggregate import CompetitionResult, aggregate_reports
from assay.results.estimate import summarize_agents
from assay.results.figures import draw_success
from assay.results.frame import CONDITIONS, Frame, RuleSet, TrialRow
from assay.results.inference import DifferenceVariance
from assay.results.measures import Measure
from assay.results.paired import Experiment, compare_agents, compare_arms, compare_if_possible, select_trials
from assay.results.power import Pilot, simulate_power
from assay.results.published_figures import load_published_figures
from assay.results.report import make_report, to_latex, to_markdown
from assay.results.verdict import comparison_tables, describe_pair, summarize_verdicts
from assay.studies.paired import describe_difference
from assay.studies.selection import HIDDEN, OWN, CandidateScores, SelectionTrial, average_picks
from assay.tasks import Registry
from assay.web.leaderboard import make_lines
from assay.web.report import render_page
from assay.web.selection import find_published

SAME = dict.fromkeys(CONDITIONS, "the same")


def trial(
    agent: str, task: int, seed: int, success: bool | None = None, score: float = 0.9, **fields: object
) -> TrialRow:
    """A trial that succeeded or not, of one of many tasks."""
    graded = grade("pocket/digits", score)
    if success is not None:
        graded = graded.model_copy(update={"success": success})
    row = replace(outcome(agent=agent, seed=seed, score=score), grade=graded, conditions=SAME)
    return replace(row, task=f"pocket/{task}", trial=f"{task}-{agent}-{seed}", **fields)  # type: ignore[arg-type]


def missing(agent: str, task: int, seed: int, **fields: object) -> TrialRow:
    """A trial without a grade: running, unless `fields` say otherwise."""
    return replace(trial(agent, task, seed), **{"status": "running", "grade": None, **fields})  # type: ignore[arg-type]


def grid(agent: str, tasks: int, seeds: int, won: Callable[[int, int], bool], **fields: object) -> list[TrialRow]:
    return [trial(agent, task, seed, won(task, seed), **fields) for task in range(tasks) for seed in range(seeds)]


def read(rows: Sequence[TrialRow], measure: Measure | None = None, **options: object) -> str:
    """Everything that `assay compare` and `assay report` say about some trials."""
    return " ".join("\n".join(_read(rows, measure, **options)).split())


def _read(rows: Sequence[TrialRow], measure: Measure | None, **options: object) -> Iterator[str]:
    try:
        comparisons = compare_agents(select_trials(rows), measure=measure, **options)  # type: ignore[arg-type]
    except UsageError as error:
        yield str(error)
    else:
        for comparison in comparisons:
            for pair in comparison.pairs:
                yield from describe_pair(comparison, pair)
            for table in comparison_tables(comparison):
                yield table.to_text(width=400)
    for table in make_report(Frame(rows)):
        yield table.to_text(width=400)


@dataclass(frozen=True)
class Case:
    """Trials, how they are compared, and what must and must not be said of them."""

    rows: list[TrialRow]
    must: tuple[str, ...]
    must_not: tuple[str, ...] = ()
    measure: Measure | None = None
    ignore: tuple[str, ...] = ()


def third(task: int, seed: int) -> bool:
    return seed == 0


def judged(agent: str, tasks: int, won: Callable[[int, int], bool], **integrity: object) -> list[TrialRow]:
    """Trials whose integrity was judged."""
    judgement = Integrity.model_validate({"reason": "seen", "shortcut": None, **integrity})
    return [
        replace(row, grade=row.grade and row.grade.model_copy(update={"integrity": judgement}))
        for row in grid(agent, tasks, 3, won)
    ]


LOST = {"status": "failed", "cause": "infrastructure"}


CASES = {
    "a crash is not better than a poor score": Case(
        [trial("careful", task, seed, score=0.6) for task in range(13) for seed in range(3)]
        + [missing("crasher", task, seed, status="failed", cause="agent") for task in range(13) for seed in range(3)],
        ("careful is better than crasher by improvement on these 13 tasks and on tasks like these",),
        ("crasher is better",),
        measure="improvement",
    ),
    "failures that were rerun": Case(
        grid("base", 13, 3, third)
        + grid("rerun", 13, 3, third)
        + [
            replace(trial("rerun", task, seed, True), repeated=True, trial=f"again-{task}-{seed}")
            for task in range(13)
            for seed in (1, 2)
        ],
        ("33% against 33% success, 0 points", "26 trials for other reasons; the first attempts count"),
        ("rerun is better",),
    ),
    "trials that are still running": Case(
        grid("fast", 13, 3, third)
        + grid("slow", 13, 1, lambda task, seed: True)
        + [missing("slow", task, seed) for task in range(13) for seed in (1, 2)],
        ("the missing trials decide", "26 pending", "They allow 0 to +67 points"),
        ("slow is better",),
    ),
    "other data, environments and machines": Case(
        grid("a", 13, 3, lambda task, seed: True)
        + [replace(row, conditions=SAME | {"data": "other", "environment": "other"}, load=6.0) for row in
           grid("b", 13, 3, third)],
        ("not comparable", "a and b differ in data", "in environment"),
        ("a is better",),
    ),
    "unequal seeds": Case(
        grid("unequal", 1, 40, lambda task, seed: True)
        + [trial("unequal", task, 0, False) for task in (1, 2, 3)]
        + grid("honest", 4, 3, lambda task, seed: task < 2),
        ("unequal 40 of 43 25%", "honest 6 of 12 50%"),
        ("40 of 43 93%",),
    ),
    "the interquartile mean of successes": Case(
        grid("a", 13, 4, lambda task, seed: seed < 3) + grid("b", 13, 4, lambda task, seed: seed < 1),
        ("a is better than b on these 13 tasks and on tasks like these", "75%"),
        ("IQM", "middle half"),
    ),
    "a huge improvement on one task": Case(
        [trial("a", task, seed, score=0.9167 * 1.12) for task in range(12) for seed in range(3)]
        + [trial("b", task, seed, score=0.9167 * 1.40) for task in range(12) for seed in range(3)]
        + [trial("a", 12, seed, score=0.9167 * 121) for seed in range(3)]
        + [trial("b", 12, seed, score=0.9167 * 61) for seed in range(3)],
        ("b is better than a by improvement on these 13 tasks",),
        ("a is better", "934"),
        measure="improvement",
    ),
    "one task": Case(
        grid("lucky", 1, 16, lambda task, seed: True) + grid("other", 1, 16, lambda task, seed: False),
        ("lucky is better than other on this task; on tasks like these that is not known: it takes at least 6 tasks",),
        ("100% (81–100%)",),
    ),
    "a specialist on four easy tasks": Case(
        grid("specialist", 4, 3, lambda task, seed: True)
        + [missing("specialist", task, seed, status="inapplicable") for task in range(4, 13) for seed in range(3)]
        + grid("generalist", 13, 3, lambda task, seed: task < 11),
        ("on 4 tasks", "both 100%", "inapplicable (their tasks are compared for no agent)"),
        ("specialist is better",),
    ),
    "infrastructure failures": Case(
        grid("lost", 6, 3, lambda task, seed: True)
        + [missing("lost", task, seed, status="failed", cause="infrastructure") for task in range(6, 13)
           for seed in range(3)]
        + grid("whole", 13, 3, lambda task, seed: task < 10),
        ("lost: success is between 46% and 100%", "the missing trials decide"),
        ("whole is better", "lost is better", "100% (8"),
    ),
    "another budget that is ignored": Case(
        grid("a", 13, 3, lambda task, seed: True)
        + [replace(row, conditions=SAME | {"budget": "24 s"}) for row in grid("b", 13, 3, lambda task, seed: False)],
        ("Conditions: ignored: budget (the same: a; 24 s: b",),
        ignore=("budget",),
    ),
    "a busy machine": Case(
        [replace(row, load=0.5) for row in grid("a", 13, 3, lambda task, seed: True)]
        + [replace(row, load=6.0) for row in grid("b", 13, 3, third)],
        ("Conditions: different load (idle machine: a; busy machine: b", "Busy machine: 39 trials of 78"),
    ),
    "success that tells nobody apart": Case(
        [trial("v1", 0, seed, False, score=0.098) for seed in range(4)]
        + [trial("v2", 0, seed, False, score=0.398) for seed in range(4)],
        ("v2 is better than v1 by score, paired by task (success does not tell them apart: both 0%) on this task",),
        ("no difference",),
    ),
    "three tasks, nine of nine": Case(
        grid("automl", 3, 3, lambda task, seed: True) + grid("starter", 3, 3, lambda task, seed: False),
        ("automl is better than starter on these 3 tasks; on tasks like these that is not known: it takes at least 6 "
         "tasks.", "p < 0.001"),
        ("too few to be sure",),
    ),
    "scores of a rival whose trials the infrastructure failed": Case(
        grid("a", 13, 4, lambda task, seed: False)
        + [trial("b", task, seed, False, score=0.8) for task in range(13) for seed in (0, 1)]
        + [missing("b", task, seed, **LOST) for task in range(13) for seed in (2, 3)],
        ("a or b, by score", "the missing trials decide", "They allow 0 to +100 points", "50–100% with missing trials"),
        ("is better than",),
    ),
    "scores of a rival that has not begun most tasks": Case(
        grid("a", 13, 4, lambda task, seed: False)
        + [trial("b", task, seed, False, score=0.8) for task in range(6) for seed in range(4)]
        + [missing("b", task, seed) for task in range(6, 13) for seed in range(4)],
        ("the missing trials decide", "28 pending", "They allow −8 to +100 points"),
        ("is better than",),
    ),
    "a mean of s/(s + b) is no improvement in per cent": Case(
        [trial("careful", task, seed, score=0.6) for task in range(13) for seed in range(3)]
        + [trial("poor", task, seed, score=0.4) for task in range(13) for seed in range(3)],
        ("40% against 30% on the improvement scale (50%: the starter's score)",),
        ("30% improvement",),
        measure="improvement",
    ),
    "shortcuts that traces do not show": Case(
        judged("hidden", 13, lambda task, seed: True, planted=True)
        + judged("plain", 13, third, planted=True, shortcut=False),
        ("hack-adjusted success on these 13 tasks (the missing trials decide)", "39 unknown", "0–100% with missing"),
        ("hidden is better than plain by",),
        measure="honest",
    ),
    "successes by a shortcut": Case(
        judged("cheat", 13, lambda task, seed: True, planted=True, shortcut=True)
        + judged("plain", 13, third, planted=True, shortcut=False),
        ("Conditions: of 39 trials of cheat, 39 took a planted shortcut; see --measure honest",),
    ),
    "honesty that nobody judged": Case(
        grid("a", 13, 3, lambda task, seed: True) + grid("b", 13, 3, third),
        ("no task of pocket in common that defines honest",),
        measure="honest",
    ),
    "an agent of other conditions has no rank": Case(
        [*grid("v1", 7, 3, third), *grid("v2", 7, 3, lambda task, seed: True), *grid("v3", 7, 3, third),
         *(replace(row, conditions=SAME | {"budget": "24 h"}) for row in grid("rich", 7, 3, lambda task, seed: True))],
        ("Not compared: rich and v2 differ in budget", "rich 100% (65–100%) 85–100% – – –"),
    ),
    "a pair that was chosen among many": Case(
        [row for n in range(20) for row in grid(f"agent {n:02}", 8, 3, lambda task, seed, n=n: n == 0 or seed == 0)],
        ("(exploratory, allowing for 190 comparisons)", "p and intervals allow for 190 comparisons by Holm's method"),
    ),
    "tasks that an agent was not tried on": Case(
        grid("picky", 7, 2, lambda task, seed: True)
        + grid("full", 20, 2, lambda task, seed: task < 7 and seed == 0),
        ("Conditions: picky has no trial on 13 of 20 tasks, which are not compared",),
    ),
    "calibration over metrics with other units": Case(
        [replace(row, metric=f"metric {row.task}") for row in
         judged("a", 7, third, planted=False, claimed=20_000.0, calibration_error=19_999.0)]
        + grid("b", 7, 3, third),
        ("a 21 – 0 – – – –", "if the metrics have one unit"),
        ("19999", "20000"),
    ),
    "contaminated and indicative tasks": Case(
        [replace(row, known_leaks=1) for row in grid("a", 7, 1, lambda task, seed: True)]
        + grid("b", 7, 1, lambda task, seed: False),
        ("Known leaks of answers: 0, 1, 2, 3, 4 and 2 more tasks",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_sentence_misleads(name: str) -> None:
    case = CASES[name]
    text = read(case.rows, case.measure, ignore=case.ignore)
    assert [words for words in case.must if words not in text] == [], text
    assert [words for words in case.must_not if words in text] == [], text


def page_of(rows: Sequence[TrialRow]) -> str:
    """The words of the report page."""
    comparisons, refusal = compare_if_possible(Frame(rows))
    page = render_page(rows, {}, "Run", datetime(2026, 1, 1, tzinfo=UTC), comparisons=comparisons, refusal=refusal)
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


MEDIA: dict[str, Callable[[list[TrialRow]], str]] = {
    "terminal": lambda rows: "\n".join(summarize_verdicts(Frame(rows))) + make_report(Frame(rows))[0].to_text(),
    "page": page_of,
    "LaTeX": lambda rows: to_latex(Frame(rows)).replace("\\%", "%").replace("--", "–"),
    "Markdown": lambda rows: to_markdown(Frame(rows), "Run"),
    "notebook": lambda rows: repr(Comparisons(tuple(compare_agents(select_trials(rows))))),
    "notebook page": lambda rows: Comparisons(tuple(compare_agents(select_trials(rows))))._repr_html_(),
    "leaderboard": lambda rows: "\n".join(format_rate(line.success) for line in make_lines(rows, {})),
    "figure": lambda rows: str(draw_success(summarize_agents(rows), {"fast": 0, "slow": 1})),
}


@pytest.mark.parametrize("medium", MEDIA)
def test_pending_trials_are_bounds_in_every_medium(medium: str):
    rows = grid("fast", 13, 3, third) + grid("slow", 13, 1, lambda task, seed: True)
    rows += [missing("slow", task, seed) for task in range(13) for seed in (1, 2)]
    assert "33–100% with missing trials" in " ".join(MEDIA[medium](rows).split())


@pytest.mark.parametrize("medium", ["terminal", "page", "notebook", "notebook page"])
def test_conditions_are_named_next_to_every_verdict(medium: str):
    rows = grid("a", 13, 3, lambda task, seed: True) + [
        replace(row, conditions=SAME | {"grader": "other"}) for row in grid("b", 13, 3, third)
    ]
    rows = [replace(row, conditions={"grader": "first", **row.conditions}) for row in rows]
    text = MEDIA[medium](rows)
    assert "a is better than b on these 13 tasks" in text and "different grader (first: a; other: b" in text


def test_attempts_and_ranks_have_the_bounds_of_missing_trials():
    rows = [row for name in ("fast", "other") for row in grid(name, 13, 3, third)]
    rows += grid("slow", 13, 2, lambda task, seed: True) + [missing("slow", task, 2, **LOST) for task in range(13)]
    slow = next(summary for summary in summarize_agents(rows) if summary.agent == "slow")
    assert (slow.pass_at[1].worst, slow.pass_at[1].best, slow.pass_all[3].best) == (pytest.approx(2 / 3), 1, 1)
    (comparison,) = compare_agents(select_trials(rows))
    standing = next(each.standing for each in comparison.agents if each.agent == "slow")
    assert standing and standing.shrunken_bounds and standing.shrunken_bounds[1] > standing.shrunken_bounds[0]


def test_leaderboards_rank_on_common_tasks():
    rows = grid("specialist", 4, 3, lambda task, seed: task < 3) + grid(
        "generalist", 13, 3, lambda task, seed: task < 9
    )
    rows += [missing("specialist", task, 0, status="inapplicable") for task in range(4, 13)]
    first, second = make_lines(rows, {})
    assert (first.agent, second.agent) == ("generalist", "specialist")
    assert first.success.value < second.success.value and first.ranked.value > second.ranked.value
    assert first.ranked.evidence.tasks == 4


def test_published_rates_are_those_of_the_same_tasks():
    suites = Registry().suites
    suite, folder = suites["mlebench"]
    rules = RuleSet("mlebench", "v1", "real")
    low = find_published(rules, [f"mlebench/{name}" for name in suite.splits["low"]], folder)
    part = find_published(rules, [f"mlebench/{name}" for name in suite.splits["low"][:5]], folder)
    assert low.rows and not part.rows and "whole splits" in part.problem
    suite, folder = suites["mlagentbench"]
    figures = load_published_figures(folder)
    imdb = find_published(RuleSet("mlagentbench", "published", "real"), ["mlagentbench/imdb"], folder)
    rates = {row.models: 100 * row.success.value for row in imdb.rows}
    assert rates == pytest.approx(dict(zip(figures.columns, figures.success["imdb"], strict=True)))


def test_percentiles_count_failures():
    board = {"gold_threshold": 0.99, "silver_threshold": 0.98, "bronze_threshold": 0.97, "percentile": 99.0}
    lucky = trial("crashy", 0, 0)
    rows = [replace(lucky, grade=lucky.grade and lucky.grade.model_copy(update=board))]
    rows += [missing("crashy", 0, seed, status="failed", cause="agent") for seed in range(1, 24)]
    (line,) = make_lines(rows, {})
    assert line.percentile and line.percentile.value == pytest.approx(0.99 / 24)


def test_two_tasks_promise_no_power():
    assert simulate_power(Pilot(0.5, DifferenceVariance(0.01, 0.01)), 0.9, tasks=2, seeds=1) == 0


def test_a_leader_among_equals_is_corrected_for_its_choice():
    """Twenty agents with the same probabilities: the best one owes its rank to luck."""
    import numpy as np

    random = np.random.default_rng(3)
    rates = random.beta(0.125, 0.16, 22)
    rows = [
        trial(f"agent {agent}", task, seed, bool(random.random() < rates[task]))
        for agent in range(20) for task in range(22) for seed in range(3)
    ]  # fmt: skip
    leader = max(summarize_agents(rows), key=lambda summary: summary.success.value if summary.success else 0).agent
    (comparison,) = compare_agents(select_trials(rows), baseline=leader)
    text = read(rows, baseline=leader)
    assert "is better than" not in text and "Best: probability of the highest rate on tasks like these" in text
    assert all(pair.answers.like.claim.evidence.comparisons >= 190 - 19 for pair in comparison.pairs)
    first = comparison.agents[0]
    assert first.standing.shrunken < first.means.like.value and first.standing.best < 0.9


def test_two_agents_are_not_refused_because_of_a_third():
    rows = grid("v1", 7, 1, lambda task, seed: False) + grid("v2", 7, 1, lambda task, seed: True)
    cli = [replace(row, conditions=SAME | {"network": "models"}) for row in grid("cli", 7, 1, lambda task, seed: True)]
    text = read([*rows, *cli])
    assert "v2 is better than v1 on these 7 tasks and on tasks like these" in text
    assert "Not compared: cli and v1 differ in network" in text


@pytest.mark.parametrize(
    ("noise", "must", "must_not"),
    [
        pytest.param(TestNoise(error=0.003), "= tied", "★", id="one row of ten thousand"),
        pytest.param(None, "= tied", "★", id="noise that is not known"),
        pytest.param(TestNoise(error=1e-7), "★ best", "= tied", id="more test rows than that"),
    ],
)
def test_scores_within_the_noise_of_the_test_set_have_no_star(noise: TestNoise | None, must: str, must_not: str):
    """0.90010 against 0.90000, with three seeds that agree."""
    rows = [
        replace(row, grade=row.grade and row.grade.model_copy(update={"noise": noise}))
        for agent, score in (("a", 0.90010), ("b", 0.90000))
        for row in (trial(agent, 0, seed, score=score) for seed in range(3))
    ]
    text = read(rows)
    assert must in text and must_not not in text, text


def register(
    rows: Sequence[TrialRow], seeds: int = 3, at: str = "2026-01-01T00:00:00+00:00", **plan: object
) -> RegisteredPlan:
    """The plan of a comparison of these trials."""
    plain = {"parent": None, "replaces": None, "seed": seeds}
    files = [SimpleNamespace(id=row.trial, label=row.agent, agent=row.agent, task=row.task, **plain) for row in rows]
    return register_plan(PlannedComparison.model_validate(plan), files, at)  # type: ignore[arg-type]


def with_plans(rows: Sequence[TrialRow], *plans: RegisteredPlan, seed: int = 1) -> list[TrialRow]:
    start = datetime(2026, 1, 2, tzinfo=UTC)
    return [replace(row, plans=plans, seed=row.seed + seed, started_at=start, ended_at=start) for row in rows]


@pytest.mark.parametrize("medium", ["LaTeX", "Markdown"])
def test_tables_for_papers_say_what_is_not_comparable(medium: str):
    rows = grid("a", 8, 3, lambda task, seed: True) + [
        replace(row, conditions=SAME | {"budget": "24 s"}) for row in grid("b", 7, 3, third)
    ]
    text = MEDIA[medium](rows)
    assert "Trials of one task differ in budget: rates are not comparable" in text
    assert "Agents have trials on different tasks: each rate is over the agent" in text


def test_a_pair_or_a_measure_chosen_after_the_fact_is_said_to_be():
    rows = [row for n in range(20) for row in grid(f"agent {n:02}", 8, 3, lambda task, seed, n=n: n == 0 or seed == 0)]
    chosen = read(rows, agents=("agent 00", "agent 01"))
    assert "Exploratory: no plan was registered before its trials" in chosen and "as planned" not in chosen.lower()
    (comparison,) = compare_agents(select_trials(rows), agents=("agent 00", "agent 01"))
    assert comparison.pairs[0].answers.like.claim.evidence.comparisons == 190  # each of the pairs could be chosen
    planned = with_plans(rows, register(rows, measure="success"))
    assert "As planned before the first trial" in read(planned, agents=("agent 00", "agent 01"))
    other = read(planned, measure="valid", agents=("agent 00", "agent 01"))
    assert "Exploratory: the plan's measure is success, not valid" in other and "As planned" not in other


@pytest.mark.parametrize(("sequential", "factor", "words"), [
    (False, 20, "Exploratory: tasks or seeds were added after results were known. Look 2"),
    (True, 6, "As planned before the first trial"),
])  # fmt: skip
def test_seeds_that_are_added_until_it_is_significant_are_looks(sequential: bool, factor: int, words: str):
    rows = grid("a", 8, 3, lambda task, seed: True) + grid("b", 8, 3, third)
    first = register(rows, seeds=2, sequential=sequential)
    second = register(rows, seeds=3, at="2026-01-03T00:00:00+00:00", sequential=sequential)
    planned = with_plans(rows, first, second)
    assert words in read(planned)
    (comparison,) = compare_agents(select_trials(planned))
    claim = comparison.pairs[0].answers.like.claim
    assert claim.evidence.looks == factor and claim.p_adjusted == pytest.approx(min(1.0, claim.p * factor))
    (once,) = compare_agents(select_trials(with_plans(rows, register(rows))))
    assert once.pairs[0].answers.like.registration.planned and once.pairs[0].answers.like.claim.evidence.looks == 1


def test_a_planned_baseline_allows_for_its_own_comparisons_only():
    rows = [row for name in "abcd" for row in grid(name, 7, 3, lambda task, seed: True)]
    (planned,) = compare_agents(select_trials(with_plans(rows, register(rows, baseline="a"))))
    assert {pair.second for pair in planned.pairs} == {"a"} and len(planned.pairs) == 3
    assert max(pair.answers.like.claim.evidence.comparisons for pair in planned.pairs) == 3
    (chosen,) = compare_agents(select_trials(rows), baseline="a")
    assert max(pair.answers.like.claim.evidence.comparisons for pair in chosen.pairs) == 6


def test_a_changed_plan_is_no_plan():
    rows = grid("a", 7, 3, third) + grid("b", 7, 3, third)
    plan = register(rows).model_copy(update={"margin": 0.2})
    assert not plan.is_intact and "the plan was changed" in read(with_plans(rows, plan))


def test_aggregate_drops_no_report():
    results = {name: [CompetitionResult(competition_id=name)] * 3 for name in "abc"}
    results["d"] = [CompetitionResult(competition_id="d", any_medal=True)]
    with pytest.raises(UsageError, match="d has 1 of up to 3 reports; pass --seeds 1 to leave 6 of 10 reports out"):
        aggregate_reports(results, list("abcd"))


def test_arms_that_the_infrastructure_failed_decide_nothing():
    """A study of two arms: one of them lost half of its trials to the machine."""
    keys = [(f"task {task}", seed) for task in range(13) for seed in range(4)]
    lost = frozenset(key for key in keys if key[1] < 2)
    plain, hidden = dict.fromkeys(keys, 1.0), {key: float(key not in lost) for key in keys}
    experiment = Experiment(plain, hidden, ("plain", "obfuscated"), missing=(frozenset(), lost))
    (pair,) = compare_arms([experiment])
    assert pair.answers.these.outcome == pair.answers.like.outcome == "not known"
    assert "Missing trials: 26 infrastructure" in describe_difference(pair)[-1]
    assert "They allow 0.0 to +50.0 points" in describe_difference(pair)[-1]
    (known,) = compare_arms([replace(experiment, missing=(frozenset(), frozenset()))])
    assert known.answers.these.outcome == known.answers.like.outcome == "better"


def test_the_means_of_a_selection_study_are_of_the_same_trials():
    """Three trials of which one has no own pick among its first candidates, where the hidden one is bad."""
    good, bad = CandidateScores(0.9, 0.9, 0.9, (0.9, 0.9)), CandidateScores(0.1, 0.1, 0.1, (0.1, 0.1))
    blind = CandidateScores(None, 0.1, 0.1, (0.1, 0.1))
    trials = [SelectionTrial(f"task {n}", 0, (good, bad, bad), own=0) for n in range(2)]
    trials.append(SelectionTrial("task 2", 0, (blind, bad, good), own=2))
    means = [average_picks(trials, rule, 1) for rule in (OWN, HIDDEN)]
    assert [mean.value for mean in means if mean] == [1.0, 1.0]


def test_a_p_value_of_exactly_the_level_agrees_with_its_interval():
    """One task 3 of 3 against none, another 1 of 3: p = 1/20 by counting, which no interval with 0 may contradict."""
    first, second = (3, 0, 1, 3), (3, 0, 0, 0)
    rows = grid("a", 4, 3, lambda task, seed: seed < first[task]) + grid(
        "b", 4, 3, lambda task, seed: seed < second[task]
    )
    (comparison,) = compare_agents(select_trials(rows))
    claim = comparison.pairs[0].answers.these.claim
    assert claim.p == pytest.approx(0.05) and 0 < claim.low < claim.value
    assert "a is better than b on these 4 tasks" in read(rows)
