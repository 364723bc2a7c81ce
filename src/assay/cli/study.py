"""`assay study`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from assay.cli.output import as_json, echo, print_table, run_argument
from assay.cli.study_contamination import cutoff_command, obfuscation_command
from assay.cli.study_scaling import scaling_command
from assay.core.text import plural
from assay.records import RunFolder
from assay.studies import similarity, violations


@click.group("study")
def study_command() -> None:
    """Study the results of runs beyond their scores.

    \b
    Examples:
      assay study scaling runs/first --over time
      assay study obfuscation runs/both
      assay study cutoff runs/aide --date 2023-10-01
      assay study similarity runs/first --against notebooks
      assay study violations runs/first
    """


study_command.add_command(scaling_command)
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
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many pairs to show.")
@as_json
def similarity_command(folder: Path, against: tuple[Path, ...], threshold: float, top: int, json_: bool) -> None:
    """Compare the code of trials with notebooks, other trials or other seeds.

    Winnowing of Python tokens, as in the published study: runs of 23 tokens, windows of 17, flagged above 60 %. Names,
    literals, comments and layout do not count.

    \b
    Examples:
      assay study similarity runs/first
      assay study similarity runs/first --against notebooks --against runs/second
    """
    sources = similarity.read_run(RunFolder(folder))
    others = [source for place in against for source in _read(place)] if against else sources
    matches = similarity.compare_sources(sources, others)
    best = similarity.best_matches(matches, sources)
    flagged = [match for match in matches if 100 * match.similarity > threshold]
    counts = similarity.histogram(best)
    if json_:
        content = {"format": "similarity/1", "sources": len(sources), "compared": len(others), "histogram": counts}
        echo(json.dumps(content | {"pairs": [asdict(match) for match in matches[: max(top, len(flagged))]]}, indent=2))
        return
    echo(f"{plural(len(sources), 'trial')} with code, compared with {plural(len(others), 'source')}")
    print_table(
        ["similarity", "trial", "resembles"],
        [[f"{100 * match.similarity:.0f} %", match.first, match.second] for match in matches[:top]],
    )
    echo()
    echo("Highest similarity of each trial:")
    for tenth, count in enumerate(counts):
        echo(f"  {10 * tenth:>3}–{10 * tenth + 10} %  {'█' * count}{' ' if count else ''}{count}")
    echo(f"Above {threshold:g} %: {plural(len(flagged), 'pair')}. High similarity is a reason to look, not a verdict.")


@study_command.command("violations")
@run_argument
@as_json
def violations_command(folder: Path, json_: bool) -> None:
    """List possible violations of the rules, with quotes from the record.

    Finds code and commands that try to reach the network, model providers or files outside of the workspace, and
    submissions that the agent typed or that are constant. A sealed lab prevents most of it; a finding is a reason to
    look at the trial.

    \b
    Examples:
      assay study violations runs/first
      assay study violations runs/first --json
    """
    from assay.results.collect import collect_outcomes

    run = RunFolder(folder)
    findings = violations.find_violations(run)
    outcomes = {trial.path.name: one for trial, one in zip(run.trials(), collect_outcomes(run), strict=True)}
    if json_:
        listed = [asdict(finding) for some in findings.values() for finding in some]
        echo(json.dumps({"format": "violations/1", "trials": len(findings), "findings": listed}, indent=2))
        return
    rows = [[one.trial, one.rule, str(one.event), one.quote] for some in findings.values() for one in some]
    if rows:
        print_table(["trial", "rule", "event", "evidence"], rows)
        echo()
    flagged = sum(bool(some) for some in findings.values())
    echo(f"{flagged} of {plural(len(findings), 'trial')} with findings")
    for agent in dict.fromkeys(one.agent for one in outcomes.values()):
        successes = [(name, bool(one.success)) for name, one in outcomes.items() if one.agent == agent]
        won, clean, trials = violations.success_without_flagged(successes, findings.__getitem__)
        echo(f"{agent}: {won} of {trials} succeeded, {clean} of {trials} if trials with findings count as failures")


def _read(place: Path) -> list[similarity.CodeSample]:
    return similarity.read_run(RunFolder(place)) if (place / "run.json").exists() else similarity.read_folder(place)
