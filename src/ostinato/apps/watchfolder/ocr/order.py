"""Orders lines as a person reads a page: by rows, or column by column. Pure."""

from collections.abc import Sequence
from statistics import median

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

LEAST_LINES = 5
FILLED = 0.6
NARROWEST = 0.25
MOST_CROSSING = 0.2


def reading_order(boxes: Sequence[Box]) -> list[list[int]]:
    """Return the lines of each row, by their numbers, in the order in which they are read."""
    gutter = _gutter(boxes)
    if gutter is None:
        return rows(boxes, range(len(boxes)))
    found: list[list[int]] = []
    left: list[int] = []
    right: list[int] = []
    for number in sorted(range(len(boxes)), key=lambda each: boxes[each][1]):
        if boxes[number][2] <= gutter:
            left.append(number)
        elif boxes[number][0] >= gutter:
            right.append(number)
        else:  # a line over the whole width ends the columns above it
            found += [*rows(boxes, left), *rows(boxes, right), [number]]
            left, right = [], []
    return [*found, *rows(boxes, left), *rows(boxes, right)]


def rows(boxes: Sequence[Box], numbers: Sequence[int]) -> list[list[int]]:
    """Return the rows from top to bottom, each with its lines from left to right."""
    found: list[list[int]] = []
    for number in sorted(numbers, key=lambda each: boxes[each][1] + boxes[each][3]):
        _, top, _, bottom = boxes[number]
        if found:
            last = boxes[found[-1][0]]
            overlap = min(bottom, last[3]) - max(top, last[1])
            if overlap > 0.5 * min(bottom - top, last[3] - last[1]):
                found[-1].append(number)
                continue
        found.append([number])
    return [sorted(row, key=lambda each: boxes[each][0]) for row in found]


def _gutter(boxes: Sequence[Box]) -> float | None:
    """Return where a white strip parts two columns of running text; a table is no such thing."""
    if len(boxes) < 2 * LEAST_LINES:
        return None
    start, end = min(box[0] for box in boxes), max(box[2] for box in boxes)
    width = end - start
    if width <= 0:
        return None
    places = [start + width * share / 100 for share in range(30, 71)]
    best = min(places, key=lambda x: (sum(b[0] < x < b[2] for b in boxes), abs(x - start - width / 2)))
    crossing = sum(box[0] < best < box[2] for box in boxes)
    left = [box for box in boxes if box[2] <= best]
    right = [box for box in boxes if box[0] >= best]
    fits = (
        crossing <= MOST_CROSSING * len(boxes)
        and min(len(left), len(right)) >= LEAST_LINES
        and all(_is_column(side, width) for side in (left, right))
    )
    return best if fits else None


def _is_column(lines: Sequence[Box], page: float) -> bool:
    """Return whether lines fill their column, as running text does and the cells of a table do not."""
    wide = max(box[2] for box in lines) - min(box[0] for box in lines)
    filled = median(box[2] - box[0] for box in lines)
    return wide >= NARROWEST * page and filled >= FILLED * wide
