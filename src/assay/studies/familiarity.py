"""How familiar a model is with a text: the mean probability that it gives to the text's tokens, one after another.

As in the published study: at positions sampled at random, the model sees all preceding text, and the probability of
the token that follows is read from its most likely tokens; a token that is not among them counts 0. Texts that a model
has read often have a high familiarity; whether that helps agents shows in the correlation with their performance.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from statistics import NormalDist, correlation, fmean, linear_regression
from typing import Literal, get_args

import anyio
import numpy as np
from numpy.typing import NDArray
from pydantic import DirectoryPath

from assay.core.errors import PromptTooLong, UsageError
from assay.core.figure import Axis, Figure, Key
from assay.core.progress import stage
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.models import MAIN, Message, Models, ModelSettings, Prices, Sampling, Usage
from assay.records import RunFolder
from assay.results.ability import rank_values
from assay.results.estimate import estimate_mean
from assay.results.frame import TrialRow
from assay.results.inference import Interval, holm_allowances
from assay.results.measures import Measure, measure_trial
from assay.results.paired import Experiment, PairedDifference, compare_arms
from assay.runs.descriptions import read_own_description
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.trials import group_by_agent, read_study_trials
from assay.tasks import Task

Kind = Literal["original", "obfuscated", "post"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TOP = 10
"""How many of the most likely tokens are read, as published."""
CONTINUE = (
    "Continue the text exactly where it stops. Reply with the continuation only, starting with the next character."
)
POST_SUFFIXES = (".txt", ".md", ".html")
MAX_POST = 10**6
CONCURRENT = 8
MIN_TASKS = 4
MIN_RELIABILITY = 0.5
_PERMUTATIONS = 10_000


@dataclass(frozen=True)
class Document:
    """A text about a task: its description, the obfuscated one, or a post about it."""

    task: str
    kind: Kind
    name: str
    text: str


@dataclass(frozen=True)
class Familiarity:
    """The familiarity of a model with one text: the mean over `positions`, its standard error, and the means of halves.

    The halves are every other position, so that they show how much of the mean is measurement error.
    """

    task: str
    kind: Kind
    name: str
    positions: int
    mean: float
    error: float | None
    halves: tuple[float, float] | None = None


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation over tasks, the p-value of its permutation test, and an interval that agrees with it.

    The interval and `p_adjusted` allow for the other agents by Holm's method. `corrected` is what the correlation would
    be if familiarity were measured without error; None where its reliability is 0 or not known.
    """

    tasks: int
    r: float
    p: float
    interval: Interval
    p_adjusted: float
    corrected: float | None = None


@dataclass(frozen=True)
class TaskPoint:
    """The familiarity of a task and the performance of an agent on it."""

    task: str
    familiarity: float
    performance: float


@dataclass(frozen=True)
class AgentCorrelation:
    """How an agent's performance correlates with familiarity; no correlation where either does not vary."""

    agent: str
    points: tuple[TaskPoint, ...]
    correlation: Correlation | None


class FamiliaritySettings(StudySettings):
    """Whose familiarity with which texts, and the performance that it is correlated with."""

    model: str = option(..., "Whose familiarity; it needs log probabilities.", metavar="PROVIDER/MODEL")
    posts: DirectoryPath | None = option(
        None, "Posts about the tasks that you have: DIR/TASK/*.txt, *.md or *.html.", metavar="DIR"
    )
    descriptions: DirectoryPath | None = option(
        None,
        "Descriptions to use instead of the tasks' own, as for assay run; with TASK/description_obfuscated.md.",
        metavar="DIR",
    )
    runs: tuple[DirectoryPath, ...] = option(
        (), "A finished run to correlate with. Can be repeated.", metavar="RUN", flag="--run"
    )
    measure: Literal["normalized", "success", "valid", "percentile", "improvement"] = option(
        "normalized",
        "Performance: by default the score between that of the sample submission and that of the gold medal.",
    )
    positions: int = option(100, "Tokens per text whose probability is read.", ge=1)
    length: int = option(1000, "Tokens per text that are sampled from.", ge=2)
    seed: int = option(0, "Seed of the positions.")


