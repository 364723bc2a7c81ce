"""What happened in trials, as parts of pages that stand alone: the report, and the pages of a board."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.core.errors import RecordError
from assay.models.messages import Message, Tool
from assay.records import Event, State, SubmissionEntry, TrialFile, read_events, read_journal
from assay.records.content_store import ContentStore
from assay.records.events import CallFinished, CallStarted, ModelRequest, ModelResult
from assay.records.prompts import Prompts
from assay.results.frame import TrialRow
from assay.results.search_tree import SearchTree, make_tree
from assay.web.markup import PageBudget, TraceLinks
from assay.web.trace import Trace, make_trace

_MAX_PROMPTS = 3_000_000


@dataclass(frozen=True)
class StoredPrompt:
    """The prompt of a model call: the first `shared` messages of the call `base`, then `messages`.

    `tools` are empty where they are those of `base`. `left_out` says that messages are missing for lack of space.
    """

    number: int
    base: int | None
    shared: int
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    reply: Message | None
    left_out: bool = False


@dataclass(frozen=True)
class TrialPart:
    """A trial with everything that its part of a page shows; `problem` says why its log cannot be read.

    `served` are the names of models as their providers reported them.
    """

    row: TrialRow
    file: TrialFile
    state: State
    submission: SubmissionEntry | None
    trace: Trace
    tree: SearchTree | None
    budget: PageBudget
    links: TraceLinks
    served: tuple[str, ...] = ()
    prompts: tuple[StoredPrompt, ...] = ()
    problem: str | None = None


def make_trial_part(row: TrialRow, budget: PageBudget, prefix: str = "", prompts_page: str | None = None) -> TrialPart:
    """Return a trial; `prefix` makes its ids unique on a page with several trials.

    With `prompts_page`, the address of a page for them, its prompts are included.
    """
    trial = row.record
    assert trial is not None
    folder, links = trial.folder, TraceLinks(prefix=prefix, prompts=prompts_page)
    try:
        events = read_events(folder.events) if folder.events.exists() else []
        trace = make_trace(events, ContentStore(folder.snapshots))
        journal = read_journal(events, row.direction)
        tree = make_tree(journal, folder, row.title, f"{prefix}node") if journal.nodes else None
        entry = folder.submission_entry
        prompts = tuple(_read_prompts(events)) if prompts_page else ()
    except RecordError as error:
        empty = Trace(())
        return TrialPart(row, trial.file, trial.state, None, empty, None, budget, links, problem=str(error))
    served = _find_served(events)
    return TrialPart(row, trial.file, trial.state, entry, trace, tree, budget, links, served, prompts)


def _read_prompts(events: Sequence[Event]) -> Iterator[StoredPrompt]:
    prompts, left = Prompts(events), _MAX_PROMPTS
    for event in events:
        if isinstance(event, CallStarted) and isinstance(event.request, ModelRequest):
            request, number = event.request, event.number
            messages, reply = prompts.messages(number)[request.shared :], prompts.reply(number)
            left -= sum(len(message.text) for message in (*messages, *([reply] if reply else [])))
            kept = (messages, request.tools or (), reply) if left >= 0 else ((), (), None)
            yield StoredPrompt(number, request.base, request.shared, *kept, left_out=left < 0)


def _find_served(events: Iterable[Event]) -> tuple[str, ...]:
    replies = (
        event.result.reply
        for event in events
        if isinstance(event, CallFinished) and isinstance(event.result, ModelResult)
    )
    return tuple(dict.fromkeys(reply.served for reply in replies if reply and reply.served))


def make_trial_parts(rows: Iterable[TrialRow], size: int = 20_000_000) -> Iterator[TrialPart]:
    """Yield all trials for one page; texts are cut shorter once they have `size` characters together."""
    budget = PageBudget(size, highlight=False)
    for number, row in enumerate(rows):
        yield make_trial_part(row, budget, f"t{number}-")
