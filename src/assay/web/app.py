"""Which page is at which address.

    /                                       all runs, or the only one
    /compare?run=RUN&run=RUN                the comparison of some runs
    /leaderboard                            the agents of all runs, grouped by what is comparable
    /run/RUN?suite=&split=&category=…       leaderboard and grid of a run, or of a part of it
    /run/RUN/compare?measure=&baseline=     its agents compared, also with other runs (with=RUN)
    /run/RUN/pair/TRIAL/TRIAL               two trials step by step, side by side
    /run/RUN/curves?measure=&axis=&task=    what each agent had reached over time, steps or cost
    /run/RUN/failures                       failed trials by what they failed by
    /run/RUN/search?q=&from=                trials in which some words occur
    /run/RUN/similar?threshold=             which trials have similar code
    /run/RUN/similar/TRIAL/TRIAL            the code of two trials side by side
    /run/RUN/task/SUITE/TASK                a task and where the trials are among the reference solutions
    /run/RUN/trial/TRIAL                    what happened in a trial, in order
    /run/RUN/trial/TRIAL/prompt/EVENT       the whole prompt of a model call
    /run/RUN/trial/TRIAL/text/EVENT/NUMBER   the whole of a text that the page of the trial cuts
    /run/RUN/trial/TRIAL/files/EVENT        the files of a snapshot
    /run/RUN/trial/TRIAL/files/EVENT/NUMBER  one of them; …/raw downloads it
    /run/RUN/trial/TRIAL/eval               the trial as a log of Inspect, to download
    …/updates                               a message whenever a file of the run or trial changes (server-sent events)

RUN, TRIAL and TASK are looked up among what there is, and never used as parts of a path. There is nothing to write.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from assay.core import values
from assay.core.claim import format_ranks, format_rate
from assay.core.errors import AssayError, MissingDependency
from assay.core.figure import STYLESHEET
from assay.core.quantities import format_size
from assay.core.text import one_line, plural
from assay.records import TrialFolder
from assay.results import report
from assay.results.disclosure import find_shared_facts
from assay.results.figures import number_colors
from assay.results.inference import INTERVAL_METHOD
from assay.results.measures import MEASURE_TITLES, MEASURES
from assay.results.verdict import count_comparisons, make_verdict, standing_table
from assay.studies.similarity import draw_histogram
from assay.web import drawing, markup, pages
from assay.web.combined import combine_runs
from assay.web.curves import CurveQuery, StepGrader, make_curves_page
from assay.web.files import MAX_SHOWN, WorkspaceFile, WorkspaceFiles, find_files, read_chunks, read_text
from assay.web.heat import find_heat
from assay.web.pair import make_pair
from assay.web.runs import Runs, RunView
from assay.web.search import MIN_LENGTH, search_run
from assay.web.selection import Selection
from assay.web.similar import compare_code, find_code_pair, read_threshold
from assay.web.study_page import split_lines
from assay.web.text import clean_and_cut, clean_text, clean_value

if TYPE_CHECKING:
    from jinja2 import Environment

Value = TypeVar("Value")

_STATIC = Path(__file__).parent / "static"
_UPDATE_SECONDS = 1.0
_KEEP_ALIVE = 15
_MAX_TEXT = 400_000
_MAX_WORDS = 200


def make_app(runs: Runs, is_stopping: Callable[[], bool]) -> Starlette:
    """Return the application; `Guard` decides who may call it. Updates end once the server is stopping."""
    site = _Site(runs, is_stopping)
    return Starlette(
        routes=[
            Route("/", site.index, methods=["GET"]),
            Route("/compare", site.compare_runs, methods=["GET"]),
            Route("/leaderboard", site.combined, methods=["GET"]),
            Route("/updates", site.updates, methods=["GET"]),
            Route("/run/{run}", site.overview, methods=["GET"]),
            Route("/run/{run}/updates", site.updates, methods=["GET"]),
            Route("/run/{run}/compare", site.compare, methods=["GET"]),
            Route("/run/{run}/pair/{first}/{second}", site.pair, methods=["GET"]),
            Route("/run/{run}/curves", site.curves, methods=["GET"]),
            Route("/run/{run}/curves/updates", site.updates, methods=["GET"]),
            Route("/run/{run}/failures", site.failures, methods=["GET"]),
            Route("/run/{run}/search", site.search, methods=["GET"]),
            Route("/run/{run}/similar", site.similar, methods=["GET"]),
            Route("/run/{run}/similar/{first}/{second}", site.similar_pair, methods=["GET"]),
            Route("/run/{run}/task/{suite}/{task}", site.task, methods=["GET"]),
            Route("/run/{run}/trial/{trial}", site.trial, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/updates", site.updates, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/prompt/{event:int}", site.prompt, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/text/{event:int}/{position:int}", site.text, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/files/{event:int}", site.files, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/files/{event:int}/{position:int}", site.file, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/files/{event:int}/{position:int}/raw", site.raw, methods=["GET"]),
            Route("/run/{run}/trial/{trial}/eval", site.eval_log, methods=["GET"]),
            Route("/static/figure.css", site.figure_style, methods=["GET"]),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        exception_handlers={HTTPException: site.missing, AssayError: site.unreadable},
    )


class _Site:
    """The pages of some runs. Starlette calls what is not a coroutine in a thread, so that no page stops the others."""

    def __init__(self, runs: Runs, is_stopping: Callable[[], bool]) -> None:
        self._runs, self._is_stopping = runs, is_stopping
        self._environment = make_environment()
        self._grader = StepGrader(is_stopping)

    def index(self, request: Request) -> Response:
        """All runs, or the only one."""
        if self._runs.only:
            return RedirectResponse(f"/run/{self._runs.only}", 303)
        version = self._runs.version_of_all()
        return self._render("index", version=version, rows=pages.summarize_runs(self._runs.find_all()))

    def compare_runs(self, request: Request) -> Response:
        """The comparison of the runs that were selected in the list."""
        keys = [key for key in request.query_params.getlist("run") if self._runs.get(key)]
        if not keys:
            return self.index(request)
        rest = "".join(f"{'&' if position else '?'}with={key}" for position, key in enumerate(keys[1:]))
        return RedirectResponse(f"/run/{keys[0]}/compare{rest}", 303)

    def combined(self, request: Request) -> Response:
        """The agents of all runs, grouped by what is comparable."""
        version = self._runs.version_of_all()
        groups = self._runs.keep_for(version, "combined", lambda: combine_runs(self._runs.find_all()))
        return self._render("combined", version=version, groups=groups)

    def overview(self, request: Request) -> Response:
        """Leaderboard and grid of a run."""
        view, selection = self._view(request), Selection.read(request.query_params)
        (comparisons, refusal), compared = self._runs.find_comparisons(view)
        version = self._runs.version_of(view)
        content = self._runs.keep(view, ("overview", selection), partial(pages.make_overview, view, selection))
        content = content | {"verdicts": pages.make_verdicts(view, comparisons), "comparisons": comparisons}
        content |= {"refusal": refusal}
        content |= {"state": pages.find_state(view), "running": pages.find_running(view)}
        response = self._render("overview", view, page="overview", version=version, compared=compared, **content)
        if not compared:  # what takes long begins once the page is sent
            response.background = BackgroundTask(self._runs.begin_comparing, view)
        return response

    def compare(self, request: Request) -> Response:
        """The agents of a run compared, also with those of other runs."""
        view = self._view(request)
        others = [run for key in request.query_params.getlist("with") if (run := self._runs.get(key))]
        query = pages.CompareQuery.read(request.query_params, others)
        rest = [run for run in self._runs.find_all() if run.key != view.key] if not self._runs.only else []
        versions = tuple((other.key, other.version) for other in others)
        content = self._runs.keep(view, ("compare", query.key, versions), partial(pages.make_comparison, view, query))
        return self._render("compare", view, page="compare", rest=rest, query=query, measures=MEASURES, **content)

    def pair(self, request: Request) -> Response:
        """Two trials step by step, side by side."""
        view = self._recorded(request)
        content = make_pair(view, request.path_params["first"], request.path_params["second"])
        content = _require(content, "This run has no such pair of trials.")
        return self._render("pair", view, page="pair", budget=markup.PageBudget(), **content)

    def curves(self, request: Request) -> Response:
        """What each agent had reached over time, steps or cost."""
        view = self._recorded(request)
        query, version = (
            CurveQuery.read(request.query_params, view),
            f"{self._runs.version_of(view)}-{self._grader.finished}",
        )
        content = make_curves_page(view, query, self._grader)
        return self._render("curves", view, page="curves", version=version, query=query, **content)

    def failures(self, request: Request) -> Response:
        """Failed trials by what they failed by."""
        view = self._view(request)
        groups = self._runs.keep(view, "failures", partial(pages.group_failures, view))
        figure = pages.draw_failures(groups, number_colors(view.rows.agents))
        version = self._runs.version_of(view)
        return self._render("failures", view, page="failures", version=version, groups=groups, figure=figure)

    def search(self, request: Request) -> Response:
        """Trials in which some words occur."""
        view, query = self._recorded(request), request.query_params
        words, start = query.get("q", "").strip()[:_MAX_WORDS], query.get("from", "")
        first = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 0
        results = search_run(view, words, first) if len(words) >= MIN_LENGTH else None
        content: dict[str, Any] = {"words": words, "results": results, "min_length": MIN_LENGTH}
        return self._render("search", view, page="search", colors=number_colors(view.rows.agents), **content)

    def similar(self, request: Request) -> Response:
        """Which trials of a run have similar code."""
        view = self._recorded(request)
        similar = self._runs.keep(view, "similar", partial(compare_code, view))
        return self._render(
            "similar", view, page="similar", similar=similar, threshold=read_threshold(request.query_params)
        )

    def similar_pair(self, request: Request) -> Response:
        """The code of two trials side by side."""
        view = self._recorded(request)
        similar = self._runs.keep(view, "similar", partial(compare_code, view))
        pair = find_code_pair(similar, request.path_params["first"], request.path_params["second"])
        pair = _require(pair, "The code of these trials was not compared.")
        return self._render("similar_pair", view, page="similar", pair=pair, both=split_lines(pair))

    def task(self, request: Request) -> Response:
        """A task and where the trials are among the reference solutions."""
        view, name = self._view(request), f"{request.path_params['suite']}/{request.path_params['task']}"
        _require(view.tasks.get(name), "This run has no such task.")
        return self._render("task", view, page="task", **pages.make_task(view, name))

    def trial(self, request: Request) -> Response:
        """What happened in a trial, in order."""
        view = self._view(request)
        name = request.path_params["trial"]
        if view.imported:
            row = _require(view.by_trial.get(name), "These results have no such trial.")
            links, budget = markup.TraceLinks(), markup.PageBudget()
            content = pages.make_imported_trial(view, row)
            return self._render("imported_trial", view, page="trial", budget=budget, links=links, **content)
        version = self._version_of_trial(view.key, name)
        content = _require(pages.make_trial(view, name), "This run has no such trial.")
        if content["has_ungraded_nodes"] and not view.pending:
            row = view.by_trial[name]
            self._grader.find(content["folder"], view.tasks[row.task], row)
        links = markup.TraceLinks(f"/run/{view.key}/trial/{name}")
        return self._render(
            "trial", view, page="trial", version=version, budget=markup.PageBudget(), links=links, **content
        )

    def prompt(self, request: Request) -> Response:
        """The whole prompt of a model call."""
        view, number = self._recorded(request), request.path_params["event"]
        content = pages.make_prompt(view, request.path_params["trial"], number)
        content = _require(content, "This trial has no such model call.")
        return self._render("prompt", view, page="prompt", **content)

    def text(self, request: Request) -> Response:
        """The whole of a text that the page of a trial cuts."""
        view, where = self._recorded(request), request.path_params
        text = pages.find_text(view, where["trial"], where["event"], where["position"])
        return PlainTextResponse(clean_text(_require(text, "This trial has no such text.")))

    def files(self, request: Request) -> Response:
        """The files of a snapshot."""
        view, trial, workspace = self._files(request)
        return self._render("files", view, page="files", row=view.by_trial[trial.path.name], workspace=workspace)

    def file(self, request: Request) -> Response:
        """One file of a snapshot."""
        view, trial, workspace = self._files(request)
        file = self._file(request, workspace)
        row, block = view.by_trial[trial.path.name], read_text(trial, file)
        return self._render("file", view, page="file", row=row, workspace=workspace, file=file, block=block)

    def raw(self, request: Request) -> Response:
        """One file of a snapshot, to download."""
        _, trial, workspace = self._files(request)
        file = self._file(request, workspace)
        return _download(read_chunks(trial, file), file.path.rpartition("/")[2])

    def eval_log(self, request: Request) -> Response:
        """The trial as a log of Inspect, to download."""
        view, name = self._recorded(request), request.path_params["trial"]
        row = _require(view.by_trial.get(name), "This run has no such trial.")
        if row.pending or row.inapplicable:
            raise HTTPException(404, "This trial has no result yet.")
        try:
            from assay.interop.inspect.logs import read_trial_log
        except ImportError:
            raise MissingDependency("The log for Inspect", "agents") from None
        return _download(iter([read_trial_log(view.folder, name)]), f"{name}.eval")

    def figure_style(self, request: Request) -> Response:
        """The style of figures."""
        return FileResponse(STYLESHEET, media_type="text/css")

    async def updates(self, request: Request) -> Response:
        """Send a message whenever a file of the run or trial changes."""
        run, trial = request.path_params.get("run"), request.path_params.get("trial")
        with_curves = request.url.path.endswith("/curves/updates")

        def find() -> str | None:
            if run and trial:
                return self._version_of_trial(run, trial)
            version = self._runs.version(run) if run else self._runs.version_of_all()
            return f"{version}-{self._grader.finished}" if version and with_curves else version

        version = _require(await anyio.to_thread.run_sync(find), "There is no such run.")
        return StreamingResponse(_watch(find, version, self._is_stopping), media_type="text/event-stream")

    def missing(self, request: Request, error: Exception) -> Response:
        """Answer a request for something that does not exist."""
        assert isinstance(error, HTTPException)
        return self._render("error", status=error.status_code, title="Not found", message=str(error.detail))

    def unreadable(self, request: Request, error: Exception) -> Response:
        """Answer a request for a record that cannot be read."""
        return self._render("error", status=422, title="Cannot show this", message=str(error))

    def _view(self, request: Request) -> RunView:
        view = _require(self._runs.get(request.path_params["run"]), "There is no such run.")
        self._runs.load(view)
        return view

    def _recorded(self, request: Request) -> RunView:
        view = self._view(request)
        if view.imported:
            raise HTTPException(404, "Results of other harnesses have no records that this page could show.")
        return view

    def _version_of_trial(self, run: str, trial: str) -> str | None:
        """Return a text that changes with the files of a trial, and once its steps are graded."""
        version, view = self._runs.version(run, trial), self._runs.get(run)
        folder = view.folders.get(trial) if view else None
        return f"{version}-graded" if version and folder and self._grader.is_known(folder) else version

    def _files(self, request: Request) -> tuple[RunView, TrialFolder, WorkspaceFiles]:
        view = self._recorded(request)
        trial = _require(view.folders.get(request.path_params["trial"]), "This run has no such trial.")
        files = find_files(trial, request.path_params["event"])
        return view, trial, _require(files, "This trial has no such snapshot.")

    def _file(self, request: Request, workspace: WorkspaceFiles) -> WorkspaceFile:
        position: int = request.path_params["position"]
        if position >= len(workspace.files):
            raise HTTPException(404, "This snapshot has no such file.")
        return workspace.files[position]

    def _render(self, name: str, view: RunView | None = None, status: int = 200, **content: Any) -> Response:
        template = self._environment.get_template(f"{name}.html.jinja")
        home = self._runs.only is None
        content = {"version": self._runs.version_of(view) if view else "", **content}
        return HTMLResponse(template.render(run=view, home=home, **content), status)


def _require(value: Value | None, message: str) -> Value:
    """Return what was asked for; the page of an error if it does not exist."""
    if value is None:
        raise HTTPException(404, message)
    return value


def _download(content: Iterator[bytes], name: str) -> Response:
    """Return a file that a browser saves and never shows, under a name without anything but plain characters."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name).lstrip(".")[:100] or "file"
    headers = {"content-disposition": f'attachment; filename="{plain}"'}
    return StreamingResponse(content, media_type="application/octet-stream", headers=headers)


