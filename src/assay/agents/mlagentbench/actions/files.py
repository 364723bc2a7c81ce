"""Actions on files: list, read, write, copy; and the paths that agents may use."""

import posixpath
from io import StringIO
from typing import Annotated

from assay.agents.mlagentbench.actions.definition import ActionContext, action
from assay.agents.observation import ActionFailed
from assay.core.errors import UnsafePath
from assay.core.text import cut_middle

WORKSPACE = "/workspace"
DATA = "data"
LOOKUP_SECONDS = 30.0
MAX_FILE_SIZE = 10**7
MAX_DATA_VIEW = 100_000
MAX_LINES = 100


@action("List Files", returns="the names in the folder, with a `/` after each folder")
async def list_files(context: ActionContext, dir_path: Annotated[str, "a folder, such as `.` or `data`"]) -> str:
    """List the files and folders in a folder of the workspace."""
    path = command_argument(normalize_path(dir_path or "."))
    form = "-FL" if context.published else "-F"  # with -L, links to the data look like the files that they lead to
    listing = await context.bench.execute(["ls", form, "--", path], seconds=LOOKUP_SECONDS, changes=False)
    if not listing.succeeded:
        raise ActionFailed("refused", f"{dir_path!r} cannot be listed: {_last_reason(listing.stderr)}.")
    return cut_middle(listing.stdout, context.max_output) or "The folder is empty."


@action("Read File", returns="the content of the file; of a long file, the beginning and the end")
async def read_file(context: ActionContext, file_name: Annotated[str, "the file to read"]) -> str:
    """Read a whole file."""
    return cut_middle(await read_text(context, file_name), context.max_output) or "The file is empty."


@action("Write File", returns="whether the file was written")
async def write_file(
    context: ActionContext,
    file_name: Annotated[str, "the file to write; it is replaced if it exists"],
    content: Annotated[str, "the complete content of the file"],
) -> str:
    """Write a file, creating missing folders."""
    await write_workspace_file(context, writable_path(file_name), content)
    return f"Wrote {len(content.encode()):,} bytes to {file_name}."


@action("Append File", returns="whether the text was appended")
async def append_file(
    context: ActionContext,
    file_name: Annotated[str, "the file to append to; it is created if it does not exist"],
    content: Annotated[str, "the text to append"],
) -> str:
    """Append text to the end of a file."""
    path = writable_path(file_name)
    before = await read_workspace_file(context, path) or b""
    added = content.encode()
    await write_workspace_file(context, path, before + added)
    return f"Appended {len(added):,} bytes to {file_name}, which now has {len(before) + len(added):,} bytes."


@action("Copy File", returns="whether the file was copied")
async def copy_file(
    context: ActionContext,
    source: Annotated[str, "the file to copy"],
    destination: Annotated[str, "the path of the copy; an existing file is replaced"],
) -> str:
    """Copy a file to another path."""
    paths = [command_argument(normalize_path(source)), command_argument(writable_path(destination))]
    copied = await context.bench.execute(["cp", "-T", "--", *paths])
    if not copied.succeeded:
        reason = _last_reason(copied.stderr)
        raise ActionFailed("refused", f"{source!r} cannot be copied to {destination!r}: {reason}.")
    return f"Copied {source} to {destination}."


@action("Inspect Script Lines", returns="the requested lines, each with its number")
async def inspect_script_lines(
    context: ActionContext,
    script_name: Annotated[str, "the file to inspect"],
    start_line_number: Annotated[int, "the first line to show; lines are numbered from 1"],
    end_line_number: Annotated[int, f"the last line to show; at most {MAX_LINES} lines at a time"],
) -> str:
    """Read some lines of a script."""
    lines = split_lines(await read_text(context, script_name))
    if context.published and end_line_number - start_line_number < MAX_LINES:
        segment = "".join(lines[max(start_line_number - 1, 0) : end_line_number])
        heading = f"These are the lines (the last line of the file is {len(lines)}):"
        return cut_middle(f"{heading}\n\n{segment}", context.max_output)
    first, last = check_line_range(lines, start_line_number, end_line_number)
    if last - first + 1 > MAX_LINES:
        raise ActionFailed("refused", f"That is {last - first + 1} lines; request at most {MAX_LINES} at a time.")
    width = len(str(last))
    numbered = "".join(f"{number:>{width}}  {lines[number - 1]}" for number in range(first, last + 1))
    return cut_middle(f"Lines {first} to {last} of {len(lines)} in {script_name}:\n\n{numbered}", context.max_output)


