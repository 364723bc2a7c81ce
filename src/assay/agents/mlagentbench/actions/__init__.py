"""The actions of MLAgentBench under their published names, performed in the lab.

Start with `definition.py`, which says what an action is. `files.py`, `edits.py`, `execution.py` and `assistant.py`
contain the actions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.agents.mlagentbench.actions.assistant import (
    REQUEST_HELP,
    RESEARCH_LOG,
    append_summary,
    final_answer,
    reflection,
    request_help,
    retrieval,
    understand_file,
)
from assay.agents.mlagentbench.actions.definition import Action, ActionContext, Argument, tool_name
from assay.agents.mlagentbench.actions.edits import edit_script, edit_script_segment, undo_edit_script
from assay.agents.mlagentbench.actions.execution import (
    OFFER,
    VALIDATE,
    execute_script,
    offer_submission,
    python_repl,
    validate_submission,
)
from assay.agents.mlagentbench.actions.files import (
    append_file,
    copy_file,
    inspect_script_lines,
    list_files,
    read_file,
    write_file,
)
from assay.agents.observation import ActionFailed, Observation
from assay.records.events import FINAL_ANSWER

ACTIONS: Mapping[str, Action] = {
    each.name: each
    for each in (
        list_files, read_file, write_file, append_file, copy_file, inspect_script_lines, undo_edit_script,
        execute_script, python_repl, understand_file, edit_script, edit_script_segment, reflection, append_summary,
        retrieval, request_help, validate_submission, offer_submission, final_answer,
    )
}  # fmt: skip
"""Every action by its name."""

DEFAULT_ACTIONS = (
    "Understand File", "Inspect Script Lines", "Edit Script (AI)", "List Files", "Copy File", "Undo Edit Script",
    "Execute Script",
)  # fmt: skip
"""The actions that the published agents are offered, besides the final answer."""

PUBLISHED_ORDER = (
    "List Files", "Copy File", "Undo Edit Script", "Execute Script", REQUEST_HELP, FINAL_ANSWER, "Understand File",
    "Inspect Script Lines", "Edit Script (AI)",
)  # fmt: skip
"""The same with the final answer, in the order of the published prompt."""

__all__ = [
    "ACTIONS",
    "DEFAULT_ACTIONS",
    "FINAL_ANSWER",
    "OFFER",
    "PUBLISHED_ORDER",
    "REQUEST_HELP",
    "RESEARCH_LOG",
    "VALIDATE",
    "Action",
    "ActionContext",
    "Argument",
    "find_action",
    "perform_action",
]


def find_action(name: str, offered: Sequence[Action]) -> Action | None:
    """Return the action called `name`, regardless of case and punctuation."""
    return next((each for each in offered if each.tool_name == tool_name(name)), None)


async def perform_action(
    context: ActionContext, name: str, arguments: Mapping[str, Any], offered: Sequence[Action] = tuple(ACTIONS.values())
) -> Observation:
    """Take one step with the action called `name`; an unknown action or wrong arguments take a step too."""
    action = find_action(name, offered)

    async def perform() -> Observation:
        if action is None:
            known = ", ".join(each.name for each in offered)
            raise ActionFailed("arguments", f"There is no action called {name!r}. Choose from: {known}.")
        return await action.perform(context, arguments)

    return await context.bench.act(action.name if action else name, arguments, perform)