def run(source: StudyInput, settings: FamiliaritySettings) -> StudyResult:
    """Compare descriptions, and correlate familiarity with the performance in runs, if there are any."""
    tasks = source.registry.select_all(source.names or ("mlebench",))
    trials = read_study_trials([RunFolder(path) for path in settings.runs]) if settings.runs else []
    documents = collect_documents(tasks, settings.posts, settings.descriptions)
    with stage(f"Reading {plural(len(documents), 'text')}", len(documents)) as advance:

        async def measure_all() -> tuple[list[Familiarity], Usage]:
            return await measure_documents(
                settings.model,
                documents,
                positions=settings.positions,
                length=settings.length,
                seed=settings.seed,
                advance=lambda: advance(1),
            )

        measured, usage = anyio.run(measure_all)
    reliability = measure_reliability(measured)
    agents, undefined = (
        correlate_trials(task_familiarity(measured), trials, settings.measure, reliability) if trials else ([], [])
    )
    cost = "" if usage.cost is None else f", {usage.cost:.4g} dollars"
    positions = sum(document.positions for document in measured)
    sentences = [f"{settings.model}: {plural(len(measured), 'text')}, {positions:,} positions{cost}"]
    if difference := compare_descriptions(measured):
        claim = difference.claim
        original, hidden = claim.parts or (0.0, 0.0)
        interval = f"{claim.low:+.3f} to {claim.high:+.3f}"
        text = (
            f"Original {original:.3f}, obfuscated {hidden:.3f}: difference {claim.value:+.3f}, "
            f"95% interval {interval}, p = {claim.p_adjusted:.3f}"
        )
        sentences.append(f"{text.replace('-', '−')}, {plural(difference.pairs, 'task')}")
    sentences += _describe_reliability(reliability)
    sentences += [_describe_correlation(agent, settings.measure) for agent in agents]
    if undefined:
        sentences.append(f"Excluded, because they do not define {settings.measure}: {', '.join(undefined)}.")
    tables = [_make_task_table(measured), _make_text_table(measured, usage)]
    if agents:
        tables += _make_agent_tables(agents, settings.measure)
    figure = _draw_agents(agents, settings.measure) if agents else _draw_descriptions(measured)
    return StudyResult(sentences, tables, [figure])


def _describe_correlation(agent: AgentCorrelation, measure: str) -> str:
    known = agent.correlation
    if known is None:
        tasks = plural(len(agent.points), "task")
        return f"{agent.agent}: no correlation with {measure} on {tasks}; it needs four that vary"
    interval = f"{known.interval.low:+.2f} to {known.interval.high:+.2f}"
    r = f"r = {known.r:+.2f}, 95% interval {interval}, p = {known.p_adjusted:.3f}"
    if known.corrected is not None:
        r += f"; {known.corrected:+.2f} corrected for measurement error"
    return f"{agent.agent}: rank correlation with {measure} {r.replace('-', '−')}, {plural(known.tasks, 'task')}"


def _describe_reliability(reliability: float | None) -> list[str]:
    if reliability is None:
        return []
    sentence = f"Reliability of familiarity over tasks: {reliability:.2f} (split halves)"
    if reliability < MIN_RELIABILITY:
        sentence += (
            "; most differences between tasks are measurement error, which hides correlations: use more positions"
        )
    return [f"{sentence}."]


def _make_task_table(documents: "Sequence[Familiarity]") -> Table:
    kinds = [kind for kind in KINDS if any(document.kind == kind for document in documents)]
    means: dict[str, dict[str, list[float]]] = {}
    for document in documents:
        means.setdefault(document.task, {}).setdefault(document.kind, []).append(document.mean)
    columns = (Column("task"), *(Column(kind, kind="number") for kind in kinds))
    rows = [
        (task, *(fmean(by_kind[kind]) if kind in by_kind else None for kind in kinds))
        for task, by_kind in means.items()
    ]
    return Table("tasks", columns, tuple(rows), notes=("Mean probability of the next token.",))


