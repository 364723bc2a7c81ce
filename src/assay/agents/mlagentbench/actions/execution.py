"""Actions that run code in the lab or check the format of the submission."""

from typing import Annotated

from assay.agents.mlagentbench.actions.definition import ActionContext, action
from assay.agents.mlagentbench.actions.files import LOOKUP_SECONDS, MAX_FILE_SIZE, command_argument, normalize_path
from assay.agents.observation import ActionFailed, Observation
from assay.agents.outcomes import LIMITS, NO_OUTPUT, check_submission, describe_end, format_streams
from assay.core.text import cut_middle

VALIDATE, OFFER = "Validate Submission", "Offer Submission"


@action("Execute Script", returns="how the script ended, and what it printed to stdout and stderr")
async def execute_script(
    context: ActionContext, script_name: Annotated[str, "the Python script to run, such as `train.py`"]
) -> Observation:
    """Run an existing Python script, with the workspace as the current folder."""
    path = normalize_path(script_name)
    await _check_script(context, path, script_name)
    completed = await context.bench.execute(["python", "-u", command_argument(path)], seconds=context.script_seconds)
    output = format_streams(completed.stdout, completed.stderr, context.max_output)
    cause, ending = describe_end(completed)
    if context.published and cause in (None, "crash"):
        printed = (completed.stdout or completed.stderr) if cause is None else completed.stderr
        return Observation(f"The script was executed. Its output:\n\n{cut_middle(printed, context.max_output)}", cause)
    return Observation(f"{script_name} {ending} after {completed.seconds:.1f} seconds.\n\n{output}", cause)


@action("Python REPL", returns="what the command printed, and the value of an expression at its end")
async def python_repl(
    context: ActionContext, command: Annotated[str, "Python code of one or more lines"]
) -> Observation:
    """Run Python code in a session that keeps its variables from one command to the next. It runs in the workspace;
    between commands the session and all processes it started are paused."""
    result = await context.bench.run_python(command, seconds=context.session_seconds)
    notice = (
        "The previous session was interrupted; this is a new one, without its variables.\n\n" if result.lost else ""
    )
    output = cut_middle(result.output.rstrip(), context.max_output)
    if result.ended is None:
        return Observation(f"{notice}{output or NO_OUTPUT}")
    cause, ending = LIMITS.get(result.ended, ("crash", "has ended"))
    ending = f"The session {ending}, {result.seconds:.1f} seconds into the command; the next command starts a new one."
    return Observation(f"{notice}{ending}\n\n{output}".strip(), cause)


@action(VALIDATE, returns="whether its format is valid, and what is wrong with it if not")
async def validate_submission(context: ActionContext) -> Observation:
    """Check the format of the submission in the workspace: its columns, rows and values. You get no score, and the
    number of checks is recorded."""
    return Observation(await check_submission(context.bench))


@action(OFFER, returns="that the candidate is kept, and what you may know about its score")
async def offer_submission(context: ActionContext) -> Observation:
    """Offer the submission in the workspace as a candidate for the final one."""
    return Observation((await context.bench.offer()).reply)


async def _check_script(context: ActionContext, path: str, name: str) -> None:
    """Refuse everything but a regular file: what is checked must be what is run, not the target of a link."""
    command = ["find", command_argument(path), "-maxdepth", "0", "-type", "f", "-size", f"-{MAX_FILE_SIZE}c"]
    lookup = await context.bench.execute(command, seconds=LOOKUP_SECONDS, changes=False)
    if not lookup.stdout:
        raise ActionFailed("refused", f"{name!r} is not a script in the workspace: there is no regular file there.")
