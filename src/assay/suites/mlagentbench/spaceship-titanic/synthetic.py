"""A miniature of the passengers: passengers in cryosleep or on the starboard side are transported more often."""

import numpy as np
import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

GROUPS = 200
HELD_BACK = 30
SERVICES = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write two tables in place of the package's, both with labels, which together hold the shuffled passengers."""
    draw = make.rng
    sizes = draw.choice([1, 2, 4], GROUPS, p=[0.6, 0.3, 0.1])
    names = [f"{group:04d}_{member:02d}" for group, size in enumerate(sizes, 1) for member in range(1, size + 1)]
    count = len(names)
    asleep, starboard = make.labels(count) == 1, make.labels(count) == 1
    cabins = zip(draw.choice(list("ABCDEFG"), count), draw.integers(0, 900, count), starboard, strict=True)
    facts = {
        "HomePlanet": draw.choice(["Earth", "Europa", "Mars"], count),
        "CryoSleep": asleep.astype(object),
        "Cabin": [f"{deck}/{number}/{'S' if side else 'P'}" for deck, number, side in cabins],
        "Destination": draw.choice(["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"], count),
        "Age": draw.integers(0, 80, count).astype(float),
        "VIP": (draw.random(count) < 0.05).astype(object),
        **{name: np.where(asleep, 0.0, draw.exponential(400, count).round()) for name in SERVICES},
        "Name": [make.words(2).title() for _ in names],
    }
    table = pd.DataFrame(facts).mask(draw.random((count, len(facts))) < 0.02)
    table.loc[[3, 17, 40, 58, 90], "Cabin"] = "T/0/P"  # a deck of very few, none of whom comes late
    table.loc[[5, count - 5], ["CryoSleep", "VIP"]] = np.nan  # so that neither side has booleans alone
    table.insert(0, "PassengerId", names)
    table["Transported"] = draw.random(count) < 0.1 + 0.6 * asleep + 0.2 * starboard
    shuffled = table.iloc[draw.permutation(count)]
    folder = job.raw / "classifier_model/dataset"
    folder.mkdir(parents=True)
    shuffled[HELD_BACK:].to_csv(folder / "train.csv", index=False)
    shuffled[:HELD_BACK].to_csv(folder / "test.csv", index=False)