def normalize_path(path: str) -> str:
    """Return a path relative to the workspace, without dots; raise `ActionFailed` if it leads outside."""
    written = path.strip()
    if not written or "\0" in written:
        raise ActionFailed("refused", f"{path!r} is not a path.")
    inside = posixpath.normpath(posixpath.join(WORKSPACE, written))
    if inside != WORKSPACE and not inside.startswith(f"{WORKSPACE}/"):
        raise ActionFailed("refused", f"{path!r} is outside the workspace; paths are relative to the workspace.")
    return posixpath.relpath(inside, WORKSPACE)


def writable_path(path: str) -> str:
    """Return the normalized path of a file to write; raise `ActionFailed` for the read-only data."""
    inside = normalize_path(path)
    if _is_data(inside):
        raise ActionFailed("refused", f"{path!r} is in the data folder, which is read-only; write somewhere else.")
    if inside == ".":
        raise ActionFailed("refused", f"{path!r} is the workspace itself, not a file.")
    return inside


def command_argument(path: str) -> str:
    """Return a normalized path as a command argument that cannot be mistaken for an option."""
    return f"./{path}"


def split_lines(text: str) -> list[str]:
    """Split a text into lines as Python does for scripts, keeping line ends."""
    return list(StringIO(text, newline="\n"))


def check_line_range(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """Return a range of existing lines; a last line beyond the end means the end."""
    if first < 1 or last < first or first > max(1, len(lines)):
        raise ActionFailed(
            "refused", f"There are no lines {first} to {last}: the file has {len(lines)} lines, numbered from 1."
        )
    return first, min(last, len(lines))


async def read_text(context: ActionContext, name: str) -> str:
    """Return the text of a file. Data files are read from inside the lab, and only the beginning of large ones."""
    path = normalize_path(name)
    if not _is_data(path):
        try:
            content = await read_workspace_file(context, path)
        except ActionFailed:
            if not context.bench.task.data_in_workspace:
                raise
            # It may be a link to the data, which is followed in the lab alone.
        else:
            if content is None:
                raise ActionFailed("refused", f"{name!r} does not exist.")
            return content.decode(errors="replace")
    command = ["head", "-c", str(MAX_DATA_VIEW), "--", command_argument(path)]
    head = await context.bench.execute(command, seconds=LOOKUP_SECONDS, changes=False)
    if not head.succeeded:
        raise ActionFailed("refused", f"{name!r} cannot be read: {_last_reason(head.stderr)}.")
    cut = len(head.stdout.encode()) >= MAX_DATA_VIEW
    return head.stdout + (f"\n… only the first {MAX_DATA_VIEW:,} bytes are shown …\n" if cut else "")


async def read_workspace_file(context: ActionContext, path: str) -> bytes | None:
    """Return the exact content of a file in the workspace; None if there is nothing at that path."""
    try:
        return await context.bench.read(path, max_size=MAX_FILE_SIZE)
    except UnsafePath as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise ActionFailed("refused", f"{error}.") from None


async def write_workspace_file(context: ActionContext, path: str, content: str | bytes) -> None:
    """Write a file in the workspace."""
    try:
        await context.bench.write(path, content)
    except UnsafePath as error:
        raise ActionFailed("refused", f"{error}.") from None


def _is_data(path: str) -> bool:
    return path.split("/")[0] == DATA


def _last_reason(stderr: str) -> str:
    """Return the reason at the end of a program's error message, without the program's name and the path."""
    return stderr.strip().rpartition(": ")[2] or "it took too long"
