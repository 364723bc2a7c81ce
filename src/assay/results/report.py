"""The report of a run as tables: scores by task and agent, each agent overall, and what a reader must know of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from assay.core.claim import format_rate
from assay.core.table import Column, Formatted, Style, Table, Value, escape_markdown, to_plain
from assay.core.text import one_line, plural
from assay.core.values import (
    NOTHING,
    format_change,
    format_count,
    format_estimate,
    format_number,
    format_percent,
)
from assay.results.claims import Claim
from assay.results.cost import cost_table, measure_costs
from assay.results.estimate import (
    Summary,
    reliable_attempts,
    summarize_agents,
    summarize_tasks,
)
from assay.results.frame import CONDITIONS, FORMAT, UNKNOWN, Frame, TrialRow, condition_of, describe_direction, group_by
from assay.results.inference import ERROR_KINDS, FEWEST_TASKS, INTERVAL_METHOD, ErrorKind
from assay.results.integrity import integrity_table
from assay.results.second import second_table
from assay.results.variance import decompose_variance, describe_variance

_MAX_NAMED = 5
_MAX_TASKS = 20
"""Scores on more tasks would push the answer off the screen."""
ARROWS = {"higher": "↑", "lower": "↓"}

_RULES = (Column("suite", data_only=True), Column("edition", data_only=True), Column("variant", data_only=True))
_COUNTS = (
    Column("trials", kind="integer", data_only=True),
    Column("pending", kind="integer", data_only=True),
    Column("failed_agent", kind="integer", data_only=True),
    Column("failed_infrastructure", kind="integer", data_only=True),
    Column("failed_user", kind="integer", data_only=True),
)
_SCORES = (
    *_RULES,
    Column("task", heading=True),
    Column("title", data_only=True),
    Column("metric", data_only=True),
    Column("direction", data_only=True),
    Column("mark", " ", text_only=True),
    Column("agent", "Agent"),
    *_COUNTS,
    Column("valid", kind="integer", data_only=True),
    Column("inapplicable", kind="integer", data_only=True),
    Column("score", "Score", kind="estimate"),
    Column("score_min", kind="number", data_only=True),
    Column("score_max", kind="number", data_only=True),
    Column("rank", "Rank", kind="number", text_only=True, drop=2),
    Column("improvement", "Improvement", kind="estimate", drop=1),
    Column("success", "Success", kind="count"),
    Column("success_published", kind="count", data_only=True),
    Column("valid_text", "Valid", kind="number", text_only=True),
    Column("rank_mean", kind="number", data_only=True),
    Column("panel_size", kind="integer", data_only=True),
    Column("percentile_mean", kind="number", data_only=True),
    Column("gold", kind="integer", data_only=True),
    Column("silver", kind="integer", data_only=True),
    Column("bronze", kind="integer", data_only=True),
    Column("sealed", kind="flag", data_only=True),
    Column("best", kind="flag", data_only=True),
    Column("tied", kind="flag", data_only=True),
)
_OVERALL = (
    *_RULES,
    Column("agent", "Agent"),
    *_COUNTS,
    Column("success", "Success", kind="count"),
    Column("rate", "Rate (95%)", kind="rate", text_only=True),
    Column("success_published", "As published", kind="count", drop=1),
    Column("over_tasks", "Over tasks", kind="rate", drop=2, text_only=True),
    Column("valid", "Valid", kind="count"),
    Column("success_error_over_tasks", kind="number", data_only=True),
    Column("success_error_over_seeds", kind="number", data_only=True),
    Column("success_error_over_attempts", kind="number", data_only=True),
    Column("tasks", "Tasks", kind="integer"),
    Column("inapplicable_tasks", kind="integer", data_only=True),
    Column("sealed", kind="flag", data_only=True),
)


def make_report(rows: Frame, error: ErrorKind = "tasks", *, explain: bool = False) -> list[Table]:
    """Return the tables of a report, separately for each set of rules: agents overall, scores by task, forked trials.

    Below them is one line of legend and what a reader must know; with `explain`, all that was computed and how.
    """
    tables: list[Table] = []
    for group in rows.group_by(lambda row: row.rules):
        by_task = summarize_tasks(group)
        agents = _best_first(summarize_agents(group, by_task))
        forks = [_fork_table(group)] if any(row.parent for row in group) else []
        if by_task:
            notes = describe_results(group, by_task, agents, error, explain=explain)
            costs = measure_costs(group) if any(row.cost for row in group) else []
            paid = [cost_table(costs)] if costs else []
            further = _further_tables(group) if explain else list(filter(None, [integrity_table(group)]))
            overall = overall_table(agents, error)
            tables += [overall if explain else _shorten(overall, agents), *paid, *further, *forks]
            if explain or len({summary.task for summary in by_task}) <= _MAX_TASKS:
                tables.append(replace(score_table(by_task), notes=tuple(notes)))
            else:
                tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *notes))
        else:
            tables += forks
    return tables


def _best_first(agents: Iterable[Summary]) -> list[Summary]:
    return sorted(agents, key=lambda agent: -(agent.success.value if agent.success else -1.0))


def report_data(rows: Frame, title: str, created_at: datetime) -> dict[str, Any]:
    """Return the report as plain data: scores, agents overall, and every trial, each as a list of records."""
    by_task = summarize_tasks(rows)
    agents = summarize_agents(rows, by_task)
    overall = [
        record | _attempts_record("success_at", summary.pass_at) | _attempts_record("success_all", summary.pass_all)
        for record, summary in zip(overall_table(agents).to_dict()["rows"], agents, strict=True)
    ]
    return {
        "format": "report/2",
        "title": title,
        "created_at": created_at.isoformat(timespec="seconds"),
        "interval": f"95%: Wilson's over trials for one task; {INTERVAL_METHOD}",
        "scores": score_table(by_task).to_dict()["rows"],
        "overall": overall,
        "integrity": [
            {**vars(group[0].rules), **record}
            for group in rows.group_by(lambda row: row.rules)
            if (table := integrity_table(group))
            for record in table.to_dict()["rows"]
        ],
        "trials_format": FORMAT,
        "trials": [
            record | {"grade": to_plain(row.grade)}
            for record, row in zip(rows.to_table().to_dict()["rows"], rows, strict=True)
        ],
    }


def _attempts_record(name: str, curve: Mapping[int, Claim]) -> dict[str, float]:
    ends = ((f"{name}_{k}", claim) for k, claim in curve.items())
    return {f"{key}{end}": value for key, claim in ends
            for end, value in (("", claim.value), ("_low", claim.low), ("_high", claim.high))}  # fmt: skip


def trials_table(rows: Frame) -> Table:
    """Return a row per trial, with the tokens of each role of a model in a column `tokens_ROLE`."""
    table, used = rows.to_table(), [_tokens_by_role(row) for row in rows]
    roles = sorted({role for tokens in used for role in tokens})
    columns = tuple(Column(f"tokens_{role}", kind="integer") for role in roles)
    extended = tuple(
        (*cells, *(tokens.get(role) for role in roles)) for cells, tokens in zip(table.rows, used, strict=True)
    )
    return replace(table, columns=(*table.columns, *columns), rows=extended)


def _tokens_by_role(row: TrialRow) -> Counter[str]:
    tokens = Counter[str]()
    if row.record is None or not row.record.folder.has_log:
        return tokens
    from assay.records import read_events  # most reports need no events
    from assay.records.events import ModelRequest, ModelResult
    from assay.records.tape import finished_calls

    for _, call in finished_calls(read_events(row.record.folder.events)):
        if isinstance(call.request, ModelRequest) and isinstance(call.result, ModelResult) and call.result.reply:
            tokens[call.request.role] += call.result.reply.usage.total_tokens
    return tokens


def score_table(by_task: Sequence[Summary]) -> Table:
    """Return a row per task and agent; ★ marks the best, = those that the trials do not tell apart."""
    styles: list[Style] = ["best" if s.best else "failed" if s.failures and not s.valid else "" for s in by_task]
    title = str(by_task[0].rules) if by_task else ""
    return Table.from_records("scores", _SCORES, map(_score_record, by_task), title=title, styles=tuple(styles))


def overall_table(agents: Sequence[Summary], error: ErrorKind = "tasks", notes: Iterable[str] = ()) -> Table:
    """Return a row per agent over all tasks with the same rules."""
    records = (_overall_record(summary, error) for summary in agents)
    title = f"{agents[0].rules}, all tasks" if agents else ""
    return Table.from_records("overall", _OVERALL, records, title=title, notes=tuple(notes))


def _shorten(overall: Table, agents: Sequence[Summary]) -> Table:
    """Return the table without what says nothing new: the mean with its error, and published rates that are equal."""
    hidden = {"over_tasks"}
    if all(format_count(agent.success) == format_count(agent.success_published) for agent in agents):
        hidden.add("success_published")
    columns = tuple(replace(column, data_only=column.data_only or column.name in hidden) for column in overall.columns)
    return replace(overall, columns=columns)


def pivot_table(by_task: Sequence[Summary]) -> Table:
    """Return scores with a row per task and a column per agent, for papers."""
    agents = list(dict.fromkeys(summary.agent for summary in by_task))
    rows: list[tuple[Value, ...]] = []
    for task in group_by(by_task, lambda summary: summary.task):
        by_agent = {summary.agent: summary for summary in task}
        name = f"{short_task_name(task[0].task)} ({task[0].metric} {ARROWS[task[0].direction]})"
        scores = [
            Formatted(format_score(by_agent[a]), format_score(by_agent[a]), bold=by_agent[a].best)
            if a in by_agent
            else NOTHING
            for a in agents
        ]
        rows.append((name, *scores))
    return Table(
        name="scores_by_task",
        title=f"{by_task[0].rules}: scores by task",
        columns=(Column("task", "Task"), *(Column(agent, agent, kind="number") for agent in agents)),
        rows=tuple(rows),
        notes=("Mean ± standard error over valid trials; bold is best, beyond the noise of seeds and test rows",),
    )


def publication_tables(rows: Frame, error: ErrorKind = "tasks", columns: Sequence[str] = ()) -> list[Table]:
    """Return each agent overall, with all or some `columns`, and the scores by task, for papers and documents."""
    tables: list[Table] = []
    for group in rows.group_by(lambda row: row.rules):
        by_task = summarize_tasks(group)
        agents = _best_first(summarize_agents(group, by_task))
        if by_task:
            notes = [f"±: standard error {ERROR_KINDS[error]}", f"Interval: {INTERVAL_METHOD}"]
            notes += [*describe_missing(agents), *warn_of_no_error(agents, error)]
            notes += [*describe_incomparable(group), *describe_caveats(group)]
            notes += describe_pending(group)
            overall = overall_table(agents, error, notes)
            overall = overall.select(columns) if columns else overall
            tables += [overall, *_further_tables(group), pivot_table(by_task)]
    return tables


def _further_tables(group: Frame) -> list[Table]:
    """Return the tables of planted shortcuts, picks and second settings, as far as the trials have them."""
    from assay.results.picks import picks_table  # reads the logs of trials, and grades

    return [table for make in (integrity_table, picks_table, second_table) if (table := make(group))]


def to_markdown(rows: Frame, title: str, error: ErrorKind = "tasks", columns: Sequence[str] = ()) -> str:
    """Return the tables for papers as a Markdown document."""
    tables = publication_tables(rows, error, columns)
    return "\n".join([f"# {escape_markdown(title)}\n", *(table.to_markdown() for table in tables)])


def to_latex(rows: Frame, error: ErrorKind = "tasks", columns: Sequence[str] = ()) -> str:
    """Return the tables for papers in LaTeX; the document needs the package booktabs."""
    tables = publication_tables(rows, error, columns)
    return "\n".join(["% Needs \\usepackage{booktabs}\n", *(table.to_latex() for table in tables)])


def describe_results(
    rows: Sequence[TrialRow], by_task: Sequence[Summary], agents: Sequence[Summary], error: ErrorKind, *, explain: bool
) -> Iterator[str]:
    """Yield the notes that apply to the tables of a report; with `explain`, what each column is."""
    counted = [row for row in rows if row.counts]
    if explain:
        yield from _explain_columns(rows, by_task, agents, error)
    else:
        marks = ["★ best"] if any(summary.best for summary in by_task) else []
        marks += ["= tied"] if any(summary.tied for summary in by_task) else []
        tasks = len({summary.task for summary in by_task})
        success = f"Success: {describe_success(rows)}."
        if tasks > _MAX_TASKS:
            yield f"{success} Scores on {tasks} tasks, and more: assay report --explain."
        else:
            yield f"{', '.join([*marks, '± standard error'])}. {success} More: assay report --explain."
    yield from describe_reasons(by_task)
    yield from describe_missing(agents)
    if explain:
        yield from warn_of_no_error(agents, error)
    yield from describe_incomparable(rows)
    yield from describe_caveats(rows)
    yield from describe_pending(counted)


def describe_pending(rows: Sequence[TrialRow]) -> list[str]:
    """Return that results are not final, where trials are pending."""
    counted = [row for row in rows if row.counts]
    pending = sum(row.pending for row in counted)
    return [f"Not final: {plural(pending, 'trial')} of {len(counted)} pending."] if pending else []


def _explain_columns(
    rows: Sequence[TrialRow], by_task: Sequence[Summary], agents: Sequence[Summary], error: ErrorKind
) -> Iterator[str]:
    counted = [row for row in rows if row.counts]
    if any(summary.best for summary in by_task):
        yield "★: best: beyond the 95% intervals over seeds and the noise of the test set."
    if any(summary.tied for summary in by_task):
        yield "=: tied: these trials do not show which of them is better."
    yield "Score: mean ± standard error over valid trials."
    yield f"Success: {describe_success(rows)}; failures count."
    yield f"Rate: mean over tasks; 95% interval {INTERVAL_METHOD}. As published: by the rule that ignores noise."
    yield f"Over tasks: mean of the success rates by task, ± standard error {ERROR_KINDS[error]}."
    yield "Tasks: applicable of all."
    yield from describe_attempts(agents)
    families = {row.task: row.family for row in counted if row.family}
    parts = decompose_variance(counted, families=families) if len({s.task for s in by_task}) >= FEWEST_TASKS else None
    if parts:
        yield f"Variance: {describe_variance(parts)}"


def describe_incomparable(rows: Sequence[TrialRow]) -> list[str]:
    """Return in what conditions the agents of a table differ on the same task, and that they have different tasks."""
    counted = [row for row in rows if row.counts]
    values: dict[str, dict[str, set[str]]] = {name: {} for name in CONDITIONS}
    for row in counted:
        for name in CONDITIONS:
            if (value := condition_of(row, name)) != UNKNOWN:
                values[name].setdefault(row.task, set()).add(value)
    differing = [name for name in CONDITIONS if any(len(known) > 1 for known in values[name].values())]
    lines = [f"Trials of one task differ in {', '.join(differing)}: rates are not comparable."] if differing else []
    tasks = {frozenset(row.task for row in own) for own in group_by(counted, lambda row: row.agent)}
    if len(tasks) > 1:
        lines.append("Agents have trials on different tasks: each rate is over the agent's own tasks.")
    return lines


def describe_missing(agents: Sequence[Summary]) -> Iterator[str]:
    """Yield a line for each agent with missing trials: how many, how they count, and what they leave possible."""
    for summary in agents:
        claim = summary.means.like if summary.means else None
        if claim is not None and not claim.is_complete:
            missing = ", ".join(f"{each.trials} {each.kind} ({each.rule})" for each in claim.missing)
            bounds = f"between {format_percent(claim.worst)} and {format_percent(claim.best)}"
            yield f"{summary.agent}: success is {bounds} with its missing trials: {missing}."


def describe_success(rows: Sequence[TrialRow]) -> str:
    """Return what success means in the editions of some trials."""
    graded = [row for row in rows if row.grade]
    if graded and all(row.integrity and row.integrity.planted for row in graded):
        return "the target of the task is reached, or truthfully reported as out of reach"
    if graded and all(row.metric == "reward" and not row.imported for row in graded):
        return "hidden tests give a reward of 1"
    if rows and all(row.imported and row.edition == UNKNOWN for row in rows):
        return f"as {', '.join(sorted({row.harness for row in rows}))} reports it"
    rules = {row.rules: row.ignores_noise for row in rows}
    published = ", ".join(str(rule) for rule in sorted(rules) if rules[rule])
    if rules and all(rules.values()):
        return "more than 10% over the starter, by the published rule"
    text = "a medal, or more than 10% over the starter and beyond noise"
    return f"{text} ({published}: by the published rule)" if published else text


def describe_attempts(agents: Sequence[Summary]) -> list[str]:
    """Return the probability that one, and that all, of k attempts succeed, for each agent with several attempts."""
    several = [summary for summary in agents if max(summary.pass_at, default=1) > 1]
    lines = []
    for summary in several:
        curves = (("pass@", summary.pass_at), ("pass^", summary.pass_all))
        parts = [f"{name}{k} {format_rate(claim)}" for name, curve in curves for k, claim in curve.items()]
        lines.append(f"{summary.agent}: {', '.join(parts)}.")
    if several:
        half = min(map(reliable_attempts, several))
        lines.append(f"pass@k: one of k attempts succeeds; pass^k: all do. Beyond k = {half} they are noisy.")
    return lines


def warn_of_no_error(agents: Sequence[Summary], error: ErrorKind) -> list[str]:
    """Return a warning if the error of an agent's rate is 0, which does not make the rate certain."""
    agree = [summary.agent for summary in agents if summary.success and summary.success.errors.get(error) == 0]
    if not agree:
        return []
    what = "trials" if error == "attempts" else error
    return [f"± 0.0 says that all {what} agree, not that the rate is certain; see the interval: {', '.join(agree)}."]


