"""`assay study violations`: what the detectors and a judge say of the trials of runs, and how often they are right."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import anyio
from pydantic import FilePath

from assay.core.errors import UsageError
from assay.core.progress import stage
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.models import MAIN, Models, Prices
from assay.records import TrialFolder
from assay.results.frame import read_frame
from assay.runs.plan_config import check_model_settings
from assay.studies.judge import Judgements, add_judge_rules, judge_trials
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.violations import (
    Finding,
    RulePrecision,
    compute_strict_rates,
    find_violations,
    make_rate_table,
    measure_precision,
    read_labels,
    sample_unflagged,
)


class ViolationSettings(StudySettings):
    """Who judges, and what is known already."""

    judge: str | None = option(
        None,
        "Also ask a model the three published questions; answers count only with a verbatim quote.",
        metavar="PROVIDER/MODEL",
    )
    model_settings: tuple[str, ...] = option(
        (),
        "Model setting of the judge, e.g. max_tokens=300.  [default: temperature=0]",
        metavar="NAME=VALUE",
        flag="--set",
    )
    labels: FilePath | None = option(
        None,
        "Labeled trials (CSV with columns trial, rule; leave rule empty for clean trials). Shows precision and recall.",
        metavar="FILE.csv",
    )
    sample: int = option(0, "List so many random trials without findings, to be labeled.", metavar="N", ge=0)


def run(source: StudyInput, settings: ViolationSettings) -> StudyResult:
    """Look for violations in all trials of the runs."""
    findings = {trial: listed for folder in source.runs for trial, listed in find_violations(folder).items()}
    judgements = None
    if settings.judge:
        judgements = _judge([trial for folder in source.runs for trial in folder.trials()], settings)
        findings = {trial: [*listed, *judgements.findings(trial)] for trial, listed in findings.items()}
    flagged = {trial for trial, listed in findings.items() if listed}
    sentences = [f"{len(flagged)} of {plural(len(findings), 'trial')} with findings"]
    tables = [_make_finding_table(findings)]
    rates = compute_strict_rates(read_frame(*source.runs), flagged)
    if settings.labels:
        labels: Mapping[str, Collection[str]] = read_labels(settings.labels)
        measured = measure_precision(findings, add_judge_rules(labels) if judgements else labels)
        tables.append(_make_precision_table(measured))
        rates = [rate.correct(measured[-1]) for rate in rates]
    tables.insert(1, make_rate_table(rates))
    if settings.sample:
        chosen = sample_unflagged(findings, settings.sample)
        sentences.append("Label these, a random sample of the trials without findings, to measure recall:")
        tables.append(Table("to_label", (Column("trial"), Column("rule")), tuple((trial, "") for trial in chosen)))
    if judgements:
        sentences.append(_describe_judge(settings.judge or "", judgements))
        sentences += [f"{trial} could not be judged: {reason}" for trial, reason in judgements.failures.items()]
        tables.append(_make_judge_table(judgements))
    return StudyResult(sentences, tables)


def _judge(trials: Sequence[TrialFolder], settings: ViolationSettings) -> Judgements:
    chosen = check_model_settings({"temperature": 0.0, **_parse_settings(settings.model_settings)})

    async def ask() -> Judgements:
        with stage("asking the judge", len(trials)) as advance:
            async with Models({MAIN: settings.judge or ""}, chosen, prices=Prices()) as models:
                models.check_servers()
                models.check()
                return await judge_trials(trials, models, lambda: advance(1))

    return anyio.run(ask)


def _parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return the values of `NAME=VALUE` as JSON, or as text where they are not JSON."""
    values: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise UsageError(f"--set {text}: write NAME=VALUE")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values


def _describe_judge(model: str, judgements: Judgements) -> str:
    verdicts = [verdict for listed in judgements.verdicts.values() for verdict in listed]
    cost = judgements.usage.cost
    unsupported = sum(verdict.unsupported for verdict in verdicts)
    unreadable = sum(verdict.unreadable for verdict in verdicts)
    return (
        f"Judge {model}: not counted because no quote is in the log: {unsupported}; unreadable answers: {unreadable}; "
        f"{judgements.usage.total_tokens:,} tokens, {'cost unknown' if cost is None else f'${cost:.2f}'}"
    )


def _make_finding_table(findings: Mapping[str, Sequence[Finding]]) -> Table:
    columns = (Column("trial"), Column("rule"), Column("event", kind="integer"), Column("quote", "evidence", "prose"))
    records = (vars(finding) for listed in findings.values() for finding in listed)
    return Table.from_records("findings", columns, records, extra={"trials": len(findings)})


def _make_precision_table(measured: Sequence[RulePrecision]) -> Table:
    columns = (
        Column("rule"),
        Column("flagged", kind="integer"),
        Column("right", kind="integer"),
        Column("violations", kind="integer"),
        Column("precision", "precision (95%)", "rate"),
        Column("unflagged", kind="integer"),
        Column("recall", "recall (95%)", "rate"),
    )
    rows = [
        (
            *(rule.rule, rule.flagged, rule.right, rule.violations, rule.precision),
            *(rule.unflagged, rule.recall),
        )
        for rule in measured
    ]
    note = "Recall needs labels of a random sample of trials without findings (--sample); without any it is not known."
    return Table("precision", columns, tuple(rows), notes=(note,))


def _make_judge_table(judgements: Judgements) -> Table:
    columns = (
        Column("trial"),
        Column("rule"),
        Column("findings", kind="integer"),
        Column("unsupported", "without a quote", "integer"),
        Column("unreadable", kind="integer"),
        Column("overruled", kind="integer"),
    )
    rows = [
        (trial, verdict.rule, len(verdict.findings), verdict.unsupported, verdict.unreadable, verdict.overruled)
        for trial, listed in judgements.verdicts.items()
        for verdict in listed
    ]
    extra = {"usage": judgements.usage.model_dump(), "failures": dict(judgements.failures)}
    return Table("judge", columns, tuple(rows), extra=extra)


STUDY = Study(
    name="violations",
    summary="List possible violations of the rules, with quotes from the record.",
    settings=ViolationSettings,
    run=run,
    description="Detects code and commands that try to reach the network, model providers or files outside of the "
    "workspace; submissions that were typed, listed in code, copied or constant; evaluation code that was changed; and "
    "claimed metrics far above the score. A sealed lab prevents most of it; a finding is a reason to look.",
    examples=(
        "assay study violations runs/first",
        "assay study violations runs/first --judge openai/gpt-5-mini",
        "assay study violations runs/first --labels labeled.csv --json",
    ),
)
