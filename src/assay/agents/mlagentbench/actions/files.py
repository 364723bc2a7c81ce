"""Actions on files: look, read, write, copy."""

from io import StringIO
from typing import Annotated

from assay.agents.mlagentbench.actions.model import ActionContext, action
from assay.agents.mlagentbench.actions.paths import argument, is_data, plain, writable
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.observation import ActionFailed
from assay.core.errors import UnsafePath

LOOK_SECONDS = 30.0
LARGEST_FILE = 10**7
LARGEST_VIEW = 100_000
MOST_LINES = 100


@action("List Files", returns="the names in the folder, with a `/` after each folder")
async def list_files(means: ActionContext, dir_path: Annotated[str, "a folder, such as `.` or `data`"]) -> str:
    """See which files and folders a folder of the workspace holds."""
    listed = await means.bench.execute(
        ["ls", "-F", "--", argument(plain(dir_path))], seconds=LOOK_SECONDS, changes=False
    )
    if not listed.succeeded:
        raise ActionFailed("refused", f"{dir_path!r} cannot be listed: {_reason(listed.stderr.text)}.")
    return shortened(listed.stdout.text, means.longest_output) or "The folder is empty."


@action("Read File", returns="the text of the file; of a long one, the beginning and the end")
async def read_file(means: ActionContext, file_name: Annotated[str, "the file to read"]) -> str:
    """Read a file whole."""
    return shortened(await text_of(means, file_name), means.longest_output) or "The file is empty."


@action("Write File", returns="whether the file was written")
async def write_file(
    means: ActionContext,
    file_name: Annotated[str, "the file to write; it is replaced if it exists"],
    content: Annotated[str, "the whole text of the file"],
) -> str:
    """Write a file, with the folders above it where they are missing."""
    await put(means, writable(file_name), content)
    return f"{file_name} is written: {len(content.encode()):,} bytes."


@action("Append File", returns="whether the text was added")
async def append_file(
    means: ActionContext,
    file_name: Annotated[str, "the file to add to; it is made if it does not exist"],
    content: Annotated[str, "the text to add at its end"],
) -> str:
    """Add text to the end of a file."""
    path = writable(file_name)
    before = await content_of(means, path) or b""
    await put(means, path, before + content.encode())
    return f"{file_name} is {len(content.encode()):,} bytes longer: {len(before) + len(content.encode()):,} bytes."


@action("Copy File", returns="whether the file was copied")
async def copy_file(
    means: ActionContext,
    source: Annotated[str, "the file to copy"],
    destination: Annotated[str, "the path of the copy; a file that is there is replaced"],
) -> str:
    """Copy a file to another path."""
    words = ["cp", "-T", "--", argument(plain(source)), argument(writable(destination))]
    copied = await means.bench.execute(words)
    if not copied.succeeded:
        raise ActionFailed("refused", f"{source!r} cannot be copied to {destination!r}: {_reason(copied.stderr.text)}.")
    return f"{source} is copied to {destination}."


@action("Inspect Script Lines", returns="the lines with their numbers, and how many lines the file has")
async def inspect_script_lines(
    means: ActionContext,
    script_name: Annotated[str, "the file to look into"],
    start_line_number: Annotated[int, "the number of the first line; the first line of a file is 1"],
    end_line_number: Annotated[int, f"the number of the last line; at most {MOST_LINES} lines at a time"],
) -> str:
    """Read some lines of a script."""
    lines = lines_of(await text_of(means, script_name))
    first, last = checked_lines(lines, start_line_number, end_line_number)
    if last - first + 1 > MOST_LINES:
        raise ActionFailed("refused", f"These are {last - first + 1} lines; ask for at most {MOST_LINES} at a time.")
    width = len(str(last))
    shown = "".join(f"{number:>{width}}  {lines[number - 1]}" for number in range(first, last + 1))
    told = f"{script_name} has {len(lines)} lines; here are {first} to {last}:\n\n{shown}"
    return shortened(told, means.longest_output)


def lines_of(text: str) -> list[str]:
    """The lines of a text as Python counts those of a script, each with its end."""
    return list(StringIO(text, newline="\n"))


def checked_lines(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """The numbers of lines that exist; a last line beyond the end means the end."""
    if first < 1 or last < first or first > max(1, len(lines)):
        there = f"the file has {len(lines)} lines, of which the first is 1"
        raise ActionFailed("refused", f"There are no lines {first} to {last}: {there}.")
    return first, min(last, len(lines))


async def text_of(means: ActionContext, name: str) -> str:
    """The text of a file, of a very large one its beginning; the data folder is seen from inside the lab alone."""
    path = plain(name)
    if not is_data(path):
        content = await content_of(means, path)
        if content is None:
            raise ActionFailed("refused", f"{name!r} does not exist.")
        return content.decode(errors="replace")
    words = ["head", "-c", str(LARGEST_VIEW), "--", argument(path)]
    seen = await means.bench.execute(words, seconds=LOOK_SECONDS, changes=False)
    if not seen.succeeded:
        raise ActionFailed("refused", f"{name!r} cannot be read: {_reason(seen.stderr.text)}.")
    cut = seen.stdout.total >= LARGEST_VIEW
    return seen.stdout.text + (f"\n… only the first {LARGEST_VIEW:,} bytes are shown …\n" if cut else "")


async def content_of(means: ActionContext, path: str) -> bytes | None:
    """The exact content of a file of the workspace; None if there is nothing at that path."""
    try:
        return await means.bench.read(path, most=LARGEST_FILE)
    except UnsafePath as error:
        if str(error).endswith("does not exist"):
            return None
        raise ActionFailed("refused", f"{error}.") from None


async def put(means: ActionContext, path: str, content: str | bytes) -> None:
    """Write a file of the workspace."""
    try:
        await means.bench.write(path, content)
    except UnsafePath as error:
        raise ActionFailed("refused", f"{error}.") from None


def _reason(said: str) -> str:
    """What a program's last words say, without the program's own name and the path."""
    return said.strip().rpartition(": ")[2] or "it took too long"
