"""A table that fits its terminal: no word is ever broken, so an id can be copied from it.

The widest columns give way first, down to their longest word. Where that is not enough, each row
becomes a block of its own, one line for each column that holds something.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

LEAST = 12
"""A column of sentences is not made narrower than this: one word a line is no table any more."""


class Fitting(Table):
    """A table of the house."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it as it is, with narrower columns, or one block for each row."""
        spans = [self._span(console, options, position) for position in range(len(self.columns))]
        room = options.max_width - self._extra_width - sum(self._get_padding_width(n) for n in range(len(spans)))
        widths = narrowed(spans, room)
        if widths is None:
            yield from self._blocks()
            return
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)

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
        widest = max(free, key=lambda n: widths[n])
        widths[widest] -= 1
    return widths
