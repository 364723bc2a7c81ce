"""A miniature of detecting-insults-in-social-commentary: some words are insulting, most are neutral."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

INSULTS = ("you snorvik", "what a plimpy grobb", "dumfrid like you")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 300 comments for training and 150 for the test, one in three of them without a date."""
    make.csv(job.raw / "train.csv", comments(make, 300))
    usage = make.rng.choice(["PublicTest", "PrivateTest"], 150)
    test = comments(make, 150)
    test["Comment"] = repeat_some(test["Comment"])
    make.csv(job.raw / "test_with_solutions.csv", {**test, "Usage": usage.tolist()})


def comments(make: Miniature, count: int) -> dict[str, Sequence[object]]:
    """Return the columns of a table of comments."""
    labels = make.labels(count).tolist()
    return {
        "Insult": labels,
        "Date": [date(make) if number % 3 else None for number in range(count)],
        "Comment": [comment(make, label) for label in labels],
    }


def repeat_some(texts: Sequence[object]) -> list[object]:
    """Return the texts with every tenth one in place of the next, so that a comment has two labels."""
    return [texts[row - 1] if row % 10 == 1 else text for row, text in enumerate(texts)]


def date(make: Miniature) -> str:
    """Return a random time in 2012, to the second."""
    moment = datetime(2012, 1, 1) + timedelta(seconds=int(make.rng.integers(366 * 86400)))
    return moment.strftime("%Y%m%d%H%M%SZ")


def comment(make: Miniature, insult: int) -> str:
    """Return quoted text; insulting words occur in nine of ten insults and one of ten other comments."""
    insulting = make.rng.random() < (0.9 if insult else 0.1)
    middle = make.rng.choice(INSULTS) if insulting else make.words(2)
    return f'"{make.words(6)}, {middle}\\n\\xa0{make.words(4)} {make.rng.integers(10**6)}"'
