"""Studies of results beyond their scores: scaling, contamination, similarity, violations, published results.

One module per study; `trials.py` and `paired.py` are what they share. Start reading at `scaling.py`.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.studies.cutoff import Cutoff, study_cutoff
    from assay.studies.familiarity import FamiliarityStudy, study_familiarity
    from assay.studies.obfuscation import Obfuscation, study_obfuscation
    from assay.studies.published import load_leaderboard, verify_reports
    from assay.studies.scaling import Scaling, study_scaling
    from assay.studies.similarity import compare_sources
    from assay.studies.trials import read_study_trials
    from assay.studies.violations import find_violations

__all__ = [
    "Cutoff",
    "FamiliarityStudy",
    "Obfuscation",
    "Scaling",
    "compare_sources",
    "find_violations",
    "load_leaderboard",
    "read_study_trials",
    "study_cutoff",
    "study_familiarity",
    "study_obfuscation",
    "study_scaling",
    "verify_reports",
]

__getattr__ = import_on_use(
    __name__,
    {
        "cutoff": ["Cutoff", "study_cutoff"],
        "familiarity": ["FamiliarityStudy", "study_familiarity"],
        "obfuscation": ["Obfuscation", "study_obfuscation"],
        "published": ["load_leaderboard", "verify_reports"],
        "scaling": ["Scaling", "study_scaling"],
        "similarity": ["compare_sources"],
        "trials": ["read_study_trials"],
        "violations": ["find_violations"],
    },
)
