"""Writes the output of a command: data on stdout, everything else on stderr.

For people there are tables, colours and a spinner while something takes long; on a pipe the same
text is plain. With --json stdout carries JSON and nothing else: one document, or one line per
event of a command that runs on.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ostinato._core.base.errors import InvalidInput, OstinatoError
from ostinato._core.base.redact import redact, redact_value
from ostinato._faces.cli.frame.document import to_json
from ostinato._faces.cli.frame.fitting import Fitting

# A pipe has no width; for the next program a row is best in one line.
PIPE_WIDTH = 400
CONTROLS = {code: "�" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


class Steps:
    """The progress of a long piece of work."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar

    def advance(self, by: int) -> None:
        """Add to the number that is done."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], by)


class Screen:
    """A part of the terminal that is drawn anew, below what is written meanwhile."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def fits(self, shown: RenderableType) -> bool:
        """Return whether all of it can be seen at once: what does not fit is cut off at the bottom."""
        console = self._live.console
        return len(console.render_lines(Harmless(shown), pad=False)) < console.height

    def show(self, shown: RenderableType) -> None:
        """Draw it in the place of what was there."""
        self._live.update(Harmless(shown))


class Output:
    """The two streams of a command."""

    def __init__(self, *, json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.json = json
        self.quiet = quiet
        self.verbose = verbose
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)

    @property
    def for_people(self) -> bool:
        """Whether a person watches: both streams are terminals, and --json was not given."""
        return self._out.is_terminal and self._err.is_terminal and not self.json

    @property
    def width(self) -> int:
        """How many columns the answer may have."""
        return self._out.width

    def show(self, value: object, *shown: RenderableType) -> None:
        """Write the command's answer: the value as JSON, or its form for people."""
        if self.json:
            self._line(to_json(value, indent=2 if self._out.is_terminal else None))
            return
        for part in shown:
            _print(self._out, part)

    def event(self, value: object) -> None:
        """Write one line about what just happened with --json; for people, nothing."""
        if self.json:
            self._line(to_json(value))

    def plain(self, text: str) -> None:
        """Print a text as it is, for other programs to read."""
        self._line(text)

    def note(self, text: str) -> None:
        """Write a note beside the answer, on stderr; not with --quiet."""
        if not self.quiet:
            _print(self._err, Text(text, style="dim"))

    def detail(self, text: str) -> None:
        """Write a note with --verbose."""
        if self.verbose:
            _print(self._err, Text(text, style="dim"))

    def warn(self, text: str) -> None:
        """Write a warning, on stderr."""
        _print(self._err, Text.assemble(("warning: ", "yellow"), text))

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a spinner while the block runs; without a terminal, one plain line."""
        if self.quiet or not (self._err.is_terminal and not self.json):
            self.note(text)
            yield
            return
        with self._err.status(Text(text)):
            yield

    @contextmanager
    def screen(self) -> Iterator[Screen | None]:
        """Keep a part of the terminal to be drawn anew until the block ends; None where no person watches it."""
        if not self.for_people or self.quiet:
            yield None
            return
        with Live(console=self._err, refresh_per_second=4) as live:
            yield Screen(live)

    @contextmanager
    def steps(self, text: str, total: int) -> Iterator[Steps]:
        """Show a progress bar while the block runs; without a terminal, nothing."""
        if not self.for_people or self.quiet:
            yield Steps(None)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self._err, transient=True) as bar:
            bar.add_task(text, total=total)
            yield Steps(bar)

    async def confirm(self, question: str, *, preview: bool = True) -> bool:
        """Ask for confirmation; without a terminal, raise an error that names --yes."""
        if self.json or not sys.stdin.isatty():
            only = ", or --preview to only count" if preview else ""
            raise InvalidInput(
                f"{question} Nobody is there to answer.", hint=f"Say --yes to go ahead without being asked{only}."
            )
        self._err.print(Text.assemble(question, (" [y/N] ", "bold")), end="")
        return (await _typed_line()).strip().lower() in ("y", "yes")

    def error(self, error: OstinatoError) -> None:
        """Write an error and its remedy."""
        if self.json:
            self._line(to_json(error_document(error)))
            return
        _print(self._err, Text.assemble(("error: ", "bold red"), redact(error.message).rstrip()))
        if error.hint:
            _print(self._err, Text.assemble(("→ ", "bold green"), error.hint))

    def _line(self, text: str) -> None:
        # Not through Rich, which would wrap it, colour it and read [brackets] as markup.
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def error_document(error: OstinatoError) -> dict[str, object]:
    """Return an error as programs get it."""
    shown = {
        "code": error.code,
        "message": redact(error.message),
        "hint": error.hint,
        "values": redact_value("values", error.values),
    }
    return {"error": shown}


def table(*columns: str, right: tuple[str, ...] = (), spare: tuple[str, ...] = ()) -> Table:
    """Return an empty table in the house style; those in `right` hold numbers, those in `spare` may be left out."""
    made = Fitting(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    made.spare = frozenset(spare)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def grid() -> Table:
    """Return an empty grid of names and values."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    return made


class Harmless:
    """A renderable without the control characters that stored text may hold.

    The arguments of a job or the text of an error must not move the cursor or rename the terminal.
    """

    def __init__(self, shown: RenderableType) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.shown, options):
            clean = segment.text.translate(CONTROLS)
            yield segment if segment.control else Segment(clean, segment.style)


async def _typed_line() -> str:
    """Read the next line from the terminal in the event loop, so that a signal ends the wait.

    A plain read is not enough: a signal that comes just before it is handled only when it returns.
    """
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()


def _print(console: Console, shown: RenderableType) -> None:
    console.print(Harmless(shown))


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,  # [brackets] in a name are part of it
        soft_wrap=False,
        width=None if stream.isatty() else PIPE_WIDTH,
    )
