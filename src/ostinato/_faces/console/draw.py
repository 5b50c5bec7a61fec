"""Draws charts, time lines and calendars as SVG, on the server.

A drawing has no style of its own: its classes get their colours from the style sheet, so that light
and dark work, and the content policy needs no inline style. Every drawing has a title for those who
cannot see it; a page shows the same figures as a table.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil, floor, log10

from markupsafe import Markup, escape

WIDTH, HEIGHT = 760, 170
LEFT, RIGHT, TOP, BOTTOM = 44, 6, 14, 24
GRID_LINES = 3
COLUMN = 4
"""The width of the column of a step that is not over."""
TICKS = 4
"""Equal parts of the axis of a time line."""
LABEL_WIDTH, LABEL_LETTERS = 180, 28
ROW = 26
LETTER = 6.2
"""The width of a letter of a note, about."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    name: str
    values: Sequence[float | None]
    look: str = "a"
    """The class of its colour: a, b, c."""
    filled: bool = False
    running: bool = False
    """Whether its last step is not over: that is a column of its own, which is known by its look."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a time line, or a moment when it has no end."""

    row: str
    start: datetime
    end: datetime | None
    look: str
    """The class of its colour: ok, bad, warn, info, soft."""
    note: str = ""
    indent: bool = False
    dashed: bool = False
    before: bool = False
    """Whether its note stands before it."""


def chart(title: str, lines: Sequence[Line], ticks: Sequence[str], number: Callable[[float], str]) -> Markup:
    """Draw a chart of lines over equal steps of time; `ticks` stand at equal distances below it."""
    top = nice_top(max((v for line in lines for v in line.values if v is not None), default=0))
    parts = [_open(title, WIDTH, HEIGHT, "chart")]
    for i in range(GRID_LINES + 1):
        y = HEIGHT - BOTTOM - i * (HEIGHT - TOP - BOTTOM) / GRID_LINES
        parts.append(Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(LEFT, y, WIDTH - RIGHT))
        label = number(top * i / GRID_LINES)
        parts.append(Markup('<text x="{}" y="{:.1f}" class="end">{}</text>').format(LEFT - 6, y + 4, label))
    for line in lines:
        parts += _line(line, top)
    for i, tick in enumerate(ticks):
        x = LEFT + i * (WIDTH - LEFT - RIGHT) / max(1, len(ticks) - 1)
        anchor = "start" if i == 0 else "end" if i == len(ticks) - 1 else "mid"
        text = Markup('<text x="{:.1f}" y="{}" class="{}">{}</text>')
        parts.append(text.format(x, HEIGHT - 6, anchor, tick))
    return Markup("").join([*parts, Markup("</svg>")])


def meter(title: str, share: float) -> Markup:
    """Draw a bar that is full at 1."""
    width = round(86 * min(1.0, max(0.0, share)), 1)
    return Markup("").join(
        [
            _open(title, 86, 7, "meter"),
            Markup('<rect class="track" width="86" height="7" rx="3.5"/>'),
            Markup('<rect class="fill" width="{}" height="7" rx="3.5"/>').format(width),
            Markup("</svg>"),
        ]
    )


def timeline(title: str, bars: Sequence[Bar], clock: Callable[[datetime, timedelta], str], width: int = 1000) -> Markup:
    """Draw rows of stretches on one axis of time; `clock` writes a moment of an axis of that length."""
    if not bars:
        return Markup("")
    first = min(bar.start for bar in bars)
    last = max(bar.end or bar.start for bar in bars)
    length = last - first
    span = max(length.total_seconds(), 0.001)
    room = width - LABEL_WIDTH - 15
    rows = list(dict.fromkeys(bar.row for bar in bars))
    height = len(rows) * ROW + 32

    def x(moment: datetime) -> float:
        return LABEL_WIDTH + (moment - first).total_seconds() / span * room

    parts = [_open(title, width, height, "timeline")]
    for i in range(TICKS + 1 if length else 1):  # what happened at once has one moment, and not five of the same name
        moment = first + length * i / TICKS
        anchor = "start" if i == 0 else "end" if i == TICKS else "mid"
        parts.append(Markup('<path class="grid" d="M{:.1f} 6V{}"/>').format(x(moment), height - 22))
        text = Markup('<text x="{:.1f}" y="{}" class="{}">{}</text>')
        parts.append(text.format(x(moment), height - 6, anchor, clock(moment, length)))
    for number, row in enumerate(rows):
        y = 8 + number * ROW
        indent = any(bar.indent for bar in bars if bar.row == row)
        parts.append(Markup('<text x="{}" y="{}">{}</text>').format(14 if indent else 0, y + 11, shortened(row)))
        parts += [_bar(bar, x, y, width) for bar in _spaced([bar for bar in bars if bar.row == row], x, width)]
    return Markup("").join([*parts, Markup("</svg>")])


def shortened(label: str) -> str:
    """Cut the label of a row where the drawing begins."""
    return label if len(label) <= LABEL_LETTERS else f"{label[: LABEL_LETTERS - 1]}…"


def nice_top(largest: float) -> float:
    """Return the top of an axis: three steps of a round number, at least the largest value."""
    if largest <= 0:
        return float(GRID_LINES)
    step = largest / GRID_LINES
    size = 10.0 ** floor(log10(step))
    return GRID_LINES * next(size * factor for factor in (1, 1.5, 2, 3, 5, 10) if size * factor >= step)


