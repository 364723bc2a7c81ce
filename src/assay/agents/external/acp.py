"""Runs in the lab: gives the task to an agent that speaks the Agent Client Protocol (version 1), and waits for its end.

The agent's tools act in the lab by themselves, so this client offers none; it grants every permission, because the lab
is the sandbox. What the agent sends is kept in `acp.jsonl`. Uses only the standard library: `acp.py TASK COMMAND…`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = 1
TRAJECTORY = "acp.jsonl"


class Agent:
    """An agent process, with which JSON-RPC messages are exchanged, one a line."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._requests = 0

    def request(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a request, answer what the agent asks meanwhile, and return the result."""
        self._requests += 1
        number = self._requests
        self._send({"id": number, "method": method, "params": parameters})
        for message in self._receive():
            if message.get("method"):
                self._answer(message)
            elif message.get("id") == number:
                if "error" in message:
                    raise SystemExit(f"acp: {method}: {message['error']}")
                return message.get("result") or {}
        raise SystemExit(f"acp: the agent ended before it answered {method}")

    def close(self) -> int:
        """Close its input, at which an agent ends, and return its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return 0  # its work had ended; it only did not exit

    def _receive(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        with Path(TRAJECTORY).open("ab") as trajectory:
            for line in self._process.stdout:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue  # some agents print notices before they start
                if isinstance(message, dict):
                    trajectory.write(line)
                    trajectory.flush()
                    yield message

    def _answer(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            return  # a notification, such as session/update
        if message["method"] != "session/request_permission":
            unknown = {"code": -32601, "message": f"this client does not offer {message['method']}"}
            self._send({"id": message["id"], "error": unknown})
            return
        options = message["params"]["options"]
        allowed = [option for option in options if option["kind"].startswith("allow")] or options
        outcome = {"outcome": "selected", "optionId": allowed[0]["optionId"]}
        self._send({"id": message["id"], "result": {"outcome": outcome}})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SystemExit("acp: the agent ended before it was asked") from None


def main(task: str, command: list[str]) -> int:
    """Run the agent on the task in this folder."""
    text = Path(task).read_text("utf-8")
    agent = Agent(command)
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    agent.request("initialize", protocolVersion=VERSION, clientCapabilities=capabilities)
    session = agent.request("session/new", cwd=str(Path.cwd()), mcpServers=[])["sessionId"]
    done = agent.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
    sys.stdout.write(f"stopped: {done.get('stopReason')}\n")
    sys.stdout.flush()
    return agent.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
