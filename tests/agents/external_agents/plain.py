"""A small external agent: requests a program through OpenAI's protocol, runs it and ends."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path


def ask(text):
    body = {"model": "whatever-5", "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
    program = ask(Path("task.md").read_text())
    print(program)
    subprocess.run([sys.executable, "-c", program], check=True)
with urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/validate", b"") as answer:
    print(answer.read().decode())
