"""Writes the page of machines in docs/reference from their declarations."""

from collections.abc import Sequence

from ostinato._core.base.machine import Invariant, Machine, Transition, filled
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.named import named
from tools.generated import table

EXAMPLE = Machine(
    "invoice",
    about="As in docs/machines.md, with more: an invoice on its way from a draft to money.",
    states=("draft", "sent", "paid", "void"),
    initial="draft",
    terminal=("paid", "void"),
    transitions=(
        Transition("draft", "send", "sent", guard="it has a line and a recipient"),
        Transition("sent", "send", "sent", guard="the recipient asked for it again"),
        Transition("sent", "pay", "paid", guard="the whole amount was received"),
        Transition(("draft", "sent"), "cancel", "void"),
    ),
    invariants=(
        Invariant(("sent", "paid"), (filled("sent_at"),), why="when payment is due counts from it"),
        Invariant("paid", (filled("receipt"),)),
    ),
)


def machines() -> tuple[Machine, ...]:
    """List every machine that an installed application declares, after the example."""
    places = [place for app in installed_apps() for place in app.machines]
    return (EXAMPLE, *(named(place, Machine) for place in places))


def page(shown: Sequence[Machine] | None = None) -> str:
    """Write the page: a diagram, the transitions and the invariants of each machine."""
    sections = [_section(machine) for machine in (machines() if shown is None else shown)]
    return (
        "# Machines\n\n"
        "The database refuses whatever is not listed here, even from `psql`"
        " ([how](../machines.md)).\n\n" + "\n".join(sections)
    )


def _section(machine: Machine) -> str:
    parts = [f"## {machine.name}", machine.about, f"```mermaid\n{machine.mermaid()}\n```"]
    transitions = [
        (f"`{source}`", f"`{listed.event}`", f"`{listed.target}`", listed.guard)
        for listed in machine.transitions
        for source in listed.sources
    ]
    parts.append(table(("From", "Event", "To", "When"), transitions))
    if machine.invariants:
        rules = [
            (", ".join(f"`{state}`" for state in rule.named), f"`{rule}`", rule.why) for rule in machine.invariants
        ]
        parts.append(table(("In state", "Always", "Because"), rules))
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"
