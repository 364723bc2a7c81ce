"""Figures are well-formed SVG with round ticks, hover text and a style, whatever their labels and values are."""

import re
from xml.etree import ElementTree

import pytest

from assay.core.claim import Claim, Estimand, Evidence, Population
from assay.core.figure import COLORS, STYLESHEET, Axis, Figure, Key, Rows
from assay.core.values import Interval

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "</svg><img src=x onerror=alert(1)>",
    "</style></title><b>bold</b>",
    "\" onload=\"alert(1)' x='",
    "nul\x00 bell\x07 escape\x1b[31m \u202eright to left \ud800",
)


def parse(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(figure.to_svg())


def words(figure: Figure) -> list[str]:
    return [text.text or "" for text in parse(figure).iter(f"{SVG}text")]


def everything(label: str = "label") -> Figure:
    """A figure with every mark."""
    figure = Figure("all", label, Axis(label), Rows([label, label], notes=[label, label]), legend=[Key(label, 0)])
    figure.dot(1, 0, color=0, hover=label, link="#part")
    figure.tick(2, 0, color=9)
    figure.interval(1, 2, 1, style="thick")
    figure.line([(1, 0), (2, 1)], hover=label)
    figure.step([(1, 0), (2, 1), (3, 0)])
    figure.band([(1, 0), (2, 0)], [(1, 1), (2, 1)])
    figure.bar((0, 0), (1, 1))
    figure.cell((0, 0), (1, 1), 0.25, color=1)
    figure.text(1, 1, label, style="strong")
    figure.rule(x=1.5, label=label)
    figure.rule(y=1, label=label)
    return figure


@pytest.mark.parametrize(
    ("axis", "values", "labels"),
    [
        (Axis(), (0.2, 9.7), ["0", "2", "4", "6", "8", "10"]),
        (Axis(low=0, high=0.97), (0.2,), ["0", "0.2", "0.4", "0.6", "0.8"]),
        (Axis(), (-0.31, 0.4), ["−0.4", "−0.2", "0", "0.2", "0.4"]),
        (Axis(unit="integer"), (1, 3), ["1", "2", "3"]),
        (Axis(unit="integer", low=0), (40,), ["0", "10", "20", "30", "40"]),
        (Axis(unit="rate", low=0, high=1), (), ["0%", "20%", "40%", "60%", "80%", "100%"]),
        (Axis(unit="change"), (-0.1, 0.1), ["−10%", "−5%", "0%", "+5%", "+10%"]),
        (Axis(unit="duration", low=0), (7000,), ["0s", "20m", "40m", "1h", "1h20m", "1h40m", "2h"]),
        (Axis(unit="money", low=0), (1.2,), ["$0.00", "$0.20", "$0.40", "$0.60", "$0.80", "$1.00", "$1.20"]),
        (Axis(unit="size", low=0), (8e9,), ["0B", "2GB", "4GB", "6GB", "8GB"]),
        (Axis(scale="log", low=0.7, high=30), (), ["1", "2", "5", "10", "20"]),
        (Axis(scale="log", low=1e-3, high=1e3), (), ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]),
        (Axis(unit="change", scale="symlog", low=-0.2, high=20), (), ["−10%", "0%", "+10%", "+100%", "+1,000%"]),
        (Axis(), (5, 5), ["4.4", "4.6", "4.8", "5", "5.2", "5.4", "5.6"]),
        (Axis(), (), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (Axis(), (2e7, 4e7), ["2e+07", "2.5e+07", "3e+07", "3.5e+07", "4e+07"]),
        (Axis(ticks=(0, 0.5)), (0, 1), ["0", "0.5"]),
        (Axis(ticks=()), (0, 1), []),
    ],
)
def test_ticks_are_round_numbers_that_enclose_the_marks(axis, values, labels):
    fitted = axis.fit(values)
    assert [fitted.label(tick) for tick in fitted.ticks] == labels
    assert all(fitted.low <= value <= fitted.high for value in values)


@pytest.mark.parametrize(
    ("axis", "value", "share"),
    [
        (Axis(low=0, high=4), 1, 0.25),
        (Axis(low=0, high=4, reverse=True), 1, 0.75),
        (Axis(low=1, high=100, scale="log"), 10, 0.5),
        (Axis(low=-1, high=1, scale="symlog"), 0, 0.5),
        (Axis(low=0, high=4), 9, 1.0),
        (Axis(low=-1e308, high=1e308), 0, 0.5),
    ],
)
def test_a_value_has_its_position_on_the_scale(axis, value, share):
    assert axis.share(value) == pytest.approx(share)


def test_every_mark_is_an_element_with_its_color_and_style():
    root = parse(everything())
    (dot,) = root.iter(f"{SVG}circle")
    assert dot.get("class") == "fig-fill c0" and dot.findtext(f"{SVG}title") == "label"
    (link,) = root.iter(f"{SVG}a")
    assert link.get("href") == "#part" and root.get("role") == "group"
    assert [rect.get("fill-opacity") for rect in root.iter(f"{SVG}rect")] == ["1", "0.25"]
    classes = [line.get("class") for line in root.iter(f"{SVG}polyline")]
    assert classes == ["fig-line fig-thick", "fig-line", "fig-line"]
    assert "fig-line c1" in [
        line.get("class") for line in root.iter(f"{SVG}line")
    ]  # after eight colors, the first follows
    steps = [line.get("points").split() for line in root.iter(f"{SVG}polyline")][2]
    assert len(steps) == 5 and steps[0].split(",")[1] == steps[1].split(",")[1]
    assert words(everything()).count("label") == 9


def test_every_class_has_a_rule_for_light_and_dark():
    svg = everything().to_svg()
    light, dark = svg.split("@media")
    for name in set(re.findall(r"\b(?:fig-[a-z]+|c\d)\b", svg)) - {"fig-all", "fig-muted"}:
        assert f".{name} " in light and f".{name} " in dark, name
    assert {f"c{number}" for number in range(COLORS)} == set(re.findall(r"\.(c\d) ", STYLESHEET.read_text()))
    assert "light-dark" not in svg


@pytest.mark.parametrize("label", HOSTILE)
def test_text_from_outside_never_becomes_markup(label):
    page, file = everything(label).__html__(), everything(label).to_svg()
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(file).iter()}
    assert tags <= {"svg", "style", "text", "line", "polyline", "polygon", "circle", "rect", "a", "title"}
    assert not [name for element in ElementTree.fromstring(page).iter() for name in element.attrib if name[:2] == "on"]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", file)


