"""Machines declare the states of a row, the events between them, and invariants of each state.

    INVOICE = Machine(
        "invoice",
        states=("draft", "sent", "paid", "void"),
        initial="draft",
        terminal=("paid", "void"),
        transitions=(
            Transition("draft", "send", "sent"),
            Transition("sent", "pay", "paid", guard="the whole amount was received"),
            Transition(("draft", "sent"), "cancel", "void"),
        ),
        invariants=(Invariant(("sent", "paid"), (filled("sent_at"),)),),
    )

A machine is only data: the database enforces it (`engine.machines`), its page is drawn from it, and
the tests walk it. A faulty declaration raises an error here that lists all its faults.
"""

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from ostinato._core.base.errors import IllegalTransition, InvalidInput

Operator = Literal["filled", "empty", "=", "<>", "<", "<=", ">", ">="]
"""How a `Check` compares a column with its value; the first two need none."""
T = TypeVar("T", bound=Hashable)
Value = bool | int | float | str

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
COLUMN = re.compile(r"[a-z_][a-z0-9_]{0,62}")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


class Check(NamedTuple):
    """A condition on one column."""

    column: str
    operator: Operator
    value: Value | None = None

    def __str__(self) -> str:
        if self.operator in ("filled", "empty"):
            return f"{self.column} is {self.operator}"
        return f"{self.column} {self.operator} {json.dumps(self.value, ensure_ascii=False)}"


def filled(column: str) -> Check:
    """Require that the column has a value: it is not null, and not the empty text."""
    return Check(column, "filled")


def empty(column: str) -> Check:
    """Require that the column is null, or the empty text."""
    return Check(column, "empty")


def equals(column: str, value: Value) -> Check:
    """Require that the column has this value."""
    return Check(column, "=", value)


def above(column: str, value: float) -> Check:
    """Require that the column is greater than this."""
    return Check(column, ">", value)


@dataclass(frozen=True, slots=True)
class Transition:
    """An event that leads from one state to another. `source` may list several states."""

    source: str | tuple[str, ...]
    event: str
    target: str
    guard: str = ""
    """When it is allowed, in words: for people, and for the page of the machine."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The states that it leads out of."""
        return (self.source,) if isinstance(self.source, str) else self.source


