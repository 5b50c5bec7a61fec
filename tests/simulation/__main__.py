"""Runs seeds from the command line; see the package's docstring."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.arena import Arena, arena
from tests.simulation.coordination.mutants import MUTANTS as COORDINATION
from tests.simulation.coordination.run import run_coordination
from tests.simulation.mutants import MUTANTS
from tests.simulation.run import Run, run

Play = Callable[..., Run]
console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    options = _options()
    with _arena() as place:
        if options.mutants:
            return _hunt(place, options)
        if options.seed is not None:
            return _replay(place, options)
        return _many(place, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description="A deterministic simulation of the engine."
    )
    parser.add_argument("--seed", type=int, help="replay one seed")
    parser.add_argument("--trace", action="store_true", help="print every step, look after each")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds (1000)")
    parser.add_argument("--start", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--mutants", action="store_true", help="how many seeds each mutant survives")
    parser.add_argument("--play", choices=("jobs", "coordination"), default="jobs", help="what is played (jobs)")
    parser.add_argument("--concept", default="", help="of coordination, only this concept")
    parser.add_argument("--mutant", help="replay a seed with the mutant of this name")
    parser.add_argument("--only", default="", help="mutants whose name has these words")
    return parser.parse_args()


def _play(name: str, concept: str) -> Play:
    return run if name == "jobs" else partial(run_coordination, concept=concept)


@contextmanager
def _arena() -> Iterator[Arena]:
    with tempfile.TemporaryDirectory(prefix="simulation-") as folder, arena(Path(folder)) as place:
        yield place


def _replay(place: Arena, options: argparse.Namespace) -> int:
    on_line = partial(console.print, markup=False) if options.trace else None
    play, seed = _play(options.play, options.concept), options.seed
    with _mutated(place, options.mutant):
        played = play(place, seed, on_line=on_line, look_always=options.trace)
    return _tell(played, [f"seed {seed}: {played.steps} steps, trace {played.digest[:16]}"])


def _mutated(place: Arena, name: str | None) -> AbstractContextManager[None]:
    if name is None:
        return nullcontext()
    return next(m for m in (*MUTANTS, *COORDINATION) if m.name == name).applied(place)


def _many(place: Arena, options: argparse.Namespace) -> int:
    play = _play(options.play, options.concept)
    started = time.monotonic()
    steps = count = 0
    played, seconds, rate = None, 0.0, "none"
    with _progress() as progress:
        bar = progress.add_task("seeds", total=options.seeds, note="")
        for seed in range(options.start, options.start + options.seeds):
            played = play(place, seed)
            steps, count = steps + played.steps, count + 1
            seconds = time.monotonic() - started
            rate = f"seed {seed}, {count / seconds:.1f} seeds/s, {steps / seconds:,.0f} steps/s"
            progress.update(bar, advance=1, note=rate)
            if played.broken is not None:
                break
            if options.minutes is not None and seconds > 60 * options.minutes:
                break
    if played is None:
        return 0
    return _tell(played, [f"{count} seeds, {steps:,} steps in {seconds:.0f} s: {rate}"])


def _tell(played: Run, lines: list[str]) -> int:
    if played.broken is not None:
        console.print(played.report(), markup=False)
        return 1
    console.print(*lines, "every promise was kept", sep="\n")
    return 0


def _hunt(place: Arena, options: argparse.Namespace) -> int:
    survivors = 0
    for mutant in MUTANTS if options.play == "jobs" else COORDINATION:
        if options.only not in mutant.name or options.concept not in mutant.concept:
            continue
        play = _play(options.play, mutant.concept)
        seeds = range(options.start, options.start + options.seeds)
        with mutant.applied(place):
            found = next((r for r in (play(place, seed) for seed in seeds) if r.broken), None)
        survivors += found is None
        where = "survives" if found is None else f"seed {found.seed}, {found.steps} steps"
        console.print(f"{where:24} {mutant.name}")
        if found is not None:
            console.print(f"{'':24} {str(found.broken)[:120]}", markup=False, style="dim")
    return int(survivors > 0)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), TextColumn("{task.fields[note]}"), console=console)


if __name__ == "__main__":
    sys.exit(main())
