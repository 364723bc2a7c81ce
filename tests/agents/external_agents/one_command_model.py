"""A scripted model that does all the work in one command, with any tool that runs commands, and then stops."""

PROGRAM = """python - <<'END'
import csv
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        out.write(f"{row['coin']},{int(int(row['coin']) % 3 == 0)}\\n")
END"""
NAMES = ("bash", "shell", "exec_command", "run_shell_command", "local_shell", "shell_command", "terminal")


def answer(messages, tools):
    """Return the command if a tool can run it and it was not run yet; otherwise a final reply."""
    shells = [tool for tool in tools if tool.name.lower() in NAMES]
    if not shells or any(message.role == "tool" for message in messages):
        return "Done."
    tool = shells[0]
    fields = tool.parameters["properties"]
    name = next(field for field in ("command", "cmd") if field in fields)
    command = ["bash", "-lc", PROGRAM] if fields[name].get("type") == "array" else PROGRAM
    texts = [field for field in tool.parameters["required"] if fields[field].get("type") == "string"]
    needed = {field: fields[field].get("enum", ["because"])[0] for field in texts}
    return {"tool_calls": [{"name": tool.name, "arguments": {**needed, name: command}}]}
