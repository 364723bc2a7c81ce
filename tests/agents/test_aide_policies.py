"""Search policies as pure functions of journal and random state; sequences worked out by hand."""

import math
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from assay.agents.aide import POLICIES, Choice, PolicySettings
from assay.agents.aide.journal import open_bugs
from assay.records import Journal
from assay.records.events import Execution, SearchNode

DRAFT = Choice("draft")


def improve(parent):
    return Choice("improve", (parent,))


def debug(parent):
    return Choice("debug", (parent,))


def done(id, operator="draft", parents=(), metric=None, code="pass"):
    """Return an evaluated node, which is good if it has a metric."""
    status = "buggy" if metric is None else "good"
    return SearchNode(id=id, operator=operator, parents=parents, code=code, metric=metric, status=status)


def journal(*nodes, direction="higher"):
    return Journal(direction, nodes)


def grow(settings, outcomes, *, seed=0, at_once=1, direction="higher"):
    """Let a policy choose one node per outcome, which is the node's metric or None for a buggy node."""
    grown, chosen = Journal(direction), []
    while len(grown.nodes) < len(outcomes):
        first = len(grown.nodes)
        for id in range(first, min(first + at_once, len(outcomes))):
            choice = POLICIES.load(settings.policy)(grown, Random(f"{seed} {id}"), settings)
            chosen.append(choice)
            grown = grown.put(SearchNode(id=id, operator=choice.operator, parents=choice.parents))
        for node in grown.nodes[first:]:
            grown = grown.put(done(node.id, node.operator, node.parents, outcomes[node.id]))
    return chosen


def test_greedy_drafts_debugs_and_then_improves_the_best():
    settings = PolicySettings(drafts=3, debug_prob=1)
    assert grow(settings, [0.5, None, 0.4, None, 0.7, 0.6, 0.9, 0.1]) == [
        DRAFT, DRAFT, DRAFT,
        debug(1), debug(3),  # the fix failed too, so it is debugged itself
        improve(4),  # the fixed node is the best now, with .7
        improve(4),  # .6 was no improvement
        improve(6),
    ]  # fmt: skip


def test_the_lowest_metric_is_improved_if_lower_is_better():
    assert grow(PolicySettings(drafts=2), [0.5, 0.4, 0.3, 0.6, 0.7], direction="lower")[2:] == [
        improve(1),
        improve(2),
        improve(2),
    ]


def test_ablation_measures_refines_measures_again_and_combines_at_the_end():
    settings = PolicySettings(policy="ablation", drafts=1, patience=2, final_share=0.25)
    grown = journal(done(0, metric=0.5))
    choices = []
    for id, metric in enumerate([None, 0.6, 0.4, None, 0.7, 0.1, None], start=1):
        choice = POLICIES.load("ablation")(replace(grown, spent=id / 9), Random(0), settings)
        choices.append(choice)
        node = done(id, choice.operator, choice.parents, metric)
        grown = grown.put(node.model_copy(update={"status": "measured"}) if choice.operator == "ablate" else node)
    assert choices == [
        Choice("ablate", (0,)), Choice("refine", (0, 1)), Choice("refine", (2, 1)),  # .6 is the best now
        Choice("ablate", (2,)), Choice("refine", (2, 4)), Choice("refine", (5, 4)),
        Choice("crossover", (5, 2)),  # the last quarter
    ]  # fmt: skip


def test_ablation_measures_again_what_could_not_be_measured_and_waits_for_no_measurement():
    settings = PolicySettings(policy="ablation", drafts=1, debug_prob=1)
    policy, good = POLICIES.load("ablation"), done(0, metric=0.5)
    failed = journal(good, done(1, "ablate", (0,)))
    assert policy(failed, Random(0), settings) == Choice("ablate", (0,))
    pending = journal(good, SearchNode(id=1, operator="ablate", parents=(0,)))
    assert policy(pending, Random(0), settings) == improve(0)


def test_the_oldest_node_wins_ties():
    assert grow(PolicySettings(drafts=2), [0.5, 0.5, 0.5])[2:] == [improve(0)]


@pytest.mark.parametrize("policy", ["greedy", "random"])
def test_a_node_is_abandoned_after_too_many_failed_fixes(policy):
    settings = PolicySettings(policy=policy, drafts=1, debug_prob=1, max_debug_depth=2)
    # Two fixes of node 0 are tried, nodes 1 and 2.
    assert grow(settings, [None] * 5) == [DRAFT, debug(0), debug(1), DRAFT, debug(3)]


