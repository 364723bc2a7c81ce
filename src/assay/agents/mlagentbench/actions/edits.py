"""Edits by a model: the old version is backed up and the diff is shown.

Truncated replies are written under the published rules only, as in the paper.
"""

import posixpath
import re
from dataclasses import dataclass
from typing import Annotated

from assay.agents.mlagentbench.actions.definition import PROSE, ActionContext, action, model_errors_as_failures
from assay.agents.mlagentbench.actions.files import (
    LOOKUP_SECONDS,
    check_line_range,
    command_argument,
    normalize_path,
    read_workspace_file,
    split_lines,
    writable_path,
    write_workspace_file,
)
from assay.agents.observation import ActionFailed
from assay.agents.replies import NoCodeBlock, extract_code_block, extract_first_block
from assay.core.diff import unified_diff
from assay.core.text import cut_middle
from assay.models import Message
from assay.records.events import FailureCause

EDIT = "edit"
BACKUPS = "backup"
ABSENT = "absent"
DIFF = "the changes as a unified diff; check it carefully"
REJECTIONS: dict[str, tuple[FailureCause, str]] = {
    "cut off": ("too long", "The assistant's reply was cut off. Nothing was written; request smaller edits."),
    "missing": ("format", "The assistant returned no code. Nothing was written; give clearer instructions."),
    "unclosed": ("format", "The assistant's code is incomplete. Nothing was written; request smaller edits."),
    "several": ("format", "The assistant returned several code blocks instead of one. Nothing was written."),
}


@action("Edit Script (AI)", returns=DIFF)
async def edit_script(
    context: ActionContext,
    script_name: Annotated[str, "the script to edit; a script that does not exist counts as empty"],
    edit_instruction: Annotated[str, "what to change and how, in full detail, in words or as code", PROSE],
    save_name: Annotated[str, "the file to save the result to; it may be the same script"],
) -> str:
    """Have an assistant edit a script according to your instructions. It only sees the script and the instructions."""
    before = await _read_script(context, normalize_path(script_name))
    prompt = context.templates.fill("edit", script=before, instruction=edit_instruction)
    after = await _ask_for_edit(context, prompt)
    return await _save(context, writable_path(save_name), script_name, before, after)


@action("Edit Script Segment (AI)", returns=DIFF)
async def edit_script_segment(
    context: ActionContext,
    script_name: Annotated[str, "the script to edit; it must exist"],
    start_line_number: Annotated[int, "the first line to edit; lines are numbered from 1"],
    end_line_number: Annotated[int, "the last line to edit"],
    edit_instruction: Annotated[str, "what to change and how, in full detail, in words or as code", PROSE],
    save_name: Annotated[str, "the file to save the whole edited script to; it may be the same script"],
) -> str:
    """Have an assistant edit some lines of a script according to your instructions. All other lines stay the same."""
    before = await _read_script(context, normalize_path(script_name))
    lines = split_lines(before)
    first, last = check_line_range(lines, start_line_number, end_line_number)
    prompt = context.templates.fill(
        "edit_segment",
        segment="".join(lines[first - 1 : last]),
        first=first,
        last=last,
        instruction=edit_instruction,
    )
    edited = await _ask_for_edit(context, prompt)
    if last == len(lines) and not before.endswith("\n"):
        edited = edited.removesuffix("\n")
    after = "".join([*lines[: first - 1], edited, *lines[last:]])
    return await _save(context, writable_path(save_name), script_name, before, after)


@action("Undo Edit Script", returns="the content of the script after undoing the edit")
async def undo_edit_script(
    context: ActionContext, script_name: Annotated[str, "the file to restore, which an edit has written"]
) -> str:
    """Undo the last edit of a script by the assistant. Several edits can be undone one after another."""
    path = writable_path(script_name)
    backups = await _list_backups(context, path)
    if not backups:
        raise ActionFailed("refused", f"There is no edit of {script_name!r} to undo.")
    last = backups[-1]
    if last.absent:
        await _remove(context, last.path, path)
        return f"{script_name} did not exist before the edit; it has been removed."
    content = await read_workspace_file(context, last.path) or b""
    await write_workspace_file(context, path, content)
    await _remove(context, last.path)
    text = cut_middle(content.decode(errors="replace"), context.max_output)
    return f"{script_name} has been restored to the version before the edit:\n\n{text}"


@dataclass(frozen=True, order=True)
class Backup:
    """The version of a file before its edit number `number`; `absent` if it did not exist."""

    number: int
    absent: bool
    path: str


async def _read_script(context: ActionContext, path: str) -> str:
    try:
        return (await read_workspace_file(context, path) or b"").decode()
    except UnicodeDecodeError:
        raise ActionFailed("refused", f"{path!r} is not a text file and cannot be edited.") from None


async def _ask_for_edit(context: ActionContext, prompt: str) -> str:
    with model_errors_as_failures():
        reply = await context.bench.ask(EDIT, [Message(role="user", text=prompt)], record_failures=True)
    try:
        return extract_first_block(reply) if context.published else extract_code_block(reply)
    except NoCodeBlock as error:
        raise ActionFailed(*REJECTIONS[error.reason]) from None


async def _save(context: ActionContext, path: str, script_name: str, before: str, after: str) -> str:
    replaced = await read_workspace_file(context, path)
    backups = await _list_backups(context, path)
    number = backups[-1].number + 1 if backups else 1
    backup = f"{BACKUPS}/{path}.{number}"
    await write_workspace_file(context, f"{backup}.{ABSENT}" if replaced is None else backup, replaced or b"")
    await write_workspace_file(context, path, after)
    diff = "".join(_unified_diff(before, after, script_name, path))
    if context.published:
        saved = f"The edited file was saved to {path}. These are the changes; check whether they are what you want:"
        return f"{saved}\n\n{cut_middle(diff, context.max_output)}"
    if not diff:
        return f"The edited text is identical to the original; it was written to {path}."
    return f"Wrote {path}. Changes:\n\n{cut_middle(diff, context.max_output)}"


def _unified_diff(before: str, after: str, old: str, new: str) -> list[str]:
    lines = unified_diff(split_lines(before), split_lines(after), old, new)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


async def _list_backups(context: ActionContext, path: str) -> list[Backup]:
    """Return the backups of exactly that file, oldest first."""
    folder, name = posixpath.split(f"{BACKUPS}/{path}")
    command = ["ls", "-A", "--", command_argument(folder)]
    listing = await context.bench.execute(command, seconds=LOOKUP_SECONDS, changes=False)
    pattern = re.compile(re.escape(name) + rf"\.(\d+)(\.{ABSENT})?")
    matches = [(match, each) for each in listing.stdout.splitlines() if (match := pattern.fullmatch(each))]
    return sorted(Backup(int(match[1]), bool(match[2]), f"{folder}/{each}") for match, each in matches)


async def _remove(context: ActionContext, *paths: str) -> None:
    await context.bench.execute(["rm", "-f", "--", *map(command_argument, paths)], seconds=LOOKUP_SECONDS)