def _make_text_table(documents: "Sequence[Familiarity]", usage: Usage) -> Table:
    columns = (
        Column("task"),
        Column("kind"),
        Column("name"),
        Column("positions", kind="integer"),
        Column("mean", kind="number"),
        Column("error", "±", kind="number"),
    )
    return Table.from_records("texts", columns, map(vars, documents), extra={"usage": usage.model_dump()})


def _make_agent_tables(agents: "Sequence[AgentCorrelation]", measure: str) -> list[Table]:
    columns = (
        Column("agent"),
        Column("tasks", kind="integer"),
        Column("r", kind="number"),
        Column("low", kind="number"),
        Column("high", kind="number"),
        Column("corrected", kind="number"),
        Column("p", kind="p"),
        Column("p_adjusted", "p (Holm)", kind="p"),
    )
    rows = [
        (
            *(agent.agent, known.tasks, known.r, known.interval.low, known.interval.high),
            *(known.corrected, known.p, known.p_adjusted),
        )
        for agent in agents
        if (known := agent.correlation)
    ]
    point_columns = (
        Column("agent", heading=True),
        Column("task"),
        Column("familiarity", kind="number"),
        Column("performance", measure, "number"),
    )
    points = [
        (agent.agent, point.task, point.familiarity, point.performance) for agent in agents for point in agent.points
    ]
    return [Table("correlations", columns, tuple(rows)), Table("performance", point_columns, tuple(points))]


def _draw_agents(agents: "Sequence[AgentCorrelation]", measure: str) -> Figure:
    """Return performance over familiarity, a dot per task and a line of least squares per agent."""
    figure = Figure(
        "familiarity",
        f"Performance over familiarity, {plural(len(agents), 'agent')}",
        x=Axis("familiarity"),
        y=Axis(f"performance ({measure})"),
        legend=[Key(_describe_correlation(agent, measure).partition(", 95%")[0], n) for n, agent in enumerate(agents)],
    )
    for color, agent in enumerate(agents):
        for point in agent.points:
            figure.dot(point.familiarity, point.performance, color=color, style="faint", hover=point.task)
        known = [point.familiarity for point in agent.points]
        if agent.correlation and len(known) > 1:
            values = [point.performance for point in agent.points]
            slope, start = linear_regression(known, values)
            figure.line([(x, start + slope * x) for x in (min(known), max(known))], color=color, style="dashed thin")
    return figure


def _draw_descriptions(documents: "Sequence[Familiarity]") -> Figure:
    """Return the familiarity of each task's obfuscated description over that of the original; equal on the line."""
    values = {(document.task, document.kind): document.mean for document in documents}
    tasks = [task for task, kind in values if kind == "original" and (task, "obfuscated") in values]
    high = 1.05 * max([0.1, *values.values()])
    figure = Figure(
        "familiarity",
        f"Familiarity of original and obfuscated descriptions, {plural(len(tasks), 'task')}",
        x=Axis("familiarity of the original description", low=0.0, high=high),
        y=Axis("of the obfuscated description", low=0.0, high=high),
        width=360,
    )
    figure.line([(0.0, 0.0), (high, high)], style="muted dashed thin")
    for task in tasks:
        figure.dot(values[task, "original"], values[task, "obfuscated"], color=0, style="faint", hover=task)
    return figure


