"""Search over a tree of whole-script solutions: the journal, the policies, and what models are told."""

from assay.agents.aide.journal import Choice, Journal, Node, Ran, journal_of
from assay.agents.aide.policies import POLICIES, Policy
from assay.agents.aide.settings import PolicyName, Rules

__all__ = ["POLICIES", "Choice", "Journal", "Node", "Policy", "PolicyName", "Ran", "Rules", "journal_of"]
