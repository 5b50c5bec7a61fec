"""A table that fits its terminal: no word is ever broken, so an id can be copied from it.

The widest columns give way first, down to their longest word. Where that is not enough, columns that hold nothing
are left out, then those that a list can do without, from the last on; and where that is still not enough, each row
becomes a block of its own, one line for each column that holds something.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

LEAST = 12
"""A column of sentences is not made narrower than this: one word a line is no table any more."""


class Fitting(Table):
    """A table of the house; the columns with a heading in `spare` are the first to go."""

    spare: frozenset[str] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it as it is, with narrower columns, or one block for each row."""
        whole = self.columns
        widths = self._widths(console, options)
        for fewer in self._fewer():
            if widths is not None:
                break
            self.columns = fewer
            widths = self._widths(console, options)
        if widths is None:
            self.columns = whole
            yield from self._blocks()
            return
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)

    def _fewer(self) -> Iterator[list[Column]]:
        """Yield the columns that hold something, and then ever fewer of them."""
        left = [column for column in self.columns if any(str(cell).strip() for cell in column.cells)]
        yield left
        for spare in reversed([column for column in left if str(column.header) in self.spare]):
            left = [column for column in left if column is not spare]
            yield left

    def _widths(self, console: Console, options: ConsoleOptions) -> list[int] | None:
        spans = [self._span(console, options, position) for position in range(len(self.columns))]
        room = options.max_width - self._extra_width - sum(self._get_padding_width(n) for n in range(len(spans)))
        return narrowed(spans, room)

    def _span(self, console: Console, options: ConsoleOptions, position: int) -> Measurement:
        """Return how wide a column must be, so that no word breaks, and how wide it would like to be."""
        column = self.columns[position]
        wide = options.update(max_width=10_000)
        spans = [Measurement.get(console, wide, cell) for cell in [column.header, *column.cells]]
        most = max(span.maximum for span in spans)
        return Measurement(max(*(span.minimum for span in spans), min(most, LEAST)), most)

    def _blocks(self) -> Iterator[RenderableType]:
        for position in range(self.row_count):
            if position:
                yield Text()
            block = Table.grid(padding=(0, 2))
            block.add_column(style="dim", no_wrap=True)
            block.add_column(overflow="fold")
            for column in self.columns:
                cell = list(column.cells)[position]
                if str(cell).strip():
                    block.add_row(column.header, cell)
            yield block


def narrowed(spans: Sequence[Measurement], room: int) -> list[int] | None:
    """Return the widths of columns in a room, the widest cut first; None if their words do not fit."""
    if sum(span.minimum for span in spans) > room:
        return None
    widths = [span.maximum for span in spans]
    while sum(widths) > room:
        free = [n for n, span in enumerate(spans) if widths[n] > span.minimum]
        widest = max(reversed(free), key=lambda n: widths[n])  # of equals the last: sentences stand on the right
        widths[widest] -= 1
    return widths
