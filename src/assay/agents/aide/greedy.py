"""AIDE's policy, and the control that differs from it in one word."""

from random import Random

from assay.agents.aide.journal import Choice, Journal
from assay.agents.aide.settings import Rules


def greedy(journal: Journal, random: Random, rules: Rules) -> Choice:
    """Some drafts, now and then a fix of something broken, and otherwise the best node is improved."""
    if choice := _draft_or_fix(journal, random, rules):
        return choice
    assert journal.best is not None
    return Choice("improve", (journal.best.id,))


def uniform(journal: Journal, random: Random, rules: Rules) -> Choice:
    """As greedy, but whichever good node is improved."""
    if choice := _draft_or_fix(journal, random, rules):
        return choice
    return Choice("improve", (random.choice(journal.good).id,))


def _draft_or_fix(journal: Journal, random: Random, rules: Rules) -> Choice | None:
    if len(journal.drafts) < rules.drafts:
        return Choice("draft")
    broken = journal.open_bugs(rules.max_debug_depth)
    if broken and random.random() < rules.debug_prob:
        return Choice("debug", (random.choice(broken).id,))
    return None if journal.good else Choice("draft")