def test_buggy_nodes_are_ignored_without_debugging():
    assert grow(PolicySettings(drafts=1, debug_prob=0), [None, None, 0.1, 0.2]) == [DRAFT, DRAFT, DRAFT, improve(2)]


def test_greedy_debugs_with_the_given_probability():
    state = journal(done(0, metric=0.5), done(1))
    settings = PolicySettings(drafts=2, debug_prob=0.3)
    counts = Counter(POLICIES.load("greedy")(state, Random(seed), settings).operator for seed in range(2_000))
    # Four standard deviations of a binomial with 2,000 draws at .3 are 82.
    assert set(counts) == {"debug", "improve"} and abs(counts["debug"] - 600) < 82


@pytest.mark.parametrize("policy", POLICIES.names())
def test_a_node_without_a_script_is_never_debugged(policy):
    settings = PolicySettings(policy=policy, drafts=1, debug_prob=1)
    assert POLICIES.load(policy)(journal(done(0, code="")), Random(0), settings) == DRAFT


def test_random_improves_all_good_nodes_with_equal_probability():
    state = journal(done(0, metric=0.9), done(1), done(2, metric=0.1), done(3, metric=0.5))
    settings = PolicySettings(policy="random", drafts=4, debug_prob=0)
    counts = Counter(POLICIES.load("random")(state, Random(seed), settings) for seed in range(3_000))
    assert set(counts) == {improve(0), improve(2), improve(3)}
    # Four standard deviations of a binomial with 3,000 draws at 1/3 are 104.
    assert all(abs(count - 1_000) < 104 for count in counts.values())


def test_nothing_can_be_improved_before_parallel_drafts_are_done():
    assert grow(PolicySettings(drafts=3), [0.1, 0.2, 0.3, 0.4, 0.5], at_once=4) == [
        DRAFT,
        DRAFT,
        DRAFT,
        DRAFT,
        improve(3),
    ]
    # The fourth was a draft too: nothing could be improved before the first three were done.


def test_a_node_is_not_debugged_twice_in_parallel():
    settings = PolicySettings(drafts=2, debug_prob=1)
    assert grow(settings, [None, 0.5, 0.6, 0.4], at_once=2)[2:] == [debug(0), improve(1)]


def test_mcts_descends_to_the_highest_uct():
    settings = PolicySettings(policy="mcts", width=2, exploration=0.25)
    # After two drafts and two children of the better one: values .2, .8, .6, 1.0; worst .2, best 1.
    state = journal(
        done(0, metric=0.2), done(1, metric=0.8), done(2, "improve", (1,), 0.6), done(3, "improve", (1,), 1.0)
    )
    # Node 0: 0 + .25 sqrt(ln 4 / 1) = .294. Node 1: mean .8 -> .75 + .25 sqrt(ln 4 / 3) = .920: down to it.
    # Node 2: .5 + .25 sqrt(ln 3) = .762. Node 3: 1 + .25 sqrt(ln 3) = 1.262: its children are begun.
    assert POLICIES.load("mcts")(state, Random(0), settings) == improve(3)
    # With a high exploration weight: node 0 has 0 + 2 * 1.177 = 2.355, node 1 .75 + 2 * .680 = 2.110.
    assert POLICIES.load("mcts")(state, Random(0), PolicySettings(policy="mcts", width=2, exploration=2)) == improve(0)


def test_mcts_expands_all_children_before_descending():
    settings = PolicySettings(policy="mcts", width=3)
    outcomes = [0.5, 0.6, 0.1, 0.2, 0.3, 0.4, 0.9, 0.9, 0.9]
    # Node 1 is the best of the drafts. Its children are bad: its mean .375, of values from .1 to .6, is .55, which with
    # .25 sqrt(ln 6 / 4) = .167 makes .717. Node 0 has .8 + .25 sqrt(ln 6) = 1.135.
    assert grow(settings, outcomes) == [DRAFT] * 3 + [improve(1)] * 3 + [improve(0)] * 3


def test_mcts_debugs_at_once_and_continues_from_the_fix():
    settings = PolicySettings(policy="mcts", width=2)
    assert grow(settings, [None, None, 0.9, 0.3, 0.1, 0.2]) == [
        DRAFT,
        debug(0),
        debug(1),
        DRAFT,
        improve(2),
        improve(2),
    ]


