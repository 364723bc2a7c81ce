"""How familiar a model is with a text: the mean probability that it gives to the text's tokens, one after another.

As in the published study: at positions drawn at random, the model sees all preceding text, and the probability of the
token that follows is read from its most likely tokens; a token that is not among them counts 0. Texts that a model has
read often have a high familiarity; whether that helps agents shows in the correlation with their performance.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

import anyio

from assay.core.errors import PromptTooLong, UsageError
from assay.models import MAIN, Message, Models, ModelSettings, Prices, Sampling, Usage
from assay.results.comparison import Measure, measure_outcome
from assay.results.inference import Interval
from assay.results.statistics import estimate_mean, t_probability
from assay.studies.paired import PairedDifference, compare_arms
from assay.studies.trials import StudyTrial, group_by_agent
from assay.tasks import Task

Kind = Literal["original", "obfuscated", "post"]
TOP = 10
"""How many of the most likely tokens are read, as published."""
CONTINUE = (
    "Continue the text exactly where it stops. Reply with the continuation only, starting with the next character."
)
POST_SUFFIXES = (".txt", ".md", ".html")
MAX_POST = 10**6
CONCURRENT = 8


@dataclass(frozen=True)
class Document:
    """A text about a task: its description, the obfuscated one, or a post about it."""

    task: str
    kind: Kind
    name: str
    text: str


@dataclass(frozen=True)
class Familiarity:
    """The familiarity of a model with one text: the mean over `positions` and its standard error."""

    task: str
    kind: Kind
    name: str
    positions: int
    mean: float
    error: float | None


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation over tasks, with its two-sided p-value and Fisher's 95 % interval."""

    tasks: int
    r: float
    p: float
    interval: Interval


@dataclass(frozen=True)
class TaskPoint:
    """The familiarity of a task and the performance of an agent on it."""

    task: str
    familiarity: float
    performance: float


@dataclass(frozen=True)
class AgentCorrelation:
    """How an agent's performance goes with familiarity; no correlation where either does not vary."""

    agent: str
    points: tuple[TaskPoint, ...]
    correlation: Correlation | None


@dataclass(frozen=True)
class FamiliarityStudy:
    """The familiarity of a model with each text, original against obfuscated, and the correlations with performance."""

    model: str
    documents: tuple[Familiarity, ...]
    difference: PairedDifference | None
    agents: tuple[AgentCorrelation, ...]
    left_out: tuple[str, ...]
    usage: Usage


def collect_documents(tasks: Sequence[Task], posts: Path | None) -> list[Document]:
    """Return the descriptions of tasks and, from the subfolder of `posts` with a task's name, the posts about it."""
    documents = []
    for task in tasks:
        documents.append(Document(task.id, "original", "description", task.description))
        if task.obfuscated is not None:
            documents.append(Document(task.id, "obfuscated", "obfuscated", task.obfuscated))
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
    found: dict[int, Familiarity] = {}
    async with Models({MAIN: model}, settings, prices=Prices()) as models:
        models.check()
        meter = _Meter(models, chat=not local)
        # A local model computes one request at a time, and continues what it computed for the same text.
        limit = anyio.CapacityLimiter(1 if local else CONCURRENT)

        async def measure(number: int, document: Document) -> None:
            async with limit:
                draw = random.Random(f"{seed} {document.task} {document.kind} {document.name}")
                values = await meter.measure_text(document.text, positions, length, draw)
            if values:
                estimate = estimate_mean(values)
                assert estimate is not None
                found[number] = Familiarity(
                    document.task, document.kind, document.name, len(values), estimate.mean, estimate.error
                )
            advance()

        try:
            async with anyio.create_task_group() as group:
                for number, document in enumerate(documents):
                    group.start_soon(measure, number, document)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
    return [found[number] for number in sorted(found)], meter.usage


