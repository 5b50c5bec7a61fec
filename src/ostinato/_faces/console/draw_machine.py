"""Draws a state machine as SVG: states below each other, transitions as lines beside them.

    ┌ draft      3 ┐──●
    └──────────────┘  │
    ┌ sent       7 ┐◀─┴────── send

Each transition has a lane of its own: dots where it begins, an arrow into the state that it leads to, and its
event at the end of that arrow. So no two lines share a place, whatever the machine is. The first state has a
mark before it, and states in which a row ends have a double frame.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from ostinato._core.base.machine import Machine, Transition
from ostinato._faces.console.draw import LETTER
from ostinato._faces.console.text import DASH

LEFT = 18
LANE = 15
LINE = 19
GAP = 12
PAD = 9
SMALLEST = 34
LETTER_OF_STATE = 7.0


@dataclass(frozen=True, slots=True)
class Box:
    """The place of a state."""

    y: float
    height: float

    @property
    def middle(self) -> float:
        """Where lines leave it."""
        return self.y + self.height / 2


def draw_machine(title: str, machine: Machine, counts: Mapping[str, str]) -> Markup:
    """Draw a machine; `counts` are the texts of how many rows stand in each state."""
    wide = _width(machine, counts)
    lanes = len(machine.transitions)
    labels = LEFT + wide + 14 + lanes * LANE
    width = labels + 14 + max((len(each.event) for each in machine.transitions), default=0) * LETTER
    boxes, arrivals = _places(machine)
    height = max(box.y + box.height for box in boxes.values()) + 6
    parts = [
        Markup('<svg class="machine" viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" role="img" aria-label="{}">').format(
            width, height, width, title
        ),
        Markup("<title>{}</title>").format(title),
    ]
    for number, transition in enumerate(machine.transitions):
        x = LEFT + wide + 18 + number * LANE
        parts += _lane(transition, x, arrivals[number], boxes, (LEFT + wide, labels))
    parts += [_state(machine, name, box, wide, counts.get(name, "")) for name, box in boxes.items()]
    return Markup("").join([*parts, Markup("</svg>")])


def _width(machine: Machine, counts: Mapping[str, str]) -> float:
    longest = max(len(name) + len(counts.get(name, "")) for name in machine.states)
    return max(90.0, longest * LETTER_OF_STATE + 36)


def _places(machine: Machine) -> tuple[dict[str, Box], dict[int, float]]:
    """Return where each state stands, and where each transition arrives: a line of the state's own."""
    boxes: dict[str, Box] = {}
    arrivals: dict[int, float] = {}
    y = 6.0
    for name in machine.states:
        coming = [number for number, each in enumerate(machine.transitions) if each.target == name]
        height = max(SMALLEST, len(coming) * LINE + PAD)
        boxes[name] = Box(y, height)
        start = y + (height - len(coming) * LINE) / 2 + LINE / 2
        arrivals |= {number: start + place * LINE for place, number in enumerate(coming)}
        y += height + GAP
    return boxes, arrivals


def _lane(
    transition: Transition, x: float, arrives: float, boxes: Mapping[str, Box], across: tuple[float, float]
) -> list[Markup]:
    """Draw one transition: from its sources along its lane, and into its target."""
    edge, labels = across
    # A source that is its own target would have its dot on the arrow.
    leaves = [_leaves(boxes[name], arrives, own=name == transition.target) for name in transition.sources]
    top, bottom = min(arrives, *leaves), max(arrives, *leaves)
    parts = [Markup('<path class="lane" d="M{:.1f} {:.1f}V{:.1f}"/>').format(x, top, bottom)]
    for y in leaves:
        parts.append(Markup('<path class="lane" d="M{:.1f} {:.1f}H{:.1f}"/>').format(edge, y, x))
        parts.append(Markup('<circle class="from" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(x, y))
    parts.append(Markup('<path class="lane" d="M{:.1f} {:.1f}H{:.1f}"/>').format(edge + 7, arrives, x))
    parts.append(Markup('<path class="lane faint" d="M{:.1f} {:.1f}H{:.1f}"/>').format(x, arrives, labels))
    arrow = Markup('<path class="arrow" d="M{:.1f} {:.1f}l8 -4.5v9z"/>')
    parts.append(arrow.format(edge, arrives))
    parts.append(Markup('<text x="{:.1f}" y="{:.1f}">{}</text>').format(labels + 5, arrives + 4, transition.event))
    return parts


def _leaves(box: Box, arrives: float, *, own: bool) -> float:
    """Return where a line leaves a state: in its middle, unless something arrives right there."""
    if own:
        return box.y + 4 if arrives > box.y + 12 else box.y + box.height - 4
    return box.y + box.height - 5


def _state(machine: Machine, name: str, box: Box, wide: float, count: str) -> Markup:
    look = "state ends" if name in machine.terminal else "state"
    if count not in {"", "0", DASH}:
        look += " full"
    parts = [
        Markup('<rect class="{}" x="{}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="7"/>').format(
            look, LEFT, box.y, wide, box.height
        )
    ]
    if name in machine.terminal:
        frame = Markup('<rect class="frame" x="{}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="5"/>')
        parts.append(frame.format(LEFT + 3, box.y + 3, wide - 6, box.height - 6))
    if name == machine.initial:
        parts.append(Markup('<circle class="first" cx="6" cy="{:.1f}" r="4.5"/>').format(box.middle))
        parts.append(Markup('<path class="lane" d="M10 {:.1f}H{}"/>').format(box.middle, LEFT))
    text = Markup('<text class="name" x="{}" y="{:.1f}">{}</text>')
    parts.append(text.format(LEFT + 10, box.middle + 4, name))
    if count:
        shown = Markup('<text class="count end" x="{:.1f}" y="{:.1f}">{}</text>')
        parts.append(shown.format(LEFT + wide - 10, box.middle + 4, count))
    return Markup("").join(parts)
