"""Parsing action calls from text replies."""

import pytest

from assay.agents.mlagentbench.actions import ACTIONS
from assay.agents.mlagentbench.react import React
from assay.agents.mlagentbench.research import Research, strip_marks
from assay.agents.mlagentbench.text_protocol import describe_actions, describe_fields, format_turn, parse_text
from assay.agents.mlagentbench.turns import ActionCall, Turn
from assay.agents.replies import UnreadableReply

SIX = Research.thoughts
ONE = React.thoughts
WHOLE = """Reflection: The folder is new to me.
Research Plan and Status: 1. Look around.
2. **Train.**
Fact Check: Nothing is confirmed.
Thought: I look first.
Action: List Files
Action Input: {"dir_path": "."}"""


def test_a_complete_reply_is_parsed():
    call = parse_text(WHOLE, SIX)
    assert call == ActionCall(
        {
            "Reflection": "The folder is new to me.",
            "Research Plan and Status": "1. Look around.\n2. **Train.**",
            "Fact Check": "Nothing is confirmed.",
            "Thought": "I look first.",
        },
        "List Files",
        {"dir_path": "."},
    )


@pytest.mark.parametrize(
    "text",
    [
        'Thought: go\nAction: List Files\nAction Input: {"dir_path": "."}',
        '**Thought:** go\n**Action:** List Files\n**Action Input:** {"dir_path": "."}',
        '## Thought: go\n## Action: `List Files`\n## Action Input:\n```json\n{"dir_path": "."}\n```',
        '- thought: go\n- action: "List Files"\n- ACTION INPUT : {\n "dir_path": "."\n}\nObservation: a b c',
        "Thought: go\nAction: List Files.\nAction Input: {'dir_path': '.'}",
        "Thought: go\nAction: List Files\nAction Input: {'dir_path': '.'}\nObservation: train.py",
        'Sure!\n\nThought: go\n\nAction: List Files\n(nothing else)\n\nAction Input: {"dir_path": "."} as I said.',
        'Thought: go\nAction: [List Files]\nAction Input: {"dir_path": "."}\nThought: b\nAction: X\nAction Input: {}',
        'Thought: go\nAction: Action: List Files\nAction Input: {"dir_path": "."}',
        'Thought: go\nAction:\n**Action:** `List Files`\nAction Input: Action Input: {"dir_path": "."}',
        'Thought: go\nAction: List Files\nAction Input: * {"dir_path": "."}',
        'Thought: go\nAction: List Files\nAction Input:\n- {"dir_path": "."}\n',
        'Thought: go\nAction: List Files\nAction Input:\n1. `{"dir_path": "."}`',
        'Thought: go\nAction: List Files\nAction Input:\n\n* ```json\n{"dir_path": "."}\n```',
        'Well. Thought: go Action: List Files Action Input: {"dir_path": "."}',
    ],
)
def test_variations_of_the_format_are_accepted(text):
    call = parse_text(text, ONE)
    assert (call.thoughts, call.action, call.arguments, call.parse_error) == (
        {"Thought": "go"}, "List Files", {"dir_path": "."}, None,
    )  # fmt: skip


EDIT = {"script_name": "train.py", "edit_instruction": 'print "a" for r"\\d+"', "save_name": "train.py"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (r'{"script_name": "train.py", "edit_instruction": "print "a" for r"\d+"", "save_name": "train.py"}', EDIT),
        (r'{{"script_name": train.py, "edit_instruction": "print "a" for r\"\d+\"", "save_name": "train.py",}}', EDIT),
        (r'{"script_name": "train.py", "edit_instruction": "print "a" for r"\d+"", "save_name": "train.py"', EDIT),
        (r'{"script_name": "train.py", "edit_instruction": "print "a" for r"\d+"", "save_name": "tra', None),
        (r'{"script_name": "train.py", "edit_instruction": "print "a" for r"\d+"", "save": "train.py"}', None),
        (r'{"script_name": "train.py" "edit_instruction": "print "a" for r"\d+"", "save_name": "train.py"}', None),
        (r'"script_name": "train.py", "edit_instruction": "a "b"", "save_name": "train.py"', None),
    ],
)
def test_broken_json_is_read_by_the_names_of_the_arguments_if_it_is_complete(arguments, expected):
    reply = f"Thought: go\nAction: Edit Script (AI)\nAction Input: {arguments}\n"
    call = parse_text(reply, ONE, list(ACTIONS.values()))
    assert (call.arguments, bool(call.parse_error)) == ((expected, False) if expected else ({}, True))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"runs/0\amp-parkinsons", r"runs/0\amp-parkinsons"),  # in Python, \a, \v and \3 are control characters
        (r"1\vectorization\3\CLRS", r"1\vectorization\3\CLRS"),
        (r"re.sub(r'(\w+)\1', '\u12')", r"re.sub(r'(\w+)\1', '\u12')"),
        (r"a\\d\d\"q\"\u0041", 'a\\d\\d"q"A'),
    ],
)
def test_backslashes_that_escape_nothing_in_json_are_kept(written, read):
    call = parse_text(f'Thought: go\nAction: List Files\nAction Input: {{"dir_path": "{written}"}}', ONE)
    assert (call.arguments, call.parse_error) == ({"dir_path": read}, None)


