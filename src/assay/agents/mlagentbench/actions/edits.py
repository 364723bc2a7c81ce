"""Edits by a model: what is replaced is kept, what changed is shown, and what was cut short is never written."""

import difflib
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from assay.agents.mlagentbench.actions.asking import asking
from assay.agents.mlagentbench.actions.files import LOOK_SECONDS, checked_lines, content_of, lines_of, put
from assay.agents.mlagentbench.actions.model import ActionContext, action
from assay.agents.mlagentbench.actions.paths import argument, plain, writable
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.observation import ActionFailed

if TYPE_CHECKING:
    from assay.models import Reply

EDIT = "edit"
BACKUPS = "backup"
ABSENT = "absent"
DIFF = "what changed, line by line, as a unified diff; look at it carefully"


@action("Edit Script (AI)", returns=DIFF)
async def edit_script(
    means: ActionContext,
    script_name: Annotated[str, "the script to edit; one that does not exist counts as empty"],
    edit_instruction: Annotated[str, "what to change and how, in full detail, in plain words or as code"],
    save_name: Annotated[str, "the file that gets the result; it may be the same script"],
) -> str:
    """Let an assistant edit a script after your instructions. It sees nothing but the script and the instructions."""
    before = await _script(means, plain(script_name))
    told = means.templates.fill("edit", script=before, instruction=edit_instruction)
    after = await _edited(means, told)
    return await _save(means, writable(save_name), script_name, before, after)


@action("Edit Script Segment (AI)", returns=DIFF)
async def edit_script_segment(
    means: ActionContext,
    script_name: Annotated[str, "the script to edit; it must exist"],
    start_line_number: Annotated[int, "the number of the first line to edit; the first line of a file is 1"],
    end_line_number: Annotated[int, "the number of the last line to edit"],
    edit_instruction: Annotated[str, "what to change and how, in full detail, in plain words or as code"],
    save_name: Annotated[str, "the file that gets the whole script with its new lines; it may be the same script"],
) -> str:
    """Let an assistant edit some lines of a script after your instructions. The other lines stay as they are."""
    before = await _script(means, plain(script_name))
    lines = lines_of(before)
    first, last = checked_lines(lines, start_line_number, end_line_number)
    segment = "".join(lines[first - 1 : last])
    told = means.templates.fill("edit_segment", segment=segment, first=first, last=last, instruction=edit_instruction)
    edited = await _edited(means, told)
    if last == len(lines) and not before.endswith("\n"):
        edited = edited.removesuffix("\n")
    after = "".join([*lines[: first - 1], edited, *lines[last:]])
    return await _save(means, writable(save_name), script_name, before, after)


@action("Undo Edit Script", returns="the text of the script as it is now")
async def undo_edit_script(
    means: ActionContext, script_name: Annotated[str, "the file that an edit has written and that is to be as before"]
) -> str:
    """Take back the last edit of a script by the assistant. Edits can be taken back one after the other."""
    path = writable(script_name)
    backups = await _backups(means, path)
    if not backups:
        raise ActionFailed("refused", f"No edit of {script_name!r} can be taken back.")
    last = backups[-1]
    gone = [argument(last.path)]
    content = b""
    if last.absent:
        gone.append(argument(path))
    else:
        content = await content_of(means, last.path) or b""
        await put(means, path, content)
    await means.bench.execute(["rm", "-f", "--", *gone], seconds=LOOK_SECONDS)
    if last.absent:
        return f"{script_name} did not exist before the edit; it is removed."
    text = shortened(content.decode(errors="replace"), means.longest_output)
    return f"{script_name} is as it was before the edit:\n\n{text}"


@dataclass(frozen=True, order=True)
class Backup:
    """What a file was before its edit number `number`; `absent` if it was not there."""

    number: int
    absent: bool
    path: str


async def _script(means: ActionContext, path: str) -> str:
    try:
        return (await content_of(means, path) or b"").decode()
    except UnicodeDecodeError:
        raise ActionFailed("refused", f"{path!r} is not a text and cannot be edited.") from None


async def _edited(means: ActionContext, told: str) -> str:
    """What the editor puts into its fence."""
    from assay.models import Message

    with asking():
        reply = await means.bench.ask(EDIT, [Message(role="user", text=told)], faults_count=True)
    return fenced(reply)


def fenced(reply: "Reply") -> str:
    """The text in the one fence of a reply; `ActionFailed` if it is cut off, missing, or one of several."""
    lines = reply.message.text.splitlines(keepends=True)
    fences = [
        (place, match[1]) for place, line in enumerate(lines) if (match := re.match(r"\s*(`{3,})[\w+-]*\s*$", line))
    ]
    if reply.stop in ("length", "too_long"):
        raise ActionFailed(
            "too long", "The assistant's answer was cut off. Nothing was written; ask for less at a time."
        )
    if not fences:
        raise ActionFailed(
            "format", "The assistant gave no code. Nothing was written; say more clearly what to change."
        )
    start, ticks = fences[0]
    closing = [place for place, fence in fences[1:] if fence == ticks and lines[place].strip() == ticks]
    if not closing:
        raise ActionFailed("format", "The assistant's code has no end. Nothing was written; ask for less at a time.")
    if len(ticks) == 3 and len(fences) > 2:
        raise ActionFailed("format", "The assistant gave several pieces of code instead of one. Nothing was written.")
    return "".join(lines[start + 1 : closing[-1]])


async def _save(means: ActionContext, path: str, script_name: str, before: str, after: str) -> str:
    replaced = await content_of(means, path)
    backups = await _backups(means, path)
    number = backups[-1].number + 1 if backups else 1
    kept = f"{BACKUPS}/{path}.{number}"
    await put(means, f"{kept}.{ABSENT}" if replaced is None else kept, replaced or b"")
    await put(means, path, after)
    difference = "".join(_difference(before, after, script_name, path))
    if not difference:
        return f"The edited text is the same as before; {path} holds it."
    return f"{path} is written. What changed:\n\n{shortened(difference, means.longest_output)}"


def _difference(before: str, after: str, old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(lines_of(before), lines_of(after), old, new)
    return [line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines]


async def _backups(means: ActionContext, path: str) -> list[Backup]:
    """The backups of exactly that file, oldest first."""
    folder, name = posixpath.split(f"{BACKUPS}/{path}")
    listed = await means.bench.execute(["ls", "-A", "--", argument(folder)], seconds=LOOK_SECONDS, changes=False)
    form = re.compile(re.escape(name) + rf"\.(\d+)(\.{ABSENT})?")
    matches = [(match, each) for each in listed.stdout.text.splitlines() if (match := form.fullmatch(each))]
    return sorted(Backup(int(match[1]), bool(match[2]), f"{folder}/{each}") for match, each in matches)