async def _watch(find: Callable[[], str | None], version: str, is_stopping: Callable[[], bool]) -> AsyncIterator[bytes]:
    yield f"retry: 2000\ndata: {version}\n\n".encode()
    quiet = 0.0
    while not is_stopping():
        await anyio.sleep(_UPDATE_SECONDS)
        current = await anyio.to_thread.run_sync(find)
        quiet += _UPDATE_SECONDS
        if current is None:
            return
        if current != version:
            version, quiet = current, 0.0
            yield f"data: {version}\n\n".encode()
        elif quiet >= _KEEP_ALIVE:
            quiet = 0.0
            yield b": still here\n\n"


@cache
def make_environment() -> "Environment":
    """Return the templates, which escape everything and remove control characters from all text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("assay.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean_value,
    )
    environment.globals.update(values=values, report=report, plural=plural)
    environment.globals.update(drawing=drawing, markup=markup, pages=pages, max_files=MAX_SHOWN)
    environment.globals |= {"make_verdict": make_verdict, "interval_method": INTERVAL_METHOD}
    environment.globals |= {
        "draw_histogram": draw_histogram,
        "find_heat": find_heat,
        "find_shared_facts": find_shared_facts,
        "format_rate": format_rate,
        "MEASURE_TITLES": MEASURE_TITLES,
        "count_comparisons": count_comparisons,
        "format_ranks": format_ranks,
        "standing_table": standing_table,
    }
    environment.filters["short"] = lambda text, length=160: one_line(clean_text(str(text)), length)
    environment.filters["size"] = format_size
    environment.filters["cut"] = lambda text: clean_and_cut(str(text), _MAX_TEXT)
    return environment