@pytest.mark.parametrize("empty", [thought.name for thought in SIX])
@pytest.mark.parametrize("blank", ["", "\n", " \n\n"])
def test_a_thought_may_be_left_empty_but_not_out(empty, blank):
    lines = [f"{empty}:{blank}" if line.startswith(f"{empty}:") else line for line in WHOLE.splitlines()]
    if empty == "Research Plan and Status":
        lines.remove("2. **Train.**")
    call = parse_text("\n".join(lines), SIX)
    assert (call.thoughts[empty], call.action, call.arguments) == ("", "List Files", {"dir_path": "."})
    with pytest.raises(UnreadableReply, match=f'It has no "{empty}".'):
        parse_text("\n".join(line for line in lines if not line.startswith(f"{empty}:")), SIX)


def test_invented_observations_are_ignored():
    made_up = WHOLE + "\nObservation: secret.csv\n" + WHOLE.replace("List Files", "Final Answer")
    assert parse_text(made_up, SIX) == parse_text(WHOLE, SIX)


def test_field_names_inside_text_are_not_fields():
    text = 'Thought: In the last Action: field I erred.\nThought: again\nAction: Write File\nAction Input: {"file_name": "a", "content": "Thought: x\\nAction: y"}'  # noqa: E501
    call = parse_text(text, ONE)
    assert call.thoughts == {"Thought": "In the last Action: field I erred.\nThought: again"}
    assert call.arguments["content"] == "Thought: x\nAction: y"


def test_raw_line_breaks_in_strings_are_accepted():
    text = 'Action: Write File\nAction Input: {"file_name": "a.py", "content": "import os\nprint(1)\n"}'
    assert parse_text(text, ()).arguments == {"file_name": "a.py", "content": "import os\nprint(1)\n"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "It was empty."),
        ("  \n ", "It was empty."),
        ("I give up.", 'It has no "Thought", "Action" and "Action Input".'),
        ("Thought: go\nAction: List Files", 'It has no "Action Input".'),
        ('Thought: go\nAction Input: {"dir_path": "."}', 'It has no "Action" and "Action Input".'),
        ("Thought: go\nAction:\nAction Input: {}", 'It has no "Action".'),
        ("Thought: go\nAction: Action:\nAction Input: {}", 'It has no "Action".'),
        ("Thought: go\nAction: List Files\nAction Input:", 'It has no "Action Input".'),
        ('Action: List Files\nAction Input: {"dir_path": "."}', 'It has no "Thought".'),
    ],
)
def test_missing_fields_are_named(text, fault):
    with pytest.raises(UnreadableReply) as raised:
        parse_text(text, ONE)
    assert str(raised.value) == fault


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"dir_path": "."', "The Action Input is not JSON: Expecting ',' delimiter"),
        ("the folder", "The Action Input is not JSON: Expecting value: line 1 column 1 (char 0), near 'the folder'"),
        ('["."]', "must be a JSON object"),
        ('"."', "must be a JSON object"),
        ("{1: 2}", "The Action Input is not JSON"),
        ("{'a': set()}", "The Action Input is not JSON"),
        ("[" * 5000, "The Action Input is not JSON"),
        (
            r'{"dir_path": "\ud83d"}',
            "The Action Input contains values that cannot be serialized: 'utf-8' codec can't encode",
        ),
        ('{"dir_path": NaN}', "The Action Input contains values that cannot be serialized: Out of range float values"),
        (
            '{"dir_path": 1e999}',
            "The Action Input contains values that cannot be serialized: Out of range float values",
        ),
        ('{"dir_path": %s}' % ("9" * 5000), "The Action Input is not JSON: Exceeds the limit"),
    ],
)
def test_arguments_that_are_not_a_json_object_are_a_parse_error(arguments, fault):
    call = parse_text(f"Action: List Files\nAction Input: {arguments}", ())
    assert call.action == "List Files"
    assert fault in call.parse_error


def test_every_action_is_described_with_its_arguments():
    text = describe_actions(list(ACTIONS.values()))
    parts = [f"## {action.name}\n{action.description}\n" for action in ACTIONS.values()]
    parts += [f'"{name}": ' for action in ACTIONS.values() for name in action.usage()]
    assert [part for part in parts if part not in text] == []
    assert describe_fields(SIX).splitlines()[-1].startswith("Action Input: ")


def test_a_formatted_turn_can_be_parsed_again():
    call = parse_text(WHOLE, SIX)
    assert parse_text(format_turn(Turn(call, "train.py"), with_observation=True), SIX) == call
    assert format_turn(Turn(call, "train.py"), with_observation=True).endswith("Observation:\ntrain.py")
    assert "train.py" not in format_turn(Turn(call, "train.py"), with_observation=False)


def test_marks_and_fences_are_removed_from_a_plan():
    assert strip_marks("```\n1. a\n2. **b**\n```") == "1. a\n2. b"


@pytest.mark.parametrize("value", ["[" * 90 + "]" * 90, "9" * 30])
def test_arguments_that_no_record_can_hold_are_a_fault(value):
    call = parse_text(f'Thought: go\nAction: List Files\nAction Input: {{"dir_path": {value}}}', ONE)
    assert call.arguments == {} and "cannot be serialized" in (call.parse_error or "")