@dataclass(frozen=True, slots=True)
class Invariant:
    """A condition that a row satisfies as long as it is in one of some states."""

    states: str | tuple[str, ...]
    checks: tuple[Check, ...]
    any: bool = False
    """Whether one of the checks is enough; otherwise all of them have to hold."""
    why: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The states that it applies to."""
        return (self.states,) if isinstance(self.states, str) else self.states

    def __str__(self) -> str:
        return (" or " if self.any else " and ").join(str(check) for check in self.checks)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: states, transitions between them, and invariants of each."""

    name: str
    states: tuple[str, ...]
    initial: str
    transitions: tuple[Transition, ...]
    terminal: tuple[str, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    about: str = ""
    """What the machine is of, in a sentence."""
    _targets: dict[tuple[str, str], str] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        faults = [*self._faults()]
        if faults:
            raise InvalidInput(
                f"machine {self.name!r}: {'; '.join(faults)}",
                hint="Correct the declaration of the machine.",
                machine=self.name,
                faults=faults,
            )
        targets = {(source, e.event): e.target for e in self.transitions for source in e.sources}
        object.__setattr__(self, "_targets", targets)

    @property
    def events(self) -> tuple[str, ...]:
        """Every event, in the order in which they are first named."""
        return tuple(dict.fromkeys(transition.event for transition in self.transitions))

    def allowed(self, state: str) -> dict[str, str]:
        """Return the events that a state allows, each with the state that it leads to."""
        return {event: target for (source, event), target in self._targets.items() if source == state}

    def follow(self, state: str, event: str) -> str:
        """Return the state that an event leads to; raises `IllegalTransition` when it is not listed."""
        try:
            return self._targets[state, event]
        except KeyError:
            options = ", ".join(f"{event} → {to}" for event, to in self.allowed(state).items())
            raise IllegalTransition(
                f"{self.name} in state {state!r} knows no event {event!r}",
                hint=f"Possible here: {options or 'nothing'}.",
                machine=self.name,
                state=state,
                event=event,
                allowed=self.allowed(state),
            ) from None

    def definition(self) -> str:
        """Return the machine as JSON text, as `ostinato.install_machine` takes it."""
        document = {
            "name": self.name,
            "about": self.about,
            "states": self.states,
            "initial": self.initial,
            "terminal": self.terminal,
            "transitions": [
                {"from": source, "event": e.event, "to": e.target, "guard": e.guard}
                for e in self.transitions
                for source in e.sources
            ],
            "invariants": [
                {
                    "states": rule.named,
                    "any": rule.any,
                    "why": rule.why,
                    "text": str(rule),
                    "checks": [
                        {"column": check.column, "is": check.operator, "value": check.value} for check in rule.checks
                    ],
                }
                for rule in self.invariants
            ],
        }
        return json.dumps(document, ensure_ascii=False)

    def mermaid(self) -> str:
        """Return the machine as a diagram: `stateDiagram-v2` of Mermaid."""
        names = {state: f"s{number}" for number, state in enumerate(self.states)}
        lines = [f'    state "{state}" as {name}' for state, name in names.items()]
        lines.append(f"    [*] --> {names[self.initial]}")
        lines += [
            f"    {names[source]} --> {names[e.target]} : {e.event}" for e in self.transitions for source in e.sources
        ]
        lines += [f"    {names[state]} --> [*]" for state in self.terminal]
        return "\n".join(["stateDiagram-v2", *lines])

    def _faults(self) -> Iterator[str]:
        if not NAME.fullmatch(self.name):
            yield "its name must be lower-case letters, digits and underscores, at most 40"
        if not self.states:
            yield "it has no states"
            return
        yield from (f"state {name!r} is listed twice" for name in _twice(self.states))
        yield from (
            f"{name!r} cannot be the name of a state or event: letters, digits, - and _, at most 63"
            for name in (*self.states, *self.events)
            if not WORD.fullmatch(name)
        )
        yield from self._unknown_names()
        pairs = [(source, e.event) for e in self.transitions for source in e.sources]
        yield from (f"event {event!r} is listed twice for state {source!r}" for source, event in _twice(pairs))
        yield from self._odd_states()
        for rule in self.invariants:
            yield from _faults_of_rule(rule)

    def _unknown_names(self) -> Iterator[str]:
        known = set(self.states)
        named = {
            "initial": (self.initial,),
            "terminal": self.terminal,
            "a transition": tuple(name for e in self.transitions for name in (*e.sources, e.target)),
            "an invariant": tuple(name for rule in self.invariants for name in rule.named),
        }
        for place, names in named.items():
            for name in dict.fromkeys(names):
                if name not in known:
                    yield f"{place} names {name!r}, which is not one of its states"

    def _odd_states(self) -> Iterator[str]:
        leaving = {source for e in self.transitions for source in e.sources}
        for state in self.states:
            if state in self.terminal and state in leaving:
                yield f"state {state!r} is terminal, but a transition leads out of it"
            if state not in self.terminal and state not in leaving:
                yield f"nothing leads out of state {state!r}, and it is not terminal"
        for state in self.states:
            if state not in self._reachable():
                yield f"state {state!r} cannot be reached from {self.initial!r}"

    def _reachable(self) -> set[str]:
        found, new = {self.initial}, {self.initial}
        while new:
            new = {e.target for e in self.transitions if new & set(e.sources)} - found
            found |= new
        return found


def _faults_of_rule(rule: Invariant) -> Iterator[str]:
    if not rule.named or not rule.checks:
        yield "an invariant has no states or no checks"
    for check in rule.checks:
        comparison = check.operator in COMPARISONS
        if not comparison and check.operator not in ("filled", "empty"):
            yield f"an invariant checks {check.column!r} with {check.operator!r}: no operator"
        elif comparison != (check.value is not None):
            yield f"an invariant on {check.column!r}: {check.operator} and value {check.value!r}"
        if not COLUMN.fullmatch(check.column):
            yield f"{check.column!r} cannot be the name of a column"


def _twice(names: Iterable[T]) -> list[T]:
    return [name for name, count in Counter(names).items() if count > 1]
