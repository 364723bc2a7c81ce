"""Actions that ask a model or a person, use the research log, or end the work."""

from typing import Annotated

from assay.agents.mlagentbench.actions.definition import PROSE, ActionContext, action, model_errors_as_failures
from assay.agents.mlagentbench.actions.files import read_text, read_workspace_file, write_workspace_file
from assay.agents.mlagentbench.summaries import summarize
from assay.agents.observation import ActionFailed
from assay.records.events import FINAL_ANSWER

RESEARCH_LOG = "research_log.log"
REQUEST_HELP = "Request Help"


@action("Understand File", returns="a description of what you asked for, with the parts of the file that support it")
async def understand_file(
    context: ActionContext,
    file_name: Annotated[str, "the file to understand"],
    things_to_look_for: Annotated[str, "what you want to know about it, in full detail", PROSE],
) -> str:
    """Have an assistant read a whole file and answer your question about it, e.g. when it is too long to read."""
    text = await read_text(context, file_name)
    if not text:
        return f"{file_name} is empty."
    with model_errors_as_failures():
        return await summarize(
            context.bench,
            context.templates,
            text,
            "understand",
            "understand_merge",
            file=file_name,
            wanted=things_to_look_for,
        )


@action("Append Summary to Research Log", returns="whether the summary was added to the log")
async def append_summary(
    context: ActionContext, content: Annotated[str, "a short summary of what was done and what resulted from it"]
) -> str:
    """Add a summary to the research log, to be retrieved later."""
    await append_to_log(context, content)
    return "The summary was added to the research log."


@action("Retrieval from Research Log", returns="what the research log says that is relevant to your plan")
async def retrieval(context: ActionContext, current_plan: Annotated[str, "what you are about to do", PROSE]) -> str:
    """Retrieve what is relevant to your plan from the research log."""
    return await search_log(context, await _read_log(context), current_plan)


@action("Reflection", returns="a reflection on it, based on the research log")
async def reflection(
    context: ActionContext, things_to_reflect_on: Annotated[str, "the question to reflect on", PROSE]
) -> str:
    """Reflect on everything in the research log with a question in mind."""
    log = await _read_log(context)
    with model_errors_as_failures():
        return await summarize(
            context.bench, context.templates, log, "reflect", "reflect_merge", wanted=things_to_reflect_on
        )


@action(REQUEST_HELP, returns="the person's answer")
async def request_help(
    context: ActionContext, request: Annotated[str, "what you need to know, in full detail", PROSE]
) -> str:
    """Ask the person who supervises you for help."""
    answer = await context.bench.ask_human(request)
    if answer is None:
        raise ActionFailed("refused", "No one is available to help.")
    return answer or "The person gave an empty answer."


@action(FINAL_ANSWER, returns="nothing; your work ends here")
async def final_answer(
    context: ActionContext, final_answer: Annotated[str, "a summary of what you did and the results", PROSE]
) -> str:
    """End your work. Whatever is in the workspace is then graded."""
    return "The work has ended."


async def append_to_log(context: ActionContext, content: str) -> None:
    """Append an entry to the research log."""
    before = await read_workspace_file(context, RESEARCH_LOG) or b""
    await write_workspace_file(context, RESEARCH_LOG, before + content.strip().encode(errors="replace") + b"\n\n")


async def search_log(context: ActionContext, log: str, plan: str) -> str:
    """Return what a research log says that is relevant to a plan."""
    with model_errors_as_failures():
        return await summarize(context.bench, context.templates, log, "retrieve", "retrieve_merge", plan=plan)


async def _read_log(context: ActionContext) -> str:
    log = await read_workspace_file(context, RESEARCH_LOG)
    if not log:
        raise ActionFailed("refused", "The research log is empty.")
    return log.decode(errors="replace")