def test_mcts_never_descends_into_a_dead_node():
    settings = PolicySettings(policy="mcts", width=2, max_debug_depth=1)
    assert grow(settings, [None, None, 0.1, 0.2, 0.3]) == [DRAFT, debug(0), DRAFT, improve(2), improve(2)]
    assert grow(settings, [None, None, None, None, 0.1, 0.2]) == [DRAFT, debug(0), DRAFT, debug(2), DRAFT, improve(4)]


def test_virtual_loss_spreads_nodes_chosen_in_parallel():
    settings = PolicySettings(policy="mcts", width=2, exploration=1)
    state = journal(
        done(0, metric=0.8), done(1, metric=0.7),
        done(2, "improve", (0,), 0.75), done(3, "improve", (0,), 0.79),
        done(4, "improve", (1,), 0.74), done(5, "improve", (1,), 0.73),
    )  # fmt: skip
    for id in (6, 7):
        # Worst .7, best .8. Node 0: mean .78 -> .8 + sqrt(ln 6 / 3) = 1.573, node 1: .233 + .773 = 1.006; below node 0,
        # node 2: .5 + sqrt(ln 3), node 3: .9 + sqrt(ln 3). When its first child is begun, the second follows.
        assert POLICIES.load("mcts")(state, Random(0), settings) == improve(3)
        state = state.put(SearchNode(id=id, operator="improve", parents=(3,)))
    # Two virtual losses. Node 0: mean .748 -> .48 + sqrt(ln 8 / 5) = 1.125, node 1: .233 + .833 = 1.066.
    # Node 2: .5 + sqrt(ln 5) = 1.769, and node 3, with a mean of .73: .3 + sqrt(ln 5 / 3) = 1.032.
    assert POLICIES.load("mcts")(state, Random(0), settings) == improve(2)


def test_mcts_does_not_descend_into_a_pending_node():
    settings = PolicySettings(policy="mcts", width=1)
    assert POLICIES.load("mcts")(journal(SearchNode(id=0, operator="draft")), Random(0), settings) == DRAFT


