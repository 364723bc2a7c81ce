"""What agents written for MLE-bench's container find in a lab with its layout."""

from pathlib import PurePosixPath

from assay.agents.external.endpoint import MAX_VALIDATIONS
from assay.agents.prompts import Templates
from assay.lab.interface import Lab
from assay.tasks import Task

VALIDATION_PORT = 5000
VARIABLES = {
    "SUBMISSION_DIR": "/home/submission",
    "LOGS_DIR": "/home/logs",
    "CODE_DIR": "/home/code",
    "AGENT_DIR": "/home/agent",
    # The real name would tell agents which competition it is, and where its solutions are.
    "COMPETITION_ID": "competition",
}
_VALIDATE = """\
#!/bin/bash
# Check the format of a submission: validate_submission.sh FILE
if [ ! -f "$1" ]; then
    echo "usage: $0 FILE; ${1:-no file} is not a file" >&2
    exit 1
fi
exec python - "$1" <<'END'
import sys
import urllib.error
import urllib.request
import uuid

with open(sys.argv[1], "rb") as file:
    content = file.read()
edge = uuid.uuid4().hex
head = f'--{edge}\\r\\nContent-Disposition: form-data; name="file"; filename="submission.csv"\\r\\n\\r\\n'.encode()
body = head + content + f"\\r\\n--{edge}--\\r\\n".encode()
headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
request = urllib.request.Request("http://localhost:5000/validate", body, headers)
try:
    print(urllib.request.urlopen(request).read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
END
"""


def submission_path(task: Task) -> str:
    """Return where such agents write their submission, relative to `/home`."""
    return f"submission/{PurePosixPath(task.submission.file).name}"


async def write_layout(lab: Lab, task: Task, *, obfuscated: bool) -> None:
    """Write the instructions and the script that checks a submission."""
    texts = Templates("assay.agents")
    name = "instructions_obfuscated" if obfuscated else "instructions"
    text = texts.fill(name, submission=f"/home/{submission_path(task)}", validations=str(MAX_VALIDATIONS))
    await lab.write("instructions.txt", text.encode())
    await lab.write("validate_submission.sh", _VALIDATE.encode())
