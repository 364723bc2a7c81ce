"""The name by which verifiers loads `assay.gym.verifiers`: it takes modules at the top only, as in `vf-eval assay-labs`."""

from assay.gym.verifiers import LabHarness, LabRollouts, LabTaskset

__all__ = ["LabHarness", "LabRollouts", "LabTaskset"]
