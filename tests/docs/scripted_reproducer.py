"""A scripted model for the pages on reproducing papers: it submits the sample submission, or runs the starter."""

import json

STARTER = ("Execute Script", {"script_name": "train.py"})
SAMPLE = ("Copy File", {"source": "data/sample_submission.csv", "destination": "submission.csv"})
END = ("Final Answer", {"final_answer": "Done."})
COPY = """I will start from the sample submission.

```python
import shutil
from pathlib import Path

shutil.copyfile(next(Path("data").glob("sample_submission.csv*")), "submission.csv")
print("METRIC:", 0.5)
```
"""
PUBLISHED = COPY.replace('"data"', '"input"').replace('"submission.csv")', '"submission/submission.csv")')


def answer(messages, tools):
    """Return what is asked for: a verdict or review, a continuation, an action of MLAgentBench, or a script."""
    if tools and tools[0].name == "answer":
        verdict = {"violation": False, "quotes": [], "reason": "It trains a model."}
        return {"tool_calls": [{"name": "answer", "arguments": verdict}]}
    if tools:
        arguments = {"is_bug": False, "has_csv_submission": True, "summary": "It works.", "metric": 0.5}
        arguments["lower_is_better"] = True
        return {"tool_calls": [{"name": tools[0].name, "arguments": arguments}]}
    prompt = "\n".join(message.text for message in messages)
    if "Continue the text" in prompt:
        return {"text": " the", "top_logprobs": {" the": -1.0, " a": -2.0}}
    if "Action Input" not in prompt:
        return PUBLISHED if "./submission/" in prompt else COPY
    first = SAMPLE if "sample_submission.csv" in prompt else STARTER
    name, arguments = END if "Observation:\n" in messages[-1].text else first
    fields = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")
    thoughts = "".join(f"{field}: Fine.\n" for field in fields)
    return f"{thoughts}Action: {name}\nAction Input: {json.dumps(arguments)}"
