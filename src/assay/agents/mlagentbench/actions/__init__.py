"""What an agent can do in one step: the actions of MLAgentBench, by their published names, carried out in the lab."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.agents.mlagentbench.actions.checking import VALIDATE, validate_submission
from assay.agents.mlagentbench.actions.edits import edit_script, edit_script_segment, undo_edit_script
from assay.agents.mlagentbench.actions.files import (
    append_file,
    copy_file,
    inspect_script_lines,
    list_files,
    read_file,
    write_file,
)
from assay.agents.mlagentbench.actions.model import Action, ActionContext, Argument, tool_name
from assay.agents.mlagentbench.actions.scripts import execute_script, python_repl
from assay.agents.mlagentbench.actions.thinking import (
    FINAL_ANSWER,
    append_summary,
    final_answer,
    reflection,
    request_help,
    retrieval,
    understand_file,
)
from assay.agents.observation import ActionFailed, Observation

ACTIONS: Mapping[str, Action] = {
    each.name: each
    for each in (
        list_files, read_file, write_file, append_file, copy_file, inspect_script_lines, undo_edit_script,
        execute_script, python_repl, understand_file, edit_script, edit_script_segment, reflection, append_summary,
        retrieval, request_help, validate_submission, final_answer,
    )
}  # fmt: skip
"""Every action by its name."""

USUAL = (
    "Understand File", "Inspect Script Lines", "Edit Script (AI)", "List Files", "Copy File", "Undo Edit Script",
    "Execute Script", FINAL_ANSWER,
)  # fmt: skip
"""Those that the published agents are shown."""

__all__ = [
    "ACTIONS",
    "FINAL_ANSWER",
    "USUAL",
    "VALIDATE",
    "Action",
    "ActionContext",
    "Argument",
    "find_action",
    "perform",
]


def find_action(name: str, offered: Sequence[Action]) -> Action | None:
    """The action that somebody means by `name`, however its letters and spaces are written."""
    return next((each for each in offered if each.tool_name == tool_name(name)), None)


async def perform(
    means: ActionContext, name: str, arguments: Mapping[str, Any], offered: Sequence[Action] = tuple(ACTIONS.values())
) -> Observation:
    """Take one step with the action called `name`; one that is unknown or called wrongly is a step too."""
    action = find_action(name, offered)

    async def do() -> Observation:
        if action is None:
            there = ", ".join(each.name for each in offered)
            raise ActionFailed("arguments", f"There is no action called {name!r}. There are: {there}.")
        return await action.perform(means, arguments)

    return await means.bench.act(action.name if action else name, arguments, do)
