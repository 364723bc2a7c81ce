"""A miniature of the H&M purchases: customers have a favorite section, and buy again what they bought before."""

from datetime import date, timedelta

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

CUSTOMERS = 90
ARTICLES = 60
SECTIONS = ["Divided", "Ladies", "Menswear", "Kids", "Sport"]
DAYS = 60
DAILY = 25  # purchases per day


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Each customer buys from one section; purchases are sorted by date, and some repeat within a day."""
    customers = make.hex_ids(CUSTOMERS, 64)
    numbers = np.sort(make.rng.choice(800_000, ARTICLES, replace=False) + 108_775) * 1000 + make.rng.integers(
        1, 90, ARTICLES
    )
    articles = [f"{number:010d}" for number in numbers]
    sections, favorite = make.labels(ARTICLES, len(SECTIONS)), make.labels(CUSTOMERS, len(SECTIONS))
    rows: list[tuple[str, str, str, float, int]] = []
    for day in range(DAYS):
        bought = (date(2020, 7, 25) + timedelta(days=day)).isoformat()
        for _ in range(DAILY):
            customer = int(make.rng.integers(CUSTOMERS))
            on_sale = np.arange(0 if day < DAYS // 2 else 12, ARTICLES)  # those of the sample submission are soon gone
            own = on_sale[sections[on_sale] == favorite[customer]]
            article = articles[int(make.rng.choice(own if make.rng.random() < 0.9 else on_sale))]
            row = (
                bought,
                customers[customer],
                article,
                float(make.rng.uniform(0.004, 0.09)),
                int(make.rng.integers(1, 3)),
            )
            rows += [row] * int(make.rng.choice([1, 1, 1, 2]))
    names = ("t_dat", "customer_id", "article_id", "price", "sales_channel_id")
    make.csv(job.raw / "transactions_train.csv", {name: [row[at] for row in rows] for at, name in enumerate(names)})
    make.csv(
        job.raw / "articles.csv",
        {
            "article_id": articles,
            "product_code": [article[:7] for article in articles],
            "prod_name": [make.words(2) for _ in articles],
            "index_group_name": [SECTIONS[section] for section in sections],
            "detail_desc": [f"{make.words(4)}, {make.words(3)}." for _ in articles],
        },
    )
    make.csv(
        job.raw / "customers.csv",
        {
            "customer_id": customers,
            "FN": make.rng.choice([1.0, np.nan], CUSTOMERS),
            "club_member_status": ["ACTIVE"] * CUSTOMERS,
            "age": make.rng.integers(16, 80, CUSTOMERS),
            "postal_code": make.hex_ids(CUSTOMERS, 64),
        },
    )
    make.csv(
        job.raw / "sample_submission.csv",
        {"customer_id": customers, "prediction": [" ".join(articles[:12])] * CUSTOMERS},
    )
    for article, section in zip(articles[:20], sections, strict=False):
        make.image(
            job.raw / "images" / article[:3] / f"{article}.jpg", make.texture((12, 8, 3), section / len(SECTIONS))
        )
