"""A miniature of the spaceship data: cryosleep makes being transported likelier, spending less likely."""

import numpy as np
import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

GROUPS = 350
SERVICES = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write one table of passengers, numbered by travel group, with missing values in all columns but two."""
    sizes = make.rng.choice([1, 2, 3], GROUPS, p=[0.6, 0.25, 0.15])
    names = [f"{group:04d}_{member:02d}" for group, size in enumerate(sizes, 1) for member in range(1, size + 1)]
    count, draw = len(names), make.rng.choice
    asleep = make.labels(count).astype(bool)
    spent = {name: np.where(asleep, 0, draw([0, 25, 300, 1200], count)).astype(float) for name in SERVICES}
    decks, numbers, sides = draw(list("ABCDEFG"), count), make.rng.integers(0, 1500, count), draw(["P", "S"], count)
    facts = pd.DataFrame(
        {
            "HomePlanet": draw(["Earth", "Europa", "Mars"], count),
            "CryoSleep": asleep.astype(object),
            "Cabin": [f"{deck}/{number}/{side}" for deck, number, side in zip(decks, numbers, sides, strict=True)],
            "Destination": draw(["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"], count),
            "Age": make.rng.integers(0, 80, count).astype(float),
            "VIP": (make.rng.random(count) < 0.05).astype(object),
            **spent,
            "Name": [make.words(2).title() for _ in range(count)],
        }
    )
    facts = facts.mask(make.rng.random(facts.shape) < 0.02)
    vanished = np.where(make.rng.random(count) < 0.9, asleep, ~asleep)
    facts.insert(0, "PassengerId", names)
    facts.assign(Transported=vanished).to_csv(job.raw / "train.csv", index=False)