def test_evolution_crosses_over_only_in_later_generations():
    settings = PolicySettings(policy="evolution", population=3, crossover_prob=1, crossover_from=2)
    outcomes = [0.1, None, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    chosen = grow(settings, outcomes)
    assert [choice.operator for choice in chosen] == [
        "draft", "draft", "debug", "draft",  # a fix does not count in the size of a generation
        "improve", "improve", "improve",
        "crossover", "crossover",
    ]  # fmt: skip
    for choice in chosen[-2:]:
        assert len(set(choice.parents)) == 2
    assert chosen[2] == debug(1)


def test_evolution_improves_a_single_parent_and_drafts_without_any():
    settings = PolicySettings(policy="evolution", population=1, crossover_prob=1, crossover_from=1, max_debug_depth=0)
    assert POLICIES.load("evolution")(journal(done(0, metric=0.1)), Random(0), settings) == improve(0)
    given_up = journal(done(0), done(1, "debug", (0,)))
    assert POLICIES.load("evolution")(given_up, Random(0), settings) == DRAFT


def test_evolution_draws_parents_by_a_softmax_of_their_metrics():
    settings = PolicySettings(policy="evolution", population=2, crossover_prob=0, temperature=0.5)
    state = journal(done(0, metric=10), done(1, metric=30), direction="lower")
    counts = Counter(POLICIES.load("evolution")(state, Random(seed), settings).parents[0] for seed in range(4_000))
    # The better one, 10, counts 1 and the other 0; divided by the temperature: e^2 against e^0.
    expected = 4_000 * math.exp(2) / (math.exp(2) + 1)
    assert abs(counts[0] - expected) < 4 * math.sqrt(expected * (1 - expected / 4_000))


def test_evolution_admits_parents_at_least_as_good_as_the_average_and_drops_the_worst():
    settings = PolicySettings(policy="evolution", population=3, crossover_prob=0, max_pool=3)
    state = journal(
        done(0, metric=1), done(1, metric=2), done(2, metric=3),
        done(3, "improve", (0,), 1.9),  # below 2, the average: not let in
        done(4, "improve", (0,), 5),  # let in; 1, the worst of four, goes
        done(5, "improve", (0,), 2.5),  # below 10/3
    )  # fmt: skip
    parents = {POLICIES.load("evolution")(state, Random(seed), settings).parents for seed in range(300)}
    assert parents == {(1,), (2,), (4,)}


@pytest.mark.parametrize("policy", POLICIES.names())
@pytest.mark.parametrize("at_once", [1, 3])
def test_policies_are_deterministic_given_the_seed(policy, at_once):
    dice = Random(1)
    outcomes = [None if dice.random() < 0.3 else dice.random() for _ in range(60)]
    settings = PolicySettings(policy=policy)
    trees = [grow(settings, outcomes, seed=seed, at_once=at_once) for seed in (1, 1, 2)]
    assert trees[0] == trees[1]
    assert (trees[0] != trees[2]) == (policy != "mcts")  # which is deterministic


@pytest.mark.parametrize("policy", POLICIES.names())
def test_every_choice_has_valid_parents(policy):
    for seed in range(20):
        dice = Random(seed)
        outcomes = [dice.choice([None, 0.0, -1e100, 1e100, dice.random()]) for _ in range(80)]
        settings = PolicySettings(policy=policy, drafts=2, width=2, population=2)
        for id, choice in enumerate(grow(settings, outcomes, seed=seed, at_once=dice.randint(1, 4))):
            assert all(parent < id for parent in choice.parents)
            assert len(choice.parents) == {"draft": 0, "crossover": 2, "refine": 2}.get(choice.operator, 1)
            broken = [outcomes[parent] is None for parent in choice.parents]
            assert all(broken) if choice.operator == "debug" else not any(broken)


def failed(id, **more):
    """Return a failed node, which is a fix of the one before it."""
    fix = {"operator": "debug", "parents": (id - 1,)} if id else {"operator": "draft"}
    return SearchNode(id=id, code="x", status="buggy", reason="it failed", **fix, **more)


def test_a_bug_is_given_up_once_its_fixes_took_too_long():
    ran = Execution(ended="exit", code=1, seconds=100.0, output="")
    journal = Journal("higher", tuple(failed(id, execution=ran) for id in range(3)))
    assert [node.id for node in open_bugs(journal, 9, 300.0)] == [2]
    assert open_bugs(journal, 9, 299.0) == ()


@pytest.mark.parametrize(("rules", "fixes"), [("default", 2), ("published", 3)])
def test_the_published_rules_try_one_more_fix(rules, fixes):
    """AIDE compares the number of fixes so far with `<=`."""
    nodes = (failed(0),)
    settings = PolicySettings(rules=rules, drafts=1, debug_prob=1.0, max_debug_depth=2)
    while (choice := POLICIES.load("greedy")(Journal("higher", nodes), Random(0), settings)).operator == "debug":
        nodes = (*nodes, failed(len(nodes)))
    assert len(nodes) - 1 == fixes and choice.operator == "draft"


def test_restarts_drafts_again_after_tries_without_a_gain_but_not_at_the_end():
    settings = PolicySettings(policy="restarts", drafts=1, patience=2, final_share=0.25)
    state = journal(done(0, metric=0.5), done(1, "improve", (0,), metric=0.4), done(2, "improve", (0,), metric=0.3))
    assert POLICIES.load("restarts")(state, Random(0), settings) == DRAFT
    assert POLICIES.load("restarts")(replace(state, spent=0.75), Random(0), settings) == improve(0)
    restarted = journal(*state.nodes, done(3, metric=0.1))
    assert POLICIES.load("restarts")(restarted, Random(0), settings) == improve(3), "the new line, not the best of all"
    assert POLICIES.load("restarts")(replace(restarted, spent=0.9), Random(0), settings) == improve(0)


def test_a_policy_of_your_own_is_a_function_in_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from assay.agents.aide import Choice\n\n\ndef mine(journal, random, settings):\n    return Choice('draft')\n"
    )
    settings = PolicySettings(policy=f"{path}:mine")
    assert POLICIES.load(settings.policy)(journal(), Random(0), settings) == DRAFT
    path.write_text(path.read_text() + "# changed\n")
    with pytest.raises(ValueError, match="has changed since the trial was planned"):
        PolicySettings.model_validate(settings.model_dump())
    with pytest.raises(ValueError, match="unknown policy 'greed'"):
        PolicySettings(policy="greed")
