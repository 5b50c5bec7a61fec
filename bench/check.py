"""`make bench-check`: has Ostinato become slower than its committed baseline?

Every round measures the engine between two calibrations, and each figure is divided by what the
calibrations say of the machine at that moment. A median that is more than 15 % worse than the one
in `bench/baseline.json` fails, after as many rounds again have confirmed it.

`python -m bench.check --update` writes the baseline.

The rows of `bench.apps` are guarded as well, once a run: each is a ratio to its own yardstick already. They take some
minutes, and a busy machine moves them by more than it allows, so continuous integration has none of them.
`--engine` leaves them out.

With `--if-quiet` it is for continuous integration, where nobody repeats a run that was disturbed:

- A ratio to calibration is comparable only where the proportions of the machine are the same, so
  other cores or another PostgreSQL than the baseline's are a reason to skip, said in one line.
- Other work disturbs engine and calibration differently (seen: +220 %), so it waits for a quiet
  machine, counts no round at whose end it was not quiet, and skips when too few are left.
- It fails only for what no machine can change, the write-ahead log of a job and the statements of a
  request, if *every* round that counts is more than 15 % worse. Times are printed and said, but fail
  nothing: on two machines of the same kind, hours apart, the same code differed by up to 40 % from its
  own baseline.
- It starts no round after `--seconds`.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import app_http, apps, calibrate, peers, quiet, statements
from bench.catalog import BY_KEY, OURS, System
from bench.launch import SystemFailedError, end_on_terminate
from bench.measure import Bench, one_round
from bench.places import BASELINE
from bench.server import running
from bench.sizes import FULL
from bench.stats import summary
from bench.targets import NOTHING

ALLOWED = 0.15
ROUNDS = 7
APP_ROUNDS = 4
LEAST_ROUNDS = 3
WAIT_FOR_QUIET_SECONDS = 20.0
MEASURED = frozenset({"bulk", "single", "drain", "latency"})
SIZES = replace(FULL, jobs_share=1.5, singles=2_000, latency_seconds=3, settle_seconds=1.0)


@dataclass(frozen=True)
class Figure:
    """A guarded figure, the calibration it is divided by, and which way is worse."""

    name: str
    title: str
    by: str
    more_is_better: bool

    def ratio(self, figures: dict[str, Any], around: calibrate.Calibration) -> float:
        """A rate is divided by the yardstick; milliseconds become how many of it fit in."""
        value, yardstick = float(figures[self.name]), around.of(self.by)
        if self.more_is_better:
            return value / yardstick
        return value if self.by == "none" else value / 1_000 * yardstick

    @property
    def timed(self) -> bool:
        """Whether the machine has a part in it."""
        return self.by != "none"

    def worse(self, now: float, before: float) -> float:
        """By which part of the baseline the figure is worse; negative when it is better."""
        return 1 - now / before if self.more_is_better else now / before - 1


FIGURES = (
    Figure("drain", "drain", "mixed", more_is_better=True),
    Figure("bulk", "bulk enqueue", "mixed", more_is_better=True),
    Figure("single", "one by one", "commit", more_is_better=True),
    Figure("latency_p50", "start latency p50", "commit", more_is_better=False),
    Figure("wal", "write-ahead log per job", "none", more_is_better=False),
    Figure("cached POST", "statements, cached POST", "none", more_is_better=False),
    Figure("cached GET", "statements, cached GET", "none", more_is_better=False),
    Figure("new", "statements, new capture", "none", more_is_better=False),
    Figure("replay", "statements, replayed one", "none", more_is_better=False),
    *(Figure(name, title, "none", more_is_better=False) for name, title in statements.TITLES.items()),
)

APPLICATIONS = tuple(
    Figure(
        apps.key_of(row.share),
        f"{row.figure.strip()} / {row.yardstick}" if row.yardstick else f"{row.share.theirs} by processor time",
        "yardstick",
        more_is_better=True,
    )
    for row in apps.ROWS
    if row.share is not None
)
"""The rows of `bench.apps`."""
GUARDED = (*FIGURES, *APPLICATIONS)

Ratios = dict[str, list[float]]


def middle(before: calibrate.Calibration, after: calibrate.Calibration) -> calibrate.Calibration:
    return calibrate.Calibration(
        python=(before.python + after.python) / 2,
        batch=(before.batch + after.batch) / 2,
        commit=(before.commit + after.commit) / 2,
    )


def gather(bench: Bench, system: System, rounds: int, console: Console, until: float | None = None) -> Ratios:
    """The ratios of some rounds, each between two calibrations.

    With `until`, none starts after that time, and those that other work disturbed are left out.
    """
    found: Ratios = {figure.name: [] for figure in FIGURES}
    # once: they are the same in every round
    counted = app_http.statements(bench.server) | statements.measure(bench.server)
    before = calibrate.measure(bench.server)
    for number in range(rounds):
        if until is not None and time.monotonic() > until:
            break
        figures = summary([one_round(bench, system, MEASURED)]) | counted
        after = calibrate.measure(bench.server)
        around = middle(before, after)
        before = after
        if until is not None and (share := quiet.others_share()) > quiet.DISTURBED:
            console.print(f"[dim]round {number + 1} does not count: others took {share:.0%}[/dim]")
            continue
        for figure in FIGURES:
            found[figure.name].append(figure.ratio(figures, around))
        console.print(f"[dim]round {number + 1} of {rounds}: drain {figures['drain']:,.0f}/s[/dim]")
    return found


def gather_all(bench: Bench, system: System, rounds: int, console: Console, *, applications: bool) -> Ratios:
    """The ratios of the engine, and those of the applications, whose rounds are their own."""
    found = gather(bench, system, rounds, console)
    if applications:
        found |= {name: [share] for name, share in apps.shares(apps.measure(bench.server, APP_ROUNDS)).items()}
    return found


def regressions(found: Ratios, baseline: dict[str, float]) -> list[str]:
    return [
        figure.title
        for figure in GUARDED
        if figure.name in baseline
        and figure.name in found
        and figure.worse(median(found[figure.name]), baseline[figure.name]) > ALLOWED
    ]


def certain_regressions(found: Ratios, baseline: dict[str, float], *, timed: bool) -> list[str]:
    """Those that every single round shows, among the figures that are timed or among the others."""
    return [
        figure.title
        for figure in FIGURES
        if figure.timed == timed
        and figure.name in baseline
        and all(figure.worse(value, baseline[figure.name]) > ALLOWED for value in found[figure.name])
    ]


def unlike(known: dict[str, Any], cores: int, version: str) -> str:
    """Why a baseline says nothing here: it is of another machine; empty if it is of such a one."""
    theirs = f"{known['cores']} cores and PostgreSQL {known['postgresql'].partition('.')[0]}"
    ours = f"{cores} cores and PostgreSQL {version.partition('.')[0]}"
    return "" if ours == theirs else f"the baseline is of {theirs}, here are {ours}"


def check_if_quiet(seconds: float, console: Console) -> int:
    """What continuous integration asks: 1 if a job costs more whatever the machine, else 0."""
    until = time.monotonic() + seconds
    share = quiet.wait_for_quiet(WAIT_FOR_QUIET_SECONDS)
    if share > quiet.DISTURBED:
        return skipped(f"other work takes {share:.0%} of the machine", console)
    known = json.loads(BASELINE.read_text())
    with running() as server, peers.redis([BY_KEY[OURS]]) as extra:
        if reason := unlike(known, peers.cores(), server.settings()["server_version"]):
            return skipped(reason, console)
        try:
            found = gather(Bench(server, SIZES, extra), BY_KEY[OURS], ROUNDS, console, until)
        except SystemFailedError as error:
            console.print(f"[red]{error}[/red]")
            return 2
    rounds = len(found["drain"])
    if rounds < LEAST_ROUNDS:
        return skipped(f"{rounds} undisturbed rounds in {seconds:g} s are too few", console)
    console.print(table(found, known["ratios"]))
    slower = certain_regressions(found, known["ratios"], timed=True)
    if slower:
        console.print(f"In all rounds more than {ALLOWED:.0%} slower here, which fails nothing: {', '.join(slower)}.")
    worse = certain_regressions(found, known["ratios"], timed=False)
    if worse:
        console.print(f"[red]In all rounds more than {ALLOWED:.0%} worse: {', '.join(worse)}.[/red]")
    return 1 if worse else 0


def skipped(reason: str, console: Console) -> int:
    console.print(f"bench-check: skipped, {reason}.")
    return 0


def table(found: Ratios, baseline: dict[str, float]) -> Table:
    drawn = Table(title="Ratios to calibration", title_justify="left")
    for head in ("figure", "baseline", "now", "change", ""):
        drawn.add_column(head, justify="left" if head in {"figure", ""} else "right")
    for figure in GUARDED:
        if figure.name not in found:
            continue
        now, before = median(found[figure.name]), baseline.get(figure.name)
        if before is None:
            drawn.add_row(figure.title, NOTHING, f"{now:.4g}", NOTHING, "new")
            continue
        worse = figure.worse(now, before)
        verdict = "[red]worse[/red]" if worse > ALLOWED else "[green]fine[/green]"
        drawn.add_row(figure.title, f"{before:.4g}", f"{now:.4g}", f"{now / before - 1:+.1%}", verdict)
    return drawn


def write(found: Ratios, system: System, settings: dict[str, str]) -> None:
    text = {
        "about": "Medians of ratios to calibration, see bench/check.py; not times.",
        "system": system.key,
        "cores": peers.cores(),
        "postgresql": settings["server_version"],
        "rounds": len(found["drain"]),
        "ratios": {name: float(f"{median(values):.6g}") for name, values in found.items()},
    }
    BASELINE.write_text(json.dumps(text, indent=2) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.check", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write bench/baseline.json")
    parser.add_argument("--if-quiet", action="store_true", help="for CI: skip what cannot be said")
    parser.add_argument("--seconds", type=float, default=150.0, help="bound for --if-quiet")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--engine", action="store_true", help="without the applications")
    parser.add_argument("--system", default=OURS, choices=list(BY_KEY), help="whom to measure")
    args = parser.parse_args(argv)
    end_on_terminate()
    console = Console()
    if args.if_quiet:
        return check_if_quiet(args.seconds, console)
    if not args.update and not BASELINE.exists():
        console.print("There is no bench/baseline.json: write it with `python -m bench.check --update`.")
        return 2
    baseline: dict[str, float] = {}
    if not args.update:
        baseline = json.loads(BASELINE.read_text())["ratios"]
    system = BY_KEY[args.system]
    with running() as server, peers.redis([system]) as extra:
        settings = server.settings()
        bench = Bench(server, SIZES, extra)
        try:
            applications = system.key == OURS and not args.engine
            found = gather_all(bench, system, args.rounds, console, applications=applications)
            if regressions(found, baseline):
                console.print("Worse than the baseline; measuring again to be sure.")
                again = gather_all(bench, system, args.rounds, console, applications=applications)
                found = {name: values + again[name] for name, values in found.items()}
        except SystemFailedError as error:
            console.print(f"[red]{error}[/red]")
            return 2
    console.print(table(found, baseline))
    if args.update:
        write(found, system, settings)
    worse = regressions(found, baseline)
    if worse:
        console.print(f"[red]More than {ALLOWED:.0%} worse: {', '.join(worse)}.[/red]")
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
