"""Every machine is walked: no way leads outside its list, and the log is the history."""

# ruff: noqa: S608  # names of columns come from declared machines

from collections import deque
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ostinato._core.base.errors import IllegalTransition
from ostinato._core.base.machine import Invariant, Machine, Transition, empty, filled
from tests.sql.engine import Session, refused
from tests.sql.machinery import Table, columns_of, table_of
from tools.machines import machines as declared

STATES = ("a", "b", "c", "d", "e")
EVENTS = ("go", "stop", "turn")

WALKED = [
    machine
    for machine in declared()
    if {check.operator for rule in machine.invariants for check in rule.checks} <= {"filled", "empty"}
]
"""Those that compare values are walked with the tables of their application."""

quick = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def fitting(machine: Machine, state: str) -> dict[str, str | None]:
    """Columns as the invariants of a state want them, among those that must be filled or empty."""
    found: dict[str, str | None] = dict.fromkeys(columns_of(machine), None)
    for rule in machine.invariants:
        if state in rule.named:
            found |= {check.column: "x" for check in rule.checks if check.operator == "filled"}
    return found


def way_to(machine: Machine, wanted: str) -> list[str]:
    """The events that lead from the initial state to another."""
    ways: deque[tuple[str, list[str]]] = deque([(machine.initial, [])])
    seen = set()
    while ways:
        state, events = ways.popleft()
        if state == wanted:
            return events
        if state not in seen:
            seen.add(state)
            ways.extend((to, [*events, event]) for event, to in machine.allowed(state).items())
    raise AssertionError(f"{wanted} cannot be reached")


def walk(table: Table, session: Session, row: str, events: list[str]) -> list[tuple[str, str, str]]:
    """Let events happen in turn; returns the history as the model of the machine tells it."""
    machine, state = table.machine, table.machine.initial
    told: list[tuple[str, str, str]] = []
    for event in events:
        try:
            target = machine.follow(state, event)
        except IllegalTransition:
            with refused("OS424", f"is {state}: {event} is not possible"):
                table.happen(session, row, event, by="walker")
            continue
        assert table.happen(session, row, event, changes=fitting(machine, target)) == target
        told.append((state, event, target))
        state = target
    assert table.state(row) == state
    return told


@pytest.mark.parametrize("machine", WALKED, ids=lambda machine: machine.name)
def test_every_pair_that_is_not_listed_is_refused(machine: Machine, admin: Session, db: Session) -> None:
    with table_of(admin, machine) as table:
        for state in machine.states:
            row = table.add()
            way = walk(table, db, row, way_to(machine, state))
            for event in (*machine.events, "never-heard-of"):
                if event not in machine.allowed(state):
                    with refused("OS424", f"is {state}: {event} is not possible"):
                        table.happen(db, row, event)
            for other in machine.states:
                if other != state:
                    with refused("OS424", "cannot be written"):
                        write(admin, machine, row, other)
                    if other != machine.initial:
                        with refused("OS424", "cannot start"):
                            insert(admin, machine, other)
            assert table.log(row) == way


def write(session: Session, machine: Machine, row: str, state: str) -> None:
    """A direct update, with everything else as the state wants it."""
    columns = fitting(machine, state) | {"state": state}
    assigned = ", ".join(f"{name} = %s" for name in columns)
    session.rows(f"update billing.invoice set {assigned} where id = %s", *columns.values(), row)


def insert(session: Session, machine: Machine, state: str) -> None:
    columns = fitting(machine, state) | {"state": state, "tenant_id": "t1"}
    marks = ", ".join("%s" for _ in columns)
    session.rows(f"insert into billing.invoice ({', '.join(columns)}) values ({marks})", *columns.values())


@pytest.mark.parametrize("machine", WALKED, ids=lambda machine: machine.name)
def test_what_holds_in_each_state_cannot_be_taken_away(machine: Machine, admin: Session, db: Session) -> None:
    with table_of(admin, machine) as table:
        for rule in machine.invariants:
            for state in rule.named:
                row = table.add()
                walk(table, db, row, way_to(machine, state))
                for check in rule.checks:
                    worse = None if check.operator == "filled" else "x"
                    with refused("OS425", f"in state {state} needs: {rule}"):
                        db.rows(f"update billing.invoice set {check.column} = %s where id = %s", worse, row)


@pytest.mark.parametrize("machine", WALKED, ids=lambda machine: machine.name)
@quick
@given(data=st.data())
def test_the_log_of_any_walk_is_its_history(machine: Machine, admin: Session, data: st.DataObject) -> None:
    events = data.draw(st.lists(st.sampled_from([*machine.events, "nonsense"]), max_size=8))
    with table_of(admin, machine) as table:
        row, bystander = table.add(), table.add()

        told = walk(table, admin, row, events)

        assert table.log(row) == told
        assert table.log(bystander) == []


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Any machine that makes sense, small."""
    states = STATES[: draw(st.integers(2, len(STATES)))]
    chosen: dict[tuple[str, str], str] = {}
    for number, state in enumerate(states[1:], 1):  # each is reached from one before it
        source = draw(st.sampled_from(states[:number]))
        free = [event for event in EVENTS if (source, event) not in chosen]
        if free:
            chosen[source, draw(st.sampled_from(free))] = state
    for source, event, target in draw(
        st.lists(st.tuples(st.sampled_from(states), st.sampled_from(EVENTS), st.sampled_from(states)), max_size=6)
    ):
        chosen.setdefault((source, event), target)
    reached, new = {states[0]}, {states[0]}
    while new:
        new = {to for (source, _), to in chosen.items() if source in new} - reached
        reached |= new
    listed = {pair: to for pair, to in chosen.items() if pair[0] in reached and to in reached}
    leaving = {source for source, _ in listed}
    kept = tuple(state for state in states if state in reached)
    rule: dict[str, Any] = draw(st.dictionaries(st.sampled_from(kept), st.booleans(), max_size=3))
    return Machine(
        "invoice",
        states=kept,
        initial=kept[0],
        terminal=tuple(state for state in kept if state not in leaving),
        transitions=tuple(Transition(source, event, to) for (source, event), to in listed.items()),
        invariants=tuple(
            Invariant(state, (filled("note"),) if full else (empty("note"),))
            for state, full in rule.items()
            if state != kept[0]
        ),
    )


@settings(quick, max_examples=25)
@given(machine=machines(), data=st.data())
def test_any_machine_that_can_be_declared_is_held(machine: Machine, admin: Session, data: st.DataObject) -> None:
    events = data.draw(st.lists(st.sampled_from(EVENTS), max_size=12))
    with table_of(admin, machine) as table:
        row = table.add()

        told = walk(table, admin, row, events)

        assert table.log(row) == told
        for state in machine.states:
            if state != table.state(row):
                with refused("OS424", "cannot be written"):
                    write(admin, machine, row, state)
