"""Run an agent's command in the lab, with ports on the lab's own 127.0.0.1 forwarded to the harness's socket.

Usage: relay SOCKET PORT[,PORT] COMMAND…. Input on stdin asks the command to end.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path


async def main(socket: Path, ports: list[int], command: list[str]) -> int:
    """Run the command to its end, and return its exit code as a shell would."""
    # The path of a socket is limited to 107 characters; through its folder's descriptor it is always short.
    folder = os.open(socket.parent, os.O_RDONLY | os.O_DIRECTORY)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_host, to_host = await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{socket.name}")
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy_stream(reader, to_host), copy_stream(from_host, writer))
        writer.close()
        to_host.close()

    async with contextlib.AsyncExitStack() as servers:
        for port in ports:
            await servers.enter_async_context(await asyncio.start_server(forward, "127.0.0.1", port))
        try:
            child = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, start_new_session=True)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            return 127
        asyncio.get_running_loop().add_reader(0, handle_input, child)
        code = await child.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        return 128 - code if code < 0 else code


async def copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy a stream to its end."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


def handle_input(child: Process) -> None:
    """Terminate the command when the harness sends anything."""
    if os.read(0, 4096):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
    else:
        asyncio.get_running_loop().remove_reader(0)


if __name__ == "__main__":
    # Exit without waiting for connections that are still open.
    os._exit(asyncio.run(main(Path(sys.argv[1]), [int(port) for port in sys.argv[2].split(",")], sys.argv[3:])))
