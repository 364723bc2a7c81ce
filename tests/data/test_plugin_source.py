"""Raw data from a source of the task's own."""

import pytest
from data_packages import CONTENT, MakeTask

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare

COPY = "def prepare(job): (job.public / 'a').write_bytes((job.raw / 'a.csv').read_bytes())"
FETCH = """
def fetch(request):
    text = request.task.source.settings["text"]
    (request.scratch / "a.csv").write_text(text)
    return request.finish("plugin", verified=not request.unverified)
"""


@pytest.mark.parametrize("variant", ["real", "unverified"])
def test_a_function_in_the_task_folder_fetches_raw_data(alone: Home, toy: MakeTask, variant: str) -> None:
    task = toy(COPY, plugin="fetch.py:fetch", settings={"text": CONTENT.decode()})
    (task.folder / "fetch.py").write_text(FETCH)
    prepared = prepare(alone, task, variant=variant, progress=NoProgress())
    assert (prepared.public / "a").read_bytes() == CONTENT
    assert (prepared.manifest.origin.kind, prepared.manifest.origin.verified) == ("plugin", variant == "real")


def test_an_unknown_source_is_explained(alone: Home, toy: MakeTask) -> None:
    with pytest.raises(UsageError, match="no source is called 'kagle'; did you mean kaggle"):
        prepare(alone, toy(COPY, plugin="kagle"), variant="real", progress=NoProgress())
