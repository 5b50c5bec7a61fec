"""A machine is checked when it is declared, knows what may follow, and draws itself."""

import dataclasses
import json

import pytest

from ostinato._core.base.errors import IllegalTransition, InvalidInput
from ostinato._core.base.machine import Check, Invariant, Machine, Transition, above, empty, equals, filled
from tools import machines

DOOR = Machine(
    "door",
    states=("open", "shut", "gone"),
    initial="open",
    terminal=("gone",),
    transitions=(
        Transition("open", "shut", "shut", guard="nobody stands in it"),
        Transition("shut", "open", "open"),
        Transition(("open", "shut"), "remove", "gone"),
        Transition("shut", "knock", "shut"),
    ),
    invariants=(
        Invariant("gone", (filled("removed_by"), empty("key"))),
        Invariant(("open", "shut"), (above("hinges", 0), equals("painted", value=False)), any=True),
    ),
)


def changed(**fields: object) -> Machine:
    return dataclasses.replace(DOOR, **fields)  # type: ignore[arg-type]


def test_a_machine_knows_what_may_follow() -> None:
    assert DOOR.allowed("open") == {"shut": "shut", "remove": "gone"}
    assert DOOR.allowed("gone") == {}
    assert DOOR.follow("shut", "remove") == "gone"
    assert DOOR.follow("shut", "knock") == "shut"
    assert DOOR.events == ("shut", "open", "remove", "knock")


def test_what_is_not_listed_is_refused_with_what_would_be_possible() -> None:
    with pytest.raises(IllegalTransition, match="door in state 'open' knows no event") as caught:
        DOOR.follow("open", "knock")

    assert caught.value.hint == "Possible here: shut → shut, remove → gone."
    assert caught.value.values["allowed"] == {"shut": "shut", "remove": "gone"}
    with pytest.raises(IllegalTransition, match="'gone'") as caught:
        DOOR.follow("gone", "open")
    assert caught.value.hint == "Possible here: nothing."


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"name": "Door"}, "its name must be lower-case"),
        ({"name": "d" * 41}, "its name must be lower-case"),
        ({"states": ()}, "it has no states"),
        ({"states": ("open", "shut", "gone", "open")}, "state 'open' is listed twice"),
        ({"states": ("open", "shut", "gone", "lost")}, "state 'lost' cannot be reached"),
        ({"states": ("open", "shut", "gone", "two words")}, "'two words' cannot be the name"),
        ({"initial": "ajar"}, "initial names 'ajar', which is not one of its states"),
        ({"terminal": ("gone", "burnt")}, "terminal names 'burnt'"),
        ({"terminal": ()}, "nothing leads out of state 'gone', and it is not terminal"),
        ({"terminal": ("gone", "shut")}, "state 'shut' is terminal, but a transition leads out"),
        ({"transitions": (*DOOR.transitions, Transition("open", "burn", "burnt"))}, "a transition names 'burnt'"),
        (
            {"transitions": (*DOOR.transitions, Transition("open", "remove", "shut"))},
            "event 'remove' is listed twice for state 'open'",
        ),
        (
            {"transitions": (*DOOR.transitions, Transition("open", "; drop table", "shut"))},
            "cannot be the name of a state or event",
        ),
        ({"invariants": (Invariant("burnt", (filled("x"),)),)}, "an invariant names 'burnt'"),
        ({"invariants": (Invariant("gone", ()),)}, "an invariant has no states or no checks"),
        ({"invariants": (Invariant((), (filled("x"),)),)}, "an invariant has no states"),
        ({"invariants": (Invariant("gone", (filled("x y"),)),)}, "cannot be the name of a column"),
        (
            {"invariants": (Invariant("gone", (Check("x", "like", "a"),)),)},  # type: ignore[arg-type]
            "no operator",
        ),
        ({"invariants": (Invariant("gone", (Check("x", ">"),)),)}, "an invariant on 'x'"),
        ({"invariants": (Invariant("gone", (Check("x", "filled", 1),)),)}, "an invariant on 'x'"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(fields: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        changed(**fields)

    faults = caught.value.values["faults"]
    assert isinstance(faults, list)
    assert any(fault in said for said in faults), faults


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(InvalidInput, match=r"'ajar'.*'burnt'"):
        changed(initial="ajar", terminal=("gone", "burnt"))


def test_a_machine_is_a_value() -> None:
    assert changed() == DOOR
    assert hash(changed()) == hash(DOOR)
    with pytest.raises(dataclasses.FrozenInstanceError):
        DOOR.name = "gate"  # type: ignore[misc]


def test_the_definition_lists_every_pair_by_itself() -> None:
    told = json.loads(DOOR.definition())

    assert told["initial"] == "open"
    assert {"from": "shut", "event": "remove", "to": "gone", "guard": ""} in told["transitions"]
    assert len(told["transitions"]) == 5
    assert told["invariants"][1] == {
        "states": ["open", "shut"],
        "any": True,
        "why": "",
        "text": "hinges > 0 or painted = false",
        "checks": [{"column": "hinges", "is": ">", "value": 0}, {"column": "painted", "is": "=", "value": False}],
    }


def test_the_diagram_has_every_state_and_every_transition() -> None:
    drawn = DOOR.mermaid().splitlines()

    assert drawn[0] == "stateDiagram-v2"
    assert '    state "shut" as s1' in drawn
    assert "    [*] --> s0" in drawn
    assert "    s1 --> s1 : knock" in drawn
    assert "    s2 --> [*]" in drawn
    assert len(drawn) == 1 + 3 + 1 + 5 + 1


def test_the_page_shows_each_machine() -> None:
    page = machines.page([DOOR])

    assert "## door" in page
    assert "```mermaid\nstateDiagram-v2" in page
    assert "| `open` | `shut` | `shut` | nobody stands in it |" in page
    assert "| `gone` | `removed_by is filled and key is empty` |  |" in page
