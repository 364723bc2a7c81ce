"""A scripted model for smolagents: one program in the form that its code agent expects, which ends the work."""

PROGRAM = """
import csv
with open("data/test.csv") as test:
    coins = [row["coin"] for row in csv.DictReader(test)]
with open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for coin in coins:
        out.write(f"{coin},{int(int(coin) % 3 == 0)}\\n")
final_answer("submitted")
"""


def answer(messages, tools):
    """Return the program, whatever is asked."""
    return f"Thought: every third coin shows heads.\n<code>{PROGRAM}</code>"
