"""A scripted model that replies with a whole program: a broken one first, and a correct one once it sees the error."""

PROGRAM = """\
import csv
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        out.write(f"{row['coin']},{int(int(row['coin']) % 3 == 0)}\\n")
"""


def answer(messages, tools):
    """Return the file in the form that aider asks models for."""
    seen = any("ModuleNotFoundError" in message.text for message in messages if message.role == "user")
    program = PROGRAM if seen else "import no_such_module\n"
    return f"Here it is.\n\nsolution.py\n```\n{program}```\n"
