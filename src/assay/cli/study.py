"""`assay study`."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, choose_progress, echo, open_run, print_table, quiet, run_argument
from assay.cli.planning import read_model_settings
from assay.cli.study_contamination import cutoff_command, obfuscation_command
from assay.cli.study_familiarity import familiarity_command
from assay.cli.study_runs import figure_option, write_figure
from assay.cli.study_scaling import scaling_command
from assay.core.text import plural
from assay.records import RunFolder
from assay.studies import similarity, violations

if TYPE_CHECKING:
    from assay.studies.judge import Judgements


@click.group("study")
def study_command() -> None:
    """Study the results of runs beyond their scores.

    \b
    Examples:
      assay study scaling runs/first --over time
      assay study familiarity --model local/smollm2 --positions 20 --length 100
      assay study obfuscation runs/both
      assay study cutoff runs/aide --date 2023-10-01
      assay study similarity runs/first --against notebooks
      assay study violations runs/first
    """


study_command.add_command(scaling_command)
study_command.add_command(familiarity_command)
study_command.add_command(obfuscation_command)
study_command.add_command(cutoff_command)


@study_command.command("similarity")
@run_argument
@click.option(
    "--against",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A run, or a folder of Python files and notebooks. Can be repeated.  [default: the other trials of the run]",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 100),
    default=100 * similarity.FLAGGED,
    show_default=True,
    help="Similarity in per cent above which a trial is flagged.",
)
@click.option("--panel", is_flag=True, help="Also compare with the reference solutions and starters of the tasks.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many pairs to show.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page with these pairs side by side, shared lines marked.",
)
@figure_option
@as_json
def similarity_command(
    folder: Path,
    against: tuple[Path, ...],
    threshold: float,
    panel: bool,
    top: int,
    html: Path | None,
    figure: Path | None,
    json_: bool,
) -> None:
    """Compare the code of trials with other agents, other seeds, notebooks or reference solutions.

    Winnowing of Python tokens, as in the published study: runs of 23 tokens, windows of 17, flagged above 60 %. Names,
    literals, comments and layout do not count, nor does code that trials were given: the task's starter, and scripts of
    built-in agents.

    \b
    Examples:
      assay study similarity runs/first
      assay study similarity runs/first --against notebooks --against runs/second
      assay study similarity runs/first --panel --html pairs.html
    """
    from assay.studies.study_figures import draw_similarity_histogram

    run = open_run(folder)
    sources = similarity.read_run(run)
    others = [source for place in against for source in _read(place)] if against or panel else sources
    others += similarity.read_panels(run) if panel else []
    matches = similarity.compare_sources(sources, others)
    best = similarity.best_matches(matches, sources)
    flagged = [match for match in matches if 100 * match.similarity > threshold]
    counts = similarity.histogram(best)
    relations = similarity.summarize_relations(matches, threshold / 100)
    write_figure(figure, lambda: draw_similarity_histogram(counts, threshold))
    write_figure(html, lambda: _render_pairs(matches[:top], [*sources, *others], folder.resolve().name, threshold))
    if json_:
        content = {"format": "similarity/2", "sources": len(sources), "compared": len(others), "histogram": counts}
        content |= {"relations": [asdict(one) for one in relations]}
        echo(json.dumps(content | {"pairs": [asdict(match) for match in matches[: max(top, len(flagged))]]}, indent=2))
        return
    total = plural(sum(1 for _ in run.trials()), "trial")
    echo(f"{len(sources)} of {total} with code of their own, compared with {plural(len(others), 'source')}")
    if not matches:
        echo("Nothing to compare: what trials were given, such as the starter and scripts of agents, does not count.")
        return
    print_table(
        ["similarity", "coverage", "trial", "resembles", "which is"],
        [
            [_share(match.similarity), _share(match.coverage), match.first, match.second, match.relation]
            for match in matches[:top]
        ],
    )
    echo()
    print_table(
        ["relation", "pairs", "flagged", "median", "highest"],
        [
            [one.relation, str(one.pairs), str(one.flagged), _share(one.median), _share(one.highest)]
            for one in relations
        ],
    )
    echo()
    echo("Highest similarity of each trial:")
    for tenth, count in enumerate(counts):
        echo(f"  {10 * tenth:>3}–{10 * tenth + 10} %  {'█' * count}{' ' if count else ''}{count}")
    echo("Coverage: how much of the trial's code is in the other.")
    echo(f"Above {threshold:g} %: {plural(len(flagged), 'pair')}. High similarity is a reason to look, not a verdict.")


@study_command.command("violations")
@run_argument
@click.option(
    "--judge",
    metavar="PROVIDER/MODEL",
    default=None,
    help="Also ask a model the three published questions; it must prove each answer by a quote.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Model setting of the judge, e.g. max_tokens=300.  [default: temperature=0]",
)
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Trials that you looked at: columns trial and rule, no rule for a clean one. Shows precision and recall.",
)
@as_json
@quiet
def violations_command(
    folder: Path, judge: str | None, settings: tuple[str, ...], labels: Path | None, json_: bool, quiet: bool
) -> None:
    """List possible violations of the rules, with quotes from the record.

    Finds code and commands that try to reach the network, model providers or files outside of the workspace;
    submissions that were typed, listed in code, copied or constant; evaluation code that was changed; and claimed
    metrics far above the score. A sealed lab prevents most of it; a finding is a reason to look at the trial.

    \b
    Examples:
      assay study violations runs/first
      assay study violations runs/first --judge openai/gpt-5-mini
      assay study violations runs/first --labels looked-at.csv --json
    """
    from assay.results.collect import collect_outcomes

    run = open_run(folder)
    findings = violations.find_violations(run)
    judgements = _judge(run, judge, settings, quiet or json_) if judge else None
    if judgements:
        findings = {trial: [*some, *judgements.findings(trial)] for trial, some in findings.items()}
    flagged = {trial for trial, some in findings.items() if some}
    rates = violations.compute_strict_rates(collect_outcomes(run), flagged)
    precision = _measure_precision(findings, labels, judged=judgements is not None) if labels else []
    if json_:
        content = {
            "format": "violations/1",
            "trials": len(findings),
            "findings": [asdict(finding) for some in findings.values() for finding in some],
            "rates": [asdict(rate) for rate in rates],
            "precision": [asdict(one) | {"precision": one.precision, "recall": one.recall} for one in precision],
        }
        if judgements:
            verdicts = {trial: [asdict(one) for one in some] for trial, some in judgements.verdicts.items()}
            content["judge"] = {"model": judge, "verdicts": verdicts, "usage": judgements.usage.model_dump()}
        echo(json.dumps(content, indent=2))
        return
    rows = [[one.trial, one.rule, str(one.event), one.quote] for some in findings.values() for one in some]
    if rows:
        print_table(["trial", "rule", "event", "evidence"], rows)
        echo()
    echo(f"{len(flagged)} of {plural(len(findings), 'trial')} with findings")
    print_strict_rates(rates)
    if precision:
        echo()
        header = ["rule", "flagged", "right", "violations", "precision", "recall"]
        counts = [[one.rule, str(one.flagged), str(one.right), str(one.violations)] for one in precision]
        shares = [[_share(one.precision), _share(one.recall)] for one in precision]
        print_table(header, [[*left, *right] for left, right in zip(counts, shares, strict=True)])
    if judgements:
        without = sum(one.unsupported for some in judgements.verdicts.values() for one in some)
        unreadable = sum(one.unreadable for some in judgements.verdicts.values() for one in some)
        cost = judgements.usage.cost
        echo(
            f"Judge {judge}: not counted because no quote is in the log: {without}; unreadable answers: {unreadable}; "
            f"{judgements.usage.total_tokens:,} tokens, "
            f"{'cost unknown' if cost is None else f'${cost:.2f}'}"
        )


def _measure_precision(
    findings: "Mapping[str, Sequence[violations.Finding]]", path: Path, *, judged: bool
) -> "list[violations.RulePrecision]":
    labels: Mapping[str, Collection[str]] = violations.read_labels(path)
    if judged:
        from assay.studies.judge import add_judge_rules

        labels = add_judge_rules(labels)
    return violations.measure_precision(findings, labels)


def print_strict_rates(rates: "Sequence[violations.StrictRate]") -> None:
    """Print the success rate of each agent, and the one with flagged trials as failures."""
    if not rates:
        echo("No task of the run defines success, so there are no rates")
        return
    echo()
    print_table(
        ["agent", "trials", "flagged", "success", "95 % interval", "flagged as failures", "95 % interval"],
        [
            [
                one.agent,
                str(one.trials),
                str(one.flagged),
                _share(one.raw),
                f"{_share(one.raw_interval.low)} to {_share(one.raw_interval.high)}",
                _share(one.strict),
                f"{_share(one.strict_interval.low)} to {_share(one.strict_interval.high)}",
            ]
            for one in rates
        ],
    )


def _render_pairs(
    matches: "Sequence[similarity.Match]", sources: "Sequence[similarity.CodeSample]", title: str, threshold: float
) -> str:
    from assay.web.code_pairs import make_code_pairs, render_code_pairs

    return render_code_pairs(make_code_pairs(matches, sources), title, threshold, datetime.now(UTC))


def _judge(run: RunFolder, model: str, given: Sequence[str], hidden: bool) -> "Judgements":
    import anyio

    from assay.models import Models, Prices
    from assay.runs.plan_config import check_model_settings
    from assay.studies.judge import judge_trials

    trials = list(run.trials())
    settings = check_model_settings({"temperature": 0.0, **read_model_settings(given)})

    async def ask() -> "Judgements":
        with choose_progress(hidden).stage("asking the judge", len(trials)) as advance:
            async with Models({"main": model}, settings, prices=Prices()) as models:
                models.check()
                return await judge_trials(trials, models, lambda: advance(1))

    return anyio.run(ask)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _read(place: Path) -> list[similarity.CodeSample]:
    return similarity.read_run(RunFolder(place)) if (place / "run.json").exists() else similarity.read_folder(place)