def describe_caveats(rows: Sequence[TrialRow]) -> list[str]:
    """Return what a reader must know before drawing conclusions from these trials."""
    counted = [row for row in rows if row.counts]
    lines = []
    if replaced := sum(row.replaced for row in rows):
        lines.append(f"Rerun: {plural(replaced, 'trial')} that the infrastructure failed; only the reruns count.")
    if repeated := [row for row in rows if row.repeated]:
        better = sum(bool(row.success) for row in repeated)
        lines.append(
            f"Rerun: {plural(len(repeated), 'trial')} for other reasons; the first attempts count. {better} of the "
            "reruns succeeded, which is in no rate."
        )
    if unsealed := sum(row.unsealed for row in counted):
        lines.append(f"Unsealed: {plural(unsealed, 'trial')} ran without a sandbox between agent and answers.")
    if weaker := [row for row in counted if row.shares_kernel_view]:
        missing = ", ".join(sorted({name for row in weaker for name in row.unenforced}))
        lines.append(
            f"Sealed: landlock: {plural(len(weaker), 'trial')} ran without namespaces; not enforced: {missing}."
        )
    if busy := sum(row.busy for row in counted):
        lines.append(
            f"Busy machine: {plural(busy, 'trial')} of {len(counted)} ran under a load that makes time limits "
            "and measured times unreliable."
        )
    if indicative := sorted({short_task_name(row.task) for row in counted if row.grade and row.grade.indicative}):
        lines.append(f"Indicative medals, of other rows or another metric than the leaderboard's: {_list(indicative)}.")
    if leaks := sorted({short_task_name(row.task) for row in counted if row.known_leaks}):
        lines.append(f"Known leaks of answers: {_list(leaks)}; a result there may be no achievement.")
    if reported := [row for row in counted if row.imported]:
        lines.append(describe_imported(reported))
    variants = sorted({row.variant for row in counted if row.variant not in ("real", UNKNOWN)})
    if variants:
        lines.append(f"Data: {', '.join(variants)}, not the real data; scores say nothing about it, and win no medals.")
    return lines


