"""A machine as a drawing: every state and transition is in it, and no two labels lie on each other."""

import itertools
import re
from xml.etree import ElementTree as ET

import pytest

from ostinato._core.base.lifecycle import JOB
from ostinato._core.base.machine import Machine, Transition
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.named import named
from ostinato._faces.console.draw_machine import draw_machine

MACHINES = [JOB, *(named(place, Machine) for app in installed_apps() for place in app.machines)]
LOOP = Machine("loop", states=("a",), initial="a", transitions=(Transition("a", "again", "a"),))


@pytest.mark.parametrize("machine", [*MACHINES, LOOP], ids=lambda machine: machine.name)
def test_every_state_and_transition_is_drawn(machine: Machine) -> None:
    drawn = draw_machine("A machine", machine, dict.fromkeys(machine.states, "7"))
    root = ET.fromstring(drawn)  # noqa: S314 - our own text

    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert {*machine.states, *machine.events} <= set(texts)
    assert texts.count("7") == len(machine.states)
    assert len(re.findall('class="arrow"', drawn)) == len(machine.transitions)
    assert len(re.findall('class="from"', drawn)) == sum(len(each.sources) for each in machine.transitions)
    assert len(re.findall('class="frame"', drawn)) == len(machine.terminal)
    assert root.attrib["role"] == "img"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_no_two_labels_lie_on_each_other(machine: Machine) -> None:
    drawn = draw_machine("A machine", machine, {})

    heights = sorted(float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)">', drawn))

    assert all(after - before >= 14 for before, after in itertools.pairwise(heights))


def test_a_name_is_text_and_never_a_part_of_the_drawing() -> None:
    assert "<script>" not in draw_machine("<script>", LOOP, {"a": "<script>"})