@pytest.mark.parametrize("values", [(), (0.0,), (-1e308, 1e308), (float("inf"), 1.0), (1e-300, 2e-300), (3, 3, 3)])
@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_any_values_can_be_drawn(values, scale):
    figure = Figure("any", "any", Axis(scale=scale), Axis())
    figure.line([(value, value) for value in values])
    numbers = re.findall(r"[\d.]+", " ".join(line.get("points") for line in parse(figure).iter(f"{SVG}polyline")))
    assert all(0 <= float(number) <= 720 for number in numbers) and "nan" not in figure.to_svg()


def test_labels_of_close_rules_are_above_each_other():
    figure = Figure("rules", "rules", Axis(low=0, high=1), Rows(["a"]))
    for number in (0.5, 0.51, 0.9):
        figure.rule(x=number, label=f"level {number}")
    heights = {text.text: text.get("y") for text in parse(figure).iter(f"{SVG}text")}
    assert heights["level 0.5"] == heights["level 0.9"] != heights["level 0.51"]


def test_long_row_names_take_two_lines_and_headings_are_not_cut():
    name = "an agent with a name that is far too long to be written beside a figure"
    texts = words(Figure("rows", "rows", Axis(), Rows([name, name], headings=frozenset([1]))))
    assert texts[-3:] == ["an agent with a name that is", "far too long to be written be…", name]


def test_a_figure_without_a_title_is_hidden_from_screen_readers():
    assert parse(Figure("dot", "")).get("aria-hidden") == "true"
    assert parse(Figure("dot", "What it shows")).get("aria-label") == "What it shows"


def test_a_picture_has_text_and_twice_the_size():
    named, bare = (Figure("png", "png", Axis(ticks=()), Rows([name]), width=200).to_png() for name in ("name", ""))
    assert named.startswith(b"\x89PNG") and named != bare
    assert int.from_bytes(named[16:20], "big") == 400


RATE = Claim(
    Estimand("success", ("a",), Population.LIKE), 0.5, Interval(0.2, 0.9), Evidence(3, 3, (6,), "by hand", hits=3),
    worst=0.5, best=0.5,
)  # fmt: skip


@pytest.mark.parametrize("unit", ["rate", "difference"])
@pytest.mark.parametrize("mark", ["dot", "tick", "interval", "line", "band", "bar"])
def test_an_axis_of_rates_refuses_plain_numbers(unit, mark):
    arguments = {
        "dot": (0.5, 0), "tick": (0.5, 0), "interval": (0.2, 0.9, 0), "line": ([(0.2, 0), (0.9, 0)],),
        "band": ([(0, 0.2)], [(0, 0.9)]), "bar": ((0, 0), (0.5, 1)),
    }  # fmt: skip
    for figure in (Figure("f", "", Axis(unit=unit), Rows(["a"])), Figure("f", "", Axis(), Axis(unit=unit))):
        with pytest.raises(TypeError, match="shows claims, not plain numbers"):
            getattr(figure, mark)(*arguments[mark])


def test_a_claim_is_a_dot_with_its_interval():
    rows = Figure("f", "Rates", Axis(unit="rate", low=0, high=1), Rows(["a"]))
    rows.claim(RATE, 0)
    assert [(mark.kind, mark.points) for mark in rows.marks] == [("line", [(0.2, 0), (0.9, 0)]), ("dot", [(0.5, 0)])]
    assert "50% (20–90%)" in rows.to_svg()
    curve = Figure("f", "Rates over steps", Axis(), Axis(unit="rate"))
    curve.curve([(1.0, RATE), (2.0, RATE)])
    assert [mark.kind for mark in curve.marks] == ["band", "line"]
    with pytest.raises(TypeError, match="no axis of rates"):
        Figure("f", "", Axis(), Axis()).claim(RATE, 0)