def ticks_of(first: datetime, last: datetime, count: int, clock: Callable[[datetime], str]) -> list[str]:
    """Return the times below a chart, at equal distances."""
    step = (last - first) / max(1, count - 1)
    return [clock(first + step * i) for i in range(count)]


def buckets(values: Iterable[tuple[datetime, float]], first: datetime, step: timedelta, count: int) -> list[float]:
    """Sum values by equal steps of time; a step without a value is 0."""
    sums = [0.0] * count
    for at, value in values:
        place = ceil((at - first) / step) if at == first else int((at - first) / step)
        if 0 <= place < count:
            sums[place] += value
    return sums


def _open(title: str, width: float, height: float, look: str) -> Markup:
    text = Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>')
    return text.format(look, width, height, title, title)


def _line(line: Line, top: float) -> list[Markup]:
    across, down = (float(LEFT), float(WIDTH - RIGHT)), (float(HEIGHT - BOTTOM), float(TOP))
    points = _points(line.values, top, across, down, len(line.values) - line.running)
    if not points:
        return []
    made = [Markup('<path class="line {}" d="{}"/>').format(line.look, points)]
    if line.running:
        last = Markup('<path class="line {0} running" id="running-{0}" d="{1}"/>')
        made.append(last.format(line.look, last_column(line, top)))
    if line.filled and None not in line.values:
        area = f"{points}V{down[0]:.1f}H{across[0]:.1f}Z"
        made.insert(0, Markup('<path class="area {}" d="{}"/>').format(line.look, area))
    return made


def last_column(line: Line, top: float) -> str:
    """Return the path of the step of a line that is not over, as a column: a line down to it would look like a fall."""
    x = WIDTH - RIGHT - COLUMN * ("cba".index(line.look) + 0.5)
    foot = float(HEIGHT - BOTTOM)
    return f"M{x:.1f} {foot:.1f}V{foot - (foot - TOP) * min(1.0, (line.values[-1] or 0.0) / top):.1f}"


def _points(
    values: Sequence[float | None], top: float, across: tuple[float, float], down: tuple[float, float], most: int
) -> str:
    """Return the path through the first `most` of the values, which stand at equal distances."""
    step = (across[1] - across[0]) / max(1, len(values) - 1)
    parts, pen = [], "M"
    for i, value in enumerate(values[:most]):
        if value is None:
            pen = "M"
            continue
        y = down[0] + (down[1] - down[0]) * min(1.0, value / top)
        parts.append(f"{pen}{across[0] + i * step:.1f} {y:.1f}")
        pen = "L"
    return "".join(parts)


def _spaced(bars: Sequence[Bar], x: Callable[[datetime], float], width: int) -> list[Bar]:
    """Return the stretches of a row; dots whose notes would lie on each other are one cluster with one note."""
    spaced: list[Bar] = []
    cluster: list[Bar] = []
    for bar in bars:
        # A note at the right end stands before its dot, and reaches back to the note of the one before.
        left = x(bar.start) - (_reach(bar.note) + 6 if x(bar.start) + 8 + _reach(bar.note) > width else 0)
        near = cluster and left < x(cluster[-1].start) + _reach(cluster[0].note) + 30
        if bar.end is None and near:
            cluster.append(bar)
            continue
        spaced += _noted(cluster, x, width)
        cluster = [bar] if bar.end is None else []
        spaced += [] if bar.end is None else [bar]
    return spaced + _noted(cluster, x, width)


def _noted(cluster: Sequence[Bar], x: Callable[[datetime], float], width: int) -> list[Bar]:
    """Give dots close to each other one note, that of the first, which counts the others and lies on none of them."""
    if len(cluster) < 2:  # noqa: PLR2004 - one dot has its own note
        return list(cluster)
    note = f"{cluster[0].note} +{len(cluster) - 1}"
    bare = [replace(bar, note="") for bar in cluster]
    if x(cluster[-1].start) + 8 + _reach(note) > width:
        return [replace(cluster[0], note=note, before=True), *bare[1:]]
    return [*bare[:-1], replace(cluster[-1], note=note)]


def _reach(note: str) -> float:
    return LETTER * len(note)


def _bar(bar: Bar, x: Callable[[datetime], float], y: float, width: int) -> Markup:
    start = x(bar.start)
    if bar.end is None:
        shape = Markup('<circle class="{}" cx="{:.1f}" cy="{}" r="4"/>').format(bar.look, start, y + 7)
        after = start + 8
    elif bar.dashed:
        shape = Markup('<path class="dash {}" d="M{:.1f} {}H{:.1f}"/>').format(bar.look, start, y + 11, x(bar.end))
        return shape + Markup('<text x="{:.1f}" y="{}" class="end note">{}</text>').format(x(bar.end), y + 6, bar.note)
    else:
        wide = max(3.0, x(bar.end) - start)
        text = Markup('<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="13" rx="3"/>')
        shape = text.format(bar.look, start, y + 1, wide)
        after = start + wide + 6
    if not bar.note:
        return shape
    # A note that would leave the drawing stands before its bar; where the names of the rows are, inside it.
    place, look = after, "start"
    if bar.before or after + _reach(bar.note) > width:
        inside = start - 6 - _reach(bar.note) < LABEL_WIDTH
        place, look = (after - 12, "end inside") if inside else (start - 6, "end")
    note = Markup('<text x="{:.1f}" y="{}" class="{} note">{}</text>')
    return shape + note.format(place, y + 11, look, escape(bar.note))