def collect_documents(tasks: Sequence[Task], posts: Path | None, descriptions: Path | None = None) -> list[Document]:
    """Return the descriptions of tasks and, from the subfolder of `posts` with a task's name, the posts about it.

    With a folder of `descriptions`, those are used instead of the tasks' own.
    """
    documents = []
    for task in tasks:
        plain, obfuscated = task.description, task.obfuscated
        if descriptions:
            plain = read_own_description(task, descriptions)
            obfuscated = read_own_description(task, descriptions, "obfuscated")
        documents.append(Document(task.id, "original", "description", plain))
        if obfuscated is not None:
            documents.append(Document(task.id, "obfuscated", "obfuscated", obfuscated))
        folders = [posts / task.name, posts / task.suite / task.name] if posts else []
        files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
        documents += [_read_post(task, path) for path in files if path.suffix in POST_SUFFIXES and path.is_file()]
    if posts and not any(document.kind == "post" for document in documents):
        raise UsageError(f"{posts} has no posts about these tasks; expected {tasks[0].name}/*.txt, *.md or *.html")
    return [document for document in documents if document.text.strip()]


async def measure_documents(
    model: str,
    documents: Sequence[Document],
    *,
    positions: int,
    length: int,
    seed: int,
    settings: ModelSettings | None = None,
    advance: Callable[[], None] = lambda: None,
) -> tuple[list[Familiarity], Usage]:
    """Return the familiarity of a model with each document, and what was used; `advance` is called after each.

    At most `positions` of the first `length` tokens of a document are drawn, with a generator of its own.
    """
    local = model.startswith("local/")
    settings = settings or ModelSettings()
    if local:
        settings = settings.model_copy(update={"options": {**settings.options, "template": "none"}})
    measured: dict[int, Familiarity] = {}
    async with Models({MAIN: model}, settings, prices=Prices()) as models:
        models.check()
        reader = _Reader(models, chat=not local)
        # A local model computes one request at a time, and continues what it computed for the same text.
        limit = anyio.CapacityLimiter(1 if local else CONCURRENT)

        async def measure(number: int, document: Document) -> None:
            async with limit:
                draw = random.Random(f"{seed} {document.task} {document.kind} {document.name}")
                values = await reader.measure_text(document.text, positions, length, draw)
            if values:
                estimate = estimate_mean(values)
                assert estimate is not None
                halves = (fmean(values[::2]), fmean(values[1::2])) if len(values) > 1 else None
                measured[number] = Familiarity(
                    document.task, document.kind, document.name, len(values), estimate.mean, estimate.error, halves
                )
            advance()

        try:
            async with anyio.create_task_group() as group:
                for number, document in enumerate(documents):
                    group.start_soon(measure, number, document)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
    return [measured[number] for number in sorted(measured)], reader.usage


class _Reader:
    """Reads probabilities of tokens from a model."""

    def __init__(self, models: Models, *, chat: bool) -> None:
        self.usage = Usage.zero()
        self._models, self._chat = models, chat

    async def measure_text(self, text: str, positions: int, length: int, draw: random.Random) -> list[float]:
        """Return the probability of the token at each of some positions."""
        tokens = await self._models.split_tokens(MAIN, text)
        spans = word_spans(text) if tokens is None else token_spans(tokens)
        candidates = [span for span in spans if span[0]][: length - 1]  # the first token has no preceding text
        values = []
        for start, end in sorted(draw.sample(candidates, min(positions, len(candidates)))):
            try:
                top = await self._ask(text[:start])
            except PromptTooLong:
                break  # those further on are longer still
            values.append(find_prefix(top, text[start:]) if tokens is None else find_token(top, text[start:end]))
        return values

    async def _ask(self, prefix: str) -> Mapping[str, float]:
        """Return the log probabilities of the most likely tokens after a text."""
        messages = [Message(role="system", text=CONTINUE)] if self._chat else []
        messages.append(Message(role="user", text=prefix))
        sampling = Sampling(max_tokens=1, temperature=0, top_logprobs=TOP)
        reply = await self._models.ask(MAIN, messages, sampling=sampling)
        self.usage += reply.usage
        if not reply.logprobs:
            raise UsageError(f"{reply.model} returns no log probabilities; choose a model whose provider does")
        return reply.logprobs[0].top