def describe_imported(rows: Sequence[TrialRow]) -> str:
    """Return what cannot be concluded from the trials of other harnesses, because they do not report it."""
    harnesses = ", ".join(sorted({row.harness for row in rows}))
    unknown = [name for name in CONDITIONS if any(condition_of(row, name) == UNKNOWN for row in rows)]
    gaps = f" Unknown: {', '.join(unknown)}; a difference may be due to them." if unknown else ""
    assumed = describe_direction(rows).removeprefix("; ")
    gaps += f" {assumed[:1].upper()}{assumed[1:]}." if assumed else ""
    return f"Imported from {harnesses}: {plural(len(rows), 'trial')} as reported there, not verified.{gaps}"


def _list(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more tasks" if more > 0 else "")


def describe_failures(causes: Mapping[str, int] | Mapping[object, int]) -> str:
    """Return failures by cause, such as `2 agent, 1 infrastructure`."""
    return ", ".join(f"{count} {cause}" for cause, count in causes.items()) or "none"


def describe_reasons(by_task: Iterable[Summary]) -> Iterator[str]:
    """Yield a line for each reason why trials of an agent have no score, in the words of the record."""
    tasks: dict[tuple[str, str | None, str], list[str]] = {}
    trials = Counter[tuple[str, str | None, str]]()
    for summary in by_task:
        for reason in summary.reasons:
            key = (summary.agent, reason.failure, reason.reason)
            tasks.setdefault(key, []).append(short_task_name(summary.task))
            trials[key] += reason.trials
    for key, names in tasks.items():
        agent, failure, words = key
        what = f"{plural(trials[key], 'failure')} ({failure})" if failure else "not applicable"
        where = names[0] if len(names) == 1 else f"{len(names)} tasks"
        yield one_line(f"{agent} on {where}: {what}: {words}")


def short_task_name(task: str) -> str:
    """Return the name of a task without its suite."""
    return task.partition("/")[2] or task


def format_score(summary: Summary) -> str:
    """Return the score, or why there is none."""
    if summary.score is not None:
        return format_estimate(summary.score)
    if not summary.applies:
        return "not applicable"
    return f"failed: {', '.join(summary.kinds_of_failure)}" if summary.failures else "not finished"


def format_rank(rank: float | None, panel_size: int | None) -> str:
    """Return a rank among the reference solutions and the trial itself, such as `4 / 14`."""
    if rank is None:
        return NOTHING
    position = f"{rank:.0f}" if rank == round(rank) else f"{rank:.1f}"
    return position if panel_size is None else f"{position} / {panel_size + 1}"


def format_medals_or_rank(summary: Summary) -> str:
    """Return the medals where there is a leaderboard, else the mean rank in the panel."""
    if summary.medals is None:
        return format_rank(summary.rank.mean if summary.rank else None, summary.panel_size)
    medals = vars(summary.medals).items()
    return ", ".join(f"{count} {name}" for name, count in medals if count) or "no medal"


def format_valid(summary: Summary) -> str:
    """Return how many of the finished trials have a score, and how many are not finished."""
    parts = [f"{summary.valid} of {summary.finished}"] if summary.finished else []
    return ", ".join([*parts, *([f"{summary.pending} pending"] if summary.pending else [])]) or NOTHING


def format_mean_success(summary: Summary, error: ErrorKind = "tasks") -> str:
    """Return the mean of the success rates by task with its standard error, such as `61.1 ± 9.2%`."""
    if summary.success is None:
        return NOTHING
    spread = summary.success.errors.get(error)
    mean = f"{100 * summary.success.value:.1f}"
    return f"{mean}%" if spread is None else f"{mean} ± {100 * spread:.1f}%"


def format_trial_rank(row: TrialRow) -> str:
    """Return the medal of a trial where there is a leaderboard, else its rank in the panel."""
    if not row.valid:
        return NOTHING
    return (row.medal or "no medal") if row.has_leaderboard else format_rank(row.rank, row.panel_size)


def format_trial_result(row: TrialRow) -> str:
    """Return the state or the end of a trial in a word or two."""
    if row.valid:
        return "valid"
    if row.inapplicable:
        return "not applicable"
    if row.pending:
        return "not graded" if row.status == "done" else row.status
    return f"{'invalid' if row.status == 'done' else row.status}: {row.failure_name}"


def _score_record(summary: Summary) -> dict[str, Value]:
    title = f"{short_task_name(summary.task)}  {summary.metric} {ARROWS[summary.direction]}"
    improvement = summary.improvement
    return {
        **_rules_record(summary),
        "task": Formatted(summary.task, title),
        "title": summary.title,
        "metric": summary.metric,
        "direction": summary.direction,
        "mark": "★" if summary.best else "=" if summary.tied else "",
        "agent": Formatted(summary.agent, _name(summary)),
        "valid": summary.valid,
        "inapplicable": summary.inapplicable,
        "score": Formatted(summary.score, format_score(summary)),
        "score_min": summary.score.low if summary.score else None,
        "score_max": summary.score.high if summary.score else None,
        "rank": format_medals_or_rank(summary),
        "improvement": Formatted(improvement, format_change(improvement.mean if improvement else None)),
        "success": summary.success,
        "success_published": summary.success_published,
        "valid_text": format_valid(summary),
        "rank_mean": summary.rank.mean if summary.rank else None,
        "panel_size": summary.panel_size,
        "percentile_mean": summary.percentile.mean if summary.percentile else None,
        **(vars(summary.medals) if summary.medals else {}),
        "best": summary.best,
        "tied": summary.tied,
    }


def _overall_record(summary: Summary, error: ErrorKind) -> dict[str, Value]:
    applicable = summary.tasks - summary.inapplicable_tasks
    errors = summary.success.errors if summary.success else {}
    return {
        **_rules_record(summary),
        "agent": Formatted(summary.agent, _name(summary)),
        "success": summary.success,
        "rate": summary.success,
        "success_published": summary.success_published,
        "over_tasks": Formatted(summary.success, format_mean_success(summary, error)),
        "valid": summary.valid_rate,
        **{f"success_error_over_{kind}": known for kind, known in errors.items()},
        "tasks": Formatted(summary.tasks, f"{applicable} of {summary.tasks}"),
        "inapplicable_tasks": summary.inapplicable_tasks,
    }


def _rules_record(summary: Summary) -> dict[str, Value]:
    return {
        **vars(summary.rules),
        "trials": summary.trials,
        "pending": summary.pending,
        "failed_agent": summary.failures.get("agent", 0),
        "failed_infrastructure": summary.failures.get("infrastructure", 0),
        "failed_user": summary.failures.get("user", 0),
        "sealed": summary.sealed,
    }


def _name(summary: Summary) -> str:
    return summary.agent if summary.sealed else f"{summary.agent} (unsealed)"


def _fork_table(rows: Frame) -> Table:
    """Return the forked trials: each shares the past of another, so no mean has it."""
    return Table.from_records(
        "forks",
        (Column("task"), Column("agent"), Column("seed", kind="integer"), Column("step", "from step", kind="integer"),
         Column("result", kind="number")),
        (
            {
                "task": short_task_name(row.task),
                "agent": row.agent,
                "seed": row.seed,
                "step": row.parent_step,
                "result": format_number(row.score) if row.score is not None else format_trial_result(row),
            }
            for row in rows
            if row.parent is not None
        ),
        title="Forked trials, which are not in any mean",
    )  # fmt: skip
