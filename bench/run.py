"""`make bench`: Ostinato and its peers on one embedded server, interleaved, as one table.

Rounds go round robin over the systems, so that a disturbance of the machine meets all of them, and
the order turns by one from round to round. Each figure is the median of its rounds.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

if __package__ in {None, ""}:  # run as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import psycopg
from rich.console import Console

from bench import peers, quiet, report
from bench.catalog import BY_KEY, OURS, SYSTEMS, System
from bench.launch import end_on_terminate
from bench.measure import COMMON, Bench, Figures, one_round
from bench.scenarios import BESIDE, OURS_ONLY, SCENARIOS
from bench.server import running
from bench.sizes import FULL, QUICK
from bench.stats import summary

Rounds = dict[str, list[Figures]]
FAILURES = (NotImplementedError, OSError, RuntimeError, psycopg.Error, subprocess.SubprocessError)


class Run:
    """Gathers the figures of a run; a system that fails is named and left out of what follows."""

    def __init__(self, bench: Bench, systems: Sequence[System], console: Console) -> None:
        self.bench = bench
        self.systems = list(systems)
        self.console = console
        self.rounds: Rounds = {}
        self.failures: list[str] = []
        self.others: list[float] = []
        self._started = time.monotonic()

    def common(self, only: set[str]) -> None:
        for number in range(self.bench.sizes.rounds):
            # The idle rate does not vary from round to round: once is enough.
            wanted = only - {"idle"} if number else only
            turn = number % max(1, len(self.systems))
            for system in self.systems[turn:] + self.systems[:turn]:
                self.note(f"round {number + 1}: {system.title}")
                self.attempt(system, partial(one_round, self.bench, system, wanted))

    def scenarios(self, only: set[str], *, named: bool) -> None:
        for name, scenario in SCENARIOS.items():
            for system in list(self.systems):
                if name in BESIDE:
                    fits = system.key in BESIDE[name]
                else:
                    fits = system.key == OURS or (named and name not in OURS_ONLY)
                if name in only and fits:
                    self.note(f"{name}: {system.title}")
                    self.attempt(system, partial(scenario, self.bench, system))

    def attempt(self, system: System, measure: Callable[[], Figures]) -> None:
        self.others.append(quiet.others_share())
        try:
            self.rounds.setdefault(system.key, []).append(measure())
        except FAILURES as error:
            if getattr(error, "unwritten", False) or isinstance(error, NotImplementedError):
                reason = f"its adapter is not written yet ({error})"
                self.systems = [other for other in self.systems if other.key != system.key]
            else:
                reason = str(error)
                self.failures.append(f"{system.title}: {reason}")
            self.console.print(f"  [red]{system.title}: {reason}[/red]")

    def note(self, text: str) -> None:
        self.console.print(f"[dim]{time.monotonic() - self._started:6.0f} s  {text}[/dim]")

    def summaries(self) -> dict[str, dict[str, Any]]:
        return {system.key: summary(self.rounds[system.key]) for system in SYSTEMS if self.rounds.get(system.key)}


def names(text: str, known: Sequence[str], what: str) -> list[str]:
    chosen = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in chosen if part not in known]
    if unknown:
        raise SystemExit(f"No {what} named {', '.join(unknown)}. There are: {', '.join(known)}.")
    return chosen


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    measures = [*COMMON, *SCENARIOS]
    parser.add_argument("--quick", action="store_true", help="small sizes, two to three minutes")
    parser.add_argument("--rounds", type=int, help="how many interleaved rounds")
    parser.add_argument("--only", default=",".join(measures), help=", ".join(measures))
    parser.add_argument("--systems", default="", help=", ".join(BY_KEY))
    parser.add_argument("--update-docs", action="store_true", help="write docs/benchmarks.md")
    args = parser.parse_args(argv)
    args.only = set(names(args.only, measures, "measurement"))
    args.chosen = [BY_KEY[key] for key in names(args.systems, list(BY_KEY), "system")]
    return args


def main(argv: Sequence[str] | None = None) -> int:
    end_on_terminate()
    args = arguments(argv)
    console = Console() if sys.stdout.isatty() else Console(width=150)
    sizes = QUICK if args.quick else FULL
    if args.rounds:
        sizes = type(sizes)(**{**vars(sizes), "rounds": args.rounds})
    systems = peers.install(args.chosen or SYSTEMS, console.print)
    with running() as server, peers.redis(systems) as extra:
        settings = server.settings()
        shown = ", ".join(f"{name} {value}" for name, value in settings.items())
        console.print(f"PostgreSQL: {shown}; {peers.cores()} cores")
        run = Run(Bench(server, sizes, extra), systems, console)
        if args.only & set(COMMON):
            run.common(args.only)
        run.scenarios(args.only, named=bool(args.chosen))
    summaries = run.summaries()
    if not summaries:
        console.print("Nothing was measured.")
        return 1
    disturbance = quiet.warning(run.others)
    length = "quick" if args.quick else "full"
    about = report.about(settings, length, sizes.rounds, disturbance)
    report.write_json(about, summaries, run.rounds)
    for sheet in report.sheets(summaries):
        report.show(console, sheet)
    if args.update_docs:
        report.update_docs(about, summaries)
    if disturbance:
        console.print(f"[yellow]{disturbance}[/yellow]")
    for failure in run.failures:
        console.print(f"[red]failed: {failure}[/red]")
    return 1 if run.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
