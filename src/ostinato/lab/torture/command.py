"""`ostinato torture` breaks everything for a while, and counts the promises afterwards."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Self

import typer

from ostinato._faces.cli.frame.command import Cli

if TYPE_CHECKING:
    from ostinato.lab.torture.checks import Left
    from ostinato.lab.torture.run import Report

BROKEN = 1


def torture(
    cli: Cli,
    minutes: Annotated[float, typer.Option(min=0.05, help="How long to break things.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="Where chance begins.", show_default="another every time")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 4,
    hosts: Annotated[
        int, typer.Option(min=0, max=32, help="Hosts of the workers; needs root.", show_default="none")
    ] = 0,
) -> None:
    """Kill workers, crash the database, cut connections; then count what was promised.

    Meanwhile jobs are enqueued, events emitted and webhooks sent. It runs on a database of its
    own in a temporary folder, and touches nothing else. Exit code 1: a promise was broken.

    With --hosts the workers are on so many hosts (network name spaces), the database and its synchronous standby on
    two more, and the load on another; hosts are parted, packets lost, and the standby promoted, too.

    Example: `ostinato torture --minutes 5 --seed 42`
    """
    import asyncio
    import secrets

    from ostinato._core.base import log
    from ostinato.lab.torture import run as torture_run

    log.configure(level="error")  # outages of the database are expected here
    chosen = secrets.randbelow(1_000_000) if seed is None else seed
    cli.out.note(f"seed {chosen}")
    with _progress(cli) as say:
        if hosts:
            report = torture_run.run_on_hosts(chosen, minutes, workers, hosts, say)
        else:
            report = asyncio.run(torture_run.run(chosen, minutes, workers, say))
    _show(cli, report)
    if not report.holds:
        raise typer.Exit(BROKEN)


class _progress:  # noqa: N801 - read as a verb, in a `with`
    """Shows the progress in a live line; without a terminal, in a plain one now and then."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._said = ""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description:>8}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[standing]}"),
        )
        quiet = self._cli.out.quiet or not self._cli.out.for_people
        self._bar = Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True)
        self._task = self._bar.add_task("starting", total=1.0, standing="")
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, phase: str, share: float, left: "Left | None") -> None:
        standing = "the database is away" if left is None else _standing(left)
        self._bar.update(self._task, description=phase, completed=share, standing=standing)
        if self._bar.disable and phase != self._said:
            self._said = phase
            self._cli.out.note(phase if left is None else f"{phase}: {standing}")


def _standing(left: "Left") -> str:
    return f"{left.ready} ready, {left.running} running, {left.scheduled} later, {left.dead} dead, {left.ended} ended"


def _show(cli: Cli, report: "Report") -> None:
    from rich.text import Text

    from ostinato._faces.cli.frame.output import table

    harm = table("harm", "times", right=("times",))
    for name, times in sorted(report.harm.items()):
        harm.add_row(name, f"{times}")
    promises = table("promise", "found", "must be", "", right=("found", "must be"))
    for count in report.counts:
        verdict = Text("")
        if count.must_be is not None:
            verdict = Text("kept", "green") if count.holds else Text("BROKEN", "bold red")
        must_be = "" if count.must_be is None else f"{count.must_be}"
        promises.add_row(count.name, f"{count.value:g}", must_be, verdict)
    answer = {
        "seed": report.seed,
        "minutes": report.minutes,
        "workers": report.workers,
        "hosts": report.hosts,
        "holds": report.holds,
        "harm": dict(report.harm),
        "evidence": report.evidence,
        "counts": [{**asdict(count), "holds": count.holds} for count in report.counts],
    }
    again = f"seed {report.seed}, {report.minutes:g} min, {report.workers} workers" + (
        f" on {report.hosts} hosts" if report.hosts else ""
    )
    summary = "every promise was kept" if report.holds else "a promise was broken"
    cli.out.show(answer, harm, promises, *report.evidence, f"{summary} ({again})")
