"""Studies of results beyond their scores: scaling, contamination, similarity, violations.

A study is one file with a `STUDY`, found by its entry point; `study.py` says what that is. `trials.py` and `paired.py`
are what several share. Start reading at `obfuscation.py`, the shortest one.
"""

from assay.studies.study import STUDIES, Study, StudyInput, StudyResult, StudySettings, option

__all__ = ["STUDIES", "Study", "StudyInput", "StudyResult", "StudySettings", "option"]