def find_token(top: Mapping[str, float], token: str) -> float:
    """Return the probability of a token, 0 if it is not among the most likely ones."""
    return math.exp(top[token]) if token in top else 0.0


def find_prefix(top: Mapping[str, float], following: str) -> float:
    """Return the probability of the longest token that the following text begins with, or 0.

    This stands in for the token where the provider does not say which it is. A reply in a chat begins without the space
    that a continuation has.
    """
    for rest in (following, following.lstrip()):
        fitting = [token for token in top if token and rest.startswith(token)]
        if fitting:
            return math.exp(top[max(fitting, key=len)])
    return 0.0


def token_spans(tokens: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return where each token begins and ends in the text, in characters; parts of a character are excluded."""
    spans, before, characters = [], b"", 0
    for token in tokens:
        try:
            size = len((before + token).decode())
        except UnicodeDecodeError:
            before += token
            continue
        if not before:
            spans.append((characters, characters + size))
        before, characters = b"", characters + size
    return spans


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return where each word begins, with the space before it, and ends: tokens of most models begin there too."""
    return [match.span() for match in re.finditer(r"\s*\S+", text)]


def compare_descriptions(documents: Iterable[Familiarity]) -> PairedDifference | None:
    """Compare original with obfuscated descriptions, paired by task; None if no task has both."""
    arms: dict[Kind, dict[tuple[str, int], float]] = {"original": {}, "obfuscated": {}, "post": {}}
    for document in documents:
        arms[document.kind][document.task, 0] = document.mean
    if not arms["original"].keys() & arms["obfuscated"].keys():
        return None
    return compare_arms([Experiment(arms["original"], arms["obfuscated"], ("original", "obfuscated"))])[0]


def task_familiarity(documents: Iterable[Familiarity]) -> dict[str, float]:
    """Return the familiarity of each task: as published, the mean over its description and the posts about it."""
    values: dict[str, list[float]] = {}
    for document in documents:
        if document.kind != "obfuscated":
            values.setdefault(document.task, []).append(document.mean)
    return {task: fmean(means) for task, means in values.items()}


def measure_reliability(documents: Iterable[Familiarity]) -> float | None:
    """Return how much of the variance of familiarity between tasks is not measurement error.

    It is the correlation r of the halves over tasks, and by Spearman and Brown's formula 2r / (1 + r) for the whole.
    None with fewer than four tasks. Below 0 it is 0.
    """
    halves: dict[str, list[tuple[float, float]]] = {}
    for document in documents:
        if document.kind != "obfuscated" and document.halves:
            halves.setdefault(document.task, []).append(document.halves)
    pairs = [(fmean(a for a, _ in own), fmean(b for _, b in own)) for own in halves.values()]
    if len(pairs) < MIN_TASKS or len({a for a, _ in pairs}) == 1 or len({b for _, b in pairs}) == 1:
        return None
    r = max(correlation(*zip(*pairs, strict=True)), 0.0)
    return 2 * r / (1 + r)


def correlate_trials(
    familiarity: Mapping[str, float], trials: Sequence[TrialRow], measure: Measure, reliability: float | None = None
) -> tuple[list[AgentCorrelation], list[str]]:
    """Return the correlation for each agent, and the tasks that do not define the measure."""
    undefined: dict[str, None] = {}
    agents = []
    for agent, own in group_by_agent(trials).items():
        values: dict[str, list[float]] = {}
        for trial in own:
            unknown = measure == "normalized" and trial.sample_score is None
            value = None if unknown else measure_trial(trial, measure)
            if value is None:
                undefined[trial.task] = None
            elif trial.task in familiarity:
                values.setdefault(trial.task, []).append(value)
        points = tuple(
            TaskPoint(task, familiarity[task], fmean(measured))
            for task, measured in values.items()
            if task not in undefined
        )
        agents.append(AgentCorrelation(agent, points, _correlate_points(points, reliability)))
    if not any(agent.points for agent in agents):
        raise UsageError(f"No task of these trials has a description here and defines {measure}; try another --measure")
    p_values = [agent.correlation.p for agent in agents if agent.correlation]
    allowances = iter(holm_allowances(p_values, len(p_values)))
    allowed = [
        replace(agent, correlation=_correlate_points(agent.points, reliability, next(allowances)))
        if agent.correlation
        else agent
        for agent in agents
    ]
    return allowed, list(undefined)


def _correlate_points(
    points: Sequence[TaskPoint], reliability: float | None, comparisons: int = 1
) -> Correlation | None:
    return correlate([(point.familiarity, point.performance) for point in points], reliability, comparisons)


def correlate(
    pairs: Sequence[tuple[float, float]], reliability: float | None = None, comparisons: int = 1
) -> Correlation | None:
    """Return the rank correlation of pairs; None with fewer than four of them, or where one side does not vary.

    Values that are clipped, such as performance, tie often; ranks and permutations need no assumption about them. The
    limits are those of Fisher's transformation, with the error that gives the p-value of the permutations; where that
    is 1, with √(1.06 / (n − 3)), which is that of normal values.
    """
    n = len(pairs)
    sides = [np.array(side) for side in zip(*pairs, strict=True)]
    if n < MIN_TASKS or any(np.ptp(side) == 0 for side in sides):
        return None
    first, second = (_standardize(rank_values(side)) for side in sides)
    r, normal = float(first @ second), NormalDist()
    p = _permutation_p(first, second, abs(r))
    highest = (n - 1) / (n + 1)  # few tasks on a line are no proof of a perfect correlation
    center = math.atanh(min(max(r, -highest), highest))
    distance = normal.inv_cdf(1 - p / 2)
    error = abs(center) / distance if distance > 1e-9 and center else math.sqrt(1.06 / (n - 3))
    reach = normal.inv_cdf(1 - 0.025 / comparisons) * error
    interval = Interval(min(math.tanh(center - reach), r), max(math.tanh(center + reach), r))
    corrected = min(max(r / math.sqrt(reliability), -1.0), 1.0) if reliability else None
    return Correlation(n, r, p, interval, min(1.0, p * comparisons), corrected)


def _standardize(values: NDArray[np.float64]) -> NDArray[np.float64]:
    away: NDArray[np.float64] = values - values.mean()
    return away / np.linalg.norm(away)


def _permutation_p(first: NDArray[np.float64], second: NDArray[np.float64], observed: float) -> float:
    """Return how often permuted ranks correlate as much: of all permutations if there are few, else of random ones."""
    n = len(first)
    if math.factorial(n) <= _PERMUTATIONS:
        orders = np.array(list(permutations(range(n))))
        return float(np.mean(np.abs(second[orders] @ first) >= observed - 1e-9))
    drawn = np.random.default_rng(0).permuted(np.tile(second, (_PERMUTATIONS, 1)), axis=1)
    return float((np.count_nonzero(np.abs(drawn @ first) >= observed - 1e-9) + 1) / (_PERMUTATIONS + 1))


def _read_post(task: Task, path: Path) -> Document:
    with path.open("rb") as file:
        content = file.read(MAX_POST + 1)
    if len(content) > MAX_POST:
        raise UsageError(f"{path} is larger than {MAX_POST:,} bytes; is it a post?")
    return Document(task.id, "post", path.name, content.decode(errors="replace"))


STUDY = Study(
    name="familiarity",
    summary="Measure how familiar a model is with descriptions, and whether familiarity correlates with performance.",
    settings=FamiliaritySettings,
    run=run,
    reads="tasks",
    description="The mean probability that the model gives to the tokens of a text, given all preceding text, at "
    "positions sampled at random; a token that is not among the ten most likely ones counts 0. Tasks default to "
    "mlebench.",
    examples=(
        "assay study familiarity --model local/smollm2 --positions 20 --length 100",
        "assay study familiarity mlebench:low --model openai/gpt-4o --run runs/first",
        "assay study familiarity --model local/smollm2 --posts posts",
    ),
)
