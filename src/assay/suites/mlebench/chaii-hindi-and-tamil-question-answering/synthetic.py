"""A miniature of the questions: the answer follows the word of the context that the question asks for."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

QUESTIONS = 200
LANGUAGES = {"hindi": ("राजधानी", "नदी", "जन्म", "है", "क्या है?"), "tamil": ("தலைநகரம்", "ஆறு", "பிறப்பு", "ஆகும்", "எது?")}
COLUMNS = ("context", "question", "answer_text", "answer_start", "language")
UNUSUAL = ("NA", "null")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Contexts of several lines with commas and quotes; a year is the answer to every third question."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("context", "question", "answer_text", "answer_start", "language")
    }
    for number in range(QUESTIONS):
        language = "hindi" if make.rng.random() < 0.6 else "tamil"
        *topics, ending, question = LANGUAGES[language]
        topic = topics[number % 3]
        answer = str(make.rng.integers(1500, 2020)) if topic == topics[2] else make.words(2)
        if number in (11, 12):
            answer = UNUSUAL[number - 11]
        before = f'{make.words(12)}, "{make.words(2)}"\n{make.words(6)} {topic} '
        columns["context"].append(f"{before}{answer} {ending} {make.words(10)}.")
        columns["question"].append(f"{topic} {question}")
        columns["answer_text"].append(answer)
        columns["answer_start"].append(len(before))
        columns["language"].append(language)
    make.csv(job.raw / "train.csv", {"id": make.hex_ids(QUESTIONS, 9), **columns})