class _Meter:
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
    """Return where each token begins and ends in the text, in characters; parts of a character are left out."""
    found, before, characters = [], b"", 0
    for token in tokens:
        try:
            size = len((before + token).decode())
        except UnicodeDecodeError:
            before += token
            continue
        if not before:
            found.append((characters, characters + size))
        before, characters = b"", characters + size
    return found


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return where each word begins, with the space before it, and ends: tokens of most models begin there too."""
    return [found.span() for found in re.finditer(r"\s*\S+", text)]


def study_familiarity(
    model: str, documents: Sequence[Familiarity], usage: Usage, trials: Sequence[StudyTrial], measure: Measure
) -> FamiliarityStudy:
    """Compare descriptions, and correlate familiarity with the performance in some trials, if there are any."""
    agents, left_out = correlate_trials(task_familiarity(documents), trials, measure) if trials else ([], [])
    return FamiliarityStudy(
        model, tuple(documents), compare_descriptions(documents), tuple(agents), tuple(left_out), usage
    )


def compare_descriptions(documents: Iterable[Familiarity]) -> PairedDifference | None:
    """Compare original with obfuscated descriptions, paired by task; None if no task has both."""
    arms: dict[Kind, dict[tuple[str, int], float]] = {"original": {}, "obfuscated": {}, "post": {}}
    for one in documents:
        arms[one.kind][one.task, 0] = one.mean
    if not arms["original"].keys() & arms["obfuscated"].keys():
        return None
    return compare_arms(arms["original"], arms["obfuscated"], ("original", "obfuscated"), rate=False)


def task_familiarity(documents: Iterable[Familiarity]) -> dict[str, float]:
    """Return the familiarity of each task: as published, the mean over its description and the posts about it."""
    values: dict[str, list[float]] = {}
    for one in documents:
        if one.kind != "obfuscated":
            values.setdefault(one.task, []).append(one.mean)
    return {task: fmean(found) for task, found in values.items()}


def correlate_trials(
    familiarity: Mapping[str, float], trials: Sequence[StudyTrial], measure: Measure
) -> tuple[list[AgentCorrelation], list[str]]:
    """Return the correlation for each agent, and the tasks that do not define the measure."""
    left_out: dict[str, None] = {}
    found = []
    for agent, same in group_by_agent(trials).items():
        values: dict[str, list[float]] = {}
        for one in same:
            undefined = measure == "normalized" and one.outcome.sample_score is None
            value = None if undefined else measure_outcome(one.outcome, measure)
            if value is None:
                left_out[one.outcome.task] = None
            elif one.outcome.task in familiarity:
                values.setdefault(one.outcome.task, []).append(value)
        points = tuple(
            TaskPoint(task, familiarity[task], fmean(some)) for task, some in values.items() if task not in left_out
        )
        pairs = [(point.familiarity, point.performance) for point in points]
        found.append(AgentCorrelation(agent, points, correlate(pairs)))
    if not any(one.points for one in found):
        raise UsageError(f"No task of these trials has a description here and defines {measure}; try another --measure")
    return found, list(left_out)


def correlate(pairs: Sequence[tuple[float, float]]) -> Correlation | None:
    """Return Pearson's correlation of pairs; None with fewer than four of them, or where one side does not vary."""
    n = len(pairs)
    if n < 4:
        return None
    x_mean, y_mean = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    xx, yy = math.fsum((x - x_mean) ** 2 for x, _ in pairs), math.fsum((y - y_mean) ** 2 for _, y in pairs)
    if not xx or not yy:
        return None
    r = math.fsum((x - x_mean) * (y - y_mean) for x, y in pairs) / math.sqrt(xx * yy)
    r = min(max(r, -1.0), 1.0)
    if abs(r) == 1:
        return Correlation(n, r, 0.0, Interval(r, r))
    t = abs(r) * math.sqrt((n - 2) / (1 - r * r))
    reach = 1.959964 / math.sqrt(n - 3)
    interval = Interval(math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))
    return Correlation(n, r, 1 - t_probability(t, n - 2), interval)


def _read_post(task: Task, path: Path) -> Document:
    with path.open("rb") as file:
        content = file.read(MAX_POST + 1)
    if len(content) > MAX_POST:
        raise UsageError(f"{path} is larger than {MAX_POST:,} bytes; is it a post?")
    return Document(task.id, "post", path.name, content.decode(errors="replace"))
