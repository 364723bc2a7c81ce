"""Actions that think: understand, remember, look back, ask a person, and end."""

from typing import Annotated

from assay.agents.mlagentbench.actions.asking import asking
from assay.agents.mlagentbench.actions.files import content_of, put, text_of
from assay.agents.mlagentbench.actions.model import ActionContext, action
from assay.agents.mlagentbench.summaries import digest
from assay.agents.observation import ActionFailed

LOG = "research_log.log"
FINAL_ANSWER = "Final Answer"


@action("Understand File", returns="an answer to what you looked for, with the places in the file that it rests on")
async def understand_file(
    means: ActionContext,
    file_name: Annotated[str, "the file to understand"],
    things_to_look_for: Annotated[str, "what you want to know about it, in full detail"],
) -> str:
    """Let an assistant read a whole file and tell you about it, when it is too long to read it yourself."""
    text = await text_of(means, file_name)
    if not text:
        return f"{file_name} is empty."
    with asking():
        return await digest(
            means.bench,
            means.templates,
            text,
            "understand",
            "understand_merge",
            file=file_name,
            wanted=things_to_look_for,
        )


@action("Append Summary to Research Log", returns="whether the log is longer now")
async def append_summary(
    means: ActionContext, content: Annotated[str, "what was done and what came of it, in few words"]
) -> str:
    """Write to the research log what you will want to remember later."""
    await add_to_log(means, content)
    return "The research log holds it now."


@action("Retrieval from Research Log", returns="what the research log holds about your plan")
async def retrieval(means: ActionContext, current_plan: Annotated[str, "what you are about to do"]) -> str:
    """Look up what the research log says that matters for your plan."""
    return await retrieve(means, await _log(means), current_plan)


@action("Reflection", returns="what the research log has to say about it")
async def reflection(means: ActionContext, things_to_reflect_on: Annotated[str, "the question to think about"]) -> str:
    """Look back on everything in the research log with a question in mind."""
    with asking():
        return await digest(
            means.bench, means.templates, await _log(means), "reflect", "reflect_merge", wanted=things_to_reflect_on
        )


@action("Request Help", returns="what the person answers")
async def request_help(means: ActionContext, request: Annotated[str, "what you need to know, in full detail"]) -> str:
    """Ask the person who supervises you."""
    answer = await means.bench.ask_person(request)
    if answer is None:
        raise ActionFailed("refused", "Nobody is there to help.")
    return answer or "The person has nothing to say."


@action(FINAL_ANSWER, returns="nothing: your work ends here")
async def final_answer(means: ActionContext, final_answer: Annotated[str, "what you did and what came of it"]) -> str:
    """End your work. What lies in the workspace then is judged."""
    return "The work has ended."


async def add_to_log(means: ActionContext, content: str) -> None:
    """Write to the end of the research log."""
    before = await content_of(means, LOG) or b""
    await put(means, LOG, before + content.strip().encode(errors="replace") + b"\n\n")


async def retrieve(means: ActionContext, log: str, plan: str) -> str:
    """What a research log says about a plan."""
    with asking():
        return await digest(means.bench, means.templates, log, "retrieve", "retrieve_merge", plan=plan)


async def _log(means: ActionContext) -> str:
    log = await content_of(means, LOG)
    if not log:
        raise ActionFailed("refused", "The research log is empty so far.")
    return log.decode(errors="replace")
