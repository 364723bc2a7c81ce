"""Miniature raw data for AI4Code: a text cell names what the code cell after it computes."""

import json

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

NOTEBOOKS = 420
FIRST_CELL = 0x10000000


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Notebooks in families of one to three; in a file, code cells are in order and text cells are not."""
    ids, ancestors = make.hex_ids(NOTEBOOKS, 14), make.hex_ids(NOTEBOOKS, 8)
    drawn = make.rng.choice(NOTEBOOKS, NOTEBOOKS).tolist()
    families = [family if make.rng.random() < 0.3 else number for number, family in enumerate(drawn)]
    parents = [str(make.rng.choice(ids)) if make.rng.random() < 0.3 else None for _ in ids]
    originals = [ancestors[family] for family in families]
    make.csv(job.raw / "train_ancestors.csv", {"id": ids, "ancestor_id": originals, "parent_id": parents})
    (job.raw / "train").mkdir()
    orders = []
    for id in ids:
        notebook, order = _notebook(make)
        (job.raw / "train" / f"{id}.json").write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")
        orders.append(" ".join(order))
    shuffled = make.rng.permutation(NOTEBOOKS)
    make.csv(
        job.raw / "train_orders.csv",
        {"id": [ids[row] for row in shuffled], "cell_order": [orders[row] for row in shuffled]},
    )


def _notebook(make: Miniature) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return a notebook as it is stored, and its cell ids in the true order."""
    count = int(make.rng.integers(1, 7))
    numbers = make.rng.choice(2**28, 2 * count, replace=False)
    cells = [f"{FIRST_CELL + int(number):08x}" for number in numbers]
    code, texts = cells[:count], cells[count:]
    names = [make.words(1) for _ in code]
    explained = [bool(make.rng.random() < 0.6) for _ in code]
    sources = {cell: f'{name} = compute("{name}")\nprint({name})' for cell, name in zip(code, names, strict=True)}
    order = []
    for cell, text, name, has_text in zip(code, texts, names, explained, strict=True):
        if has_text:
            sources[text] = f"## {make.words(3)}: “{name}”, {make.words(2)}"
        order += [text, cell] if has_text else [cell]
    shuffled = code + make.rng.permutation([cell for cell in order if cell not in code]).tolist()
    kinds = {cell: "code" if cell in code else "markdown" for cell in shuffled}
    return {"cell_type": kinds, "source": {cell: sources[cell] for cell in shuffled}}, order
