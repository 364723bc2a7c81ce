"""An external agent that sends requests which the model's provider rejects, and then fills its own disk.

Neither may pass for a failure of the provider or the machine.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ["ANTHROPIC_BASE_URL"] + "/v1/chat/completions"
statuses = []
for content in ["odd", "\ud800", "<|endoftext|>", "odd", "odd", "odd", "odd"]:
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    try:
        statuses.append(urllib.request.urlopen(URL, body).status)
    except urllib.error.HTTPError as error:
        statuses.append(error.code)
print(statuses, flush=True)
if sys.argv[1:] == ["fill"]:
    with Path("mine.csv").open("wb") as own:
        own.write(b"coin,side\n")
    with Path("filler").open("wb") as filler:
        try:
            while filler.write(bytes(2**20)):
                pass
        except OSError:
            pass
