"""Whether agents benefit from recognizing a competition: the same trials with original and obfuscated descriptions.

Trials are paired by agent, task and seed. An agent that does not read the description is a control: its difference is
chance alone.
"""

from collections.abc import Sequence
from dataclasses import replace

from assay.core.errors import UsageError
from assay.records import TrialFile
from assay.records.registration import MARGIN
from assay.results.frame import TrialRow
from assay.results.measures import Measure, measure_trial, order_trial
from assay.results.paired import Experiment, PairedDifference, compare_arms
from assay.runs.plan import Plan
from assay.studies.paired import describe_difference, draw_differences, make_difference_tables
from assay.studies.paper_figures import load_paper_figures
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.trials import find_rules, group_by_agent, read_study_trials, record_of

ARMS = ("plain", "obfuscated")


class ObfuscationSettings(StudySettings):
    """What is compared."""

    measure: Measure = option("success", "What is compared; see assay compare.")
    margin: float = option(
        100 * MARGIN, "Descriptions that differ by less are equivalent, in points.", metavar="POINTS", gt=0, le=100
    )


def plan_arms(plan: Plan, settings: ObfuscationSettings, local: bool) -> list[Plan]:
    """Return the plan with original and with obfuscated descriptions; `--descriptions` replaces the latter."""
    hidden = plan if plan.descriptions else replace(plan, describe="obfuscated")
    return [replace(plan, describe="plain", descriptions=None), hidden]


def drop_description(file: TrialFile) -> TrialFile:
    """Return a plan without its choice of description, so that both arms are one agent."""
    return file.model_copy(update={"describe": "plain", "description": None})


def run(source: StudyInput, settings: ObfuscationSettings) -> StudyResult:
    """Compare the two arms of each agent."""
    trials = read_study_trials(source.runs, drop_description)
    agents, excluded = compare_descriptions(trials, settings.measure, settings.margin / 100)
    sentences = [f"{find_rules(trials)}: {settings.measure} with original and obfuscated descriptions"]
    sentences += [f"{agent}: {line}" for agent, pair in agents for line in describe_difference(pair)]
    if excluded:
        sentences.append(f"Excluded, because they do not define {settings.measure}: {', '.join(excluded)}.")
    sentences.append(
        "An obfuscated description says less about its task than its name would, so a lower result alone is no proof "
        "that an agent recognizes the competition."
    )
    published = load_paper_figures().obfuscation
    plain, hidden = published.plain, published.obfuscated
    sentences.append(
        f"Published, {published.name}: {plain[0]} ± {plain[1]}% and {hidden[0]} ± {hidden[1]}% with a medal."
    )
    return StudyResult(sentences, make_difference_tables(agents), draw_differences(agents))


def compare_descriptions(
    trials: Sequence[TrialRow], measure: Measure, margin: float = MARGIN
) -> tuple[list[tuple[str, PairedDifference]], list[str]]:
    """Return the difference of each agent, and the tasks that do not define the measure.

    The arms of an agent are equivalent if all of the interval of their difference is within the margin.
    With `wins`, the value of a trial is the share of the other arm's trials on the task that it beats.
    """
    experiments, excluded = dict[str, Experiment](), dict[str, None]()
    for agent, own in group_by_agent(trials).items():
        arms: list[dict[tuple[str, int], TrialRow]] = [{}, {}]
        kinds = {record_of(trial).file.describe for trial in own}
        hidden = {"obfuscated"} if "obfuscated" in kinds else {"own"}  # the original may be a text of the user's, too
        for trial in own:
            arms[record_of(trial).file.describe in hidden][trial.task, trial.seed] = trial
        if not all(arms):
            missing = ARMS[0] if not arms[0] else ARMS[1]
            raise UsageError(f"{agent} has no finished trial with {missing} descriptions")
        first, second = _values(arms, measure, excluded)
        lost = [frozenset(key for key, row in arm.items() if row.failure == "infrastructure") for arm in arms]
        if first and second:
            experiments[agent] = Experiment(first, second, ARMS, measure, missing=(lost[0], lost[1]))
    if not experiments:
        raise UsageError(f"No task of these trials defines {measure}; try --measure wins, which every task has")
    differences = compare_arms(list(experiments.values()), margin)
    return list(zip(experiments, differences, strict=True)), list(excluded)


def _values(
    arms: Sequence[dict[tuple[str, int], TrialRow]], measure: Measure, excluded: dict[str, None]
) -> list[dict[tuple[str, int], float]]:
    values: list[dict[tuple[str, int], float]] = [{}, {}]
    for arm, outcomes in enumerate(arms):
        for key, outcome in outcomes.items():
            if (value := order_trial(outcome) if measure == "wins" else measure_trial(outcome, measure)) is None:
                excluded[key[0]] = None
            else:
                values[arm][key] = value
    return [{key: value for key, value in arm.items() if key[0] not in excluded} for arm in values]


STUDY = Study(
    name="obfuscation",
    summary="Compare the same trials with original and obfuscated descriptions.",
    settings=ObfuscationSettings,
    run=run,
    reads="plan",
    vary=plan_arms,
    description="Pass finished runs that have both, or a plan: it is run with both. Trials are paired by task and "
    "seed. With --descriptions, your own descriptions replace the obfuscated ones.",
    examples=(
        "assay study obfuscation mlebench:low --agent aide --model openai/gpt-5",
        "assay study obfuscation runs/obfuscation --figure obfuscation.svg",
    ),
)
