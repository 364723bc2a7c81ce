"""The name by which verifiers, which takes modules at the top only, loads labs: `vf-eval assay-labs`."""

from assay.gym.verifiers import LabHarness, LabRollouts, LabTaskset

__all__ = ["LabHarness", "LabRollouts", "LabTaskset"]
