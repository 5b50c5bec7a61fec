"""The tables: on the terminal, as JSON, and in docs/benchmarks.md between its markers."""

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.catalog import BY_KEY, OURS
from bench.peers import cores
from bench.places import DOCS, RESULTS
from bench.targets import NOTHING, Summaries, Verdict, verdicts

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
RATIOS = (
    ("drain", "drain"),
    ("bulk", "bulk enqueue"),
    ("single", "one by one"),
    ("latency_p50", "latency p50"),
    ("latency_p99", "latency p99"),
)
MARK = {True: "met", False: "missed", None: "not measured"}
COLOUR = {"met": "green", "missed": "red", "not measured": "dim"}


@dataclass(frozen=True)
class Column:
    title: str
    name: str
    shown: Callable[[float], str]


COLUMNS = (
    Column("drain jobs/s", "drain", lambda v: f"{v:,.0f}"),
    Column("bulk enqueue/s", "bulk", lambda v: f"{v:,.0f}"),
    Column("one by one/s", "single", lambda v: f"{v:,.0f}"),
    Column("latency p50 ms", "latency_p50", lambda v: f"{v:.1f}"),
    Column("latency p99 ms", "latency_p99", lambda v: f"{v:.1f}"),
    Column("idle queries/s", "idle", lambda v: f"{v:.1f}"),
    Column("CPU % at 10/s", "cpu_at_10", lambda v: f"{v:.1f}"),
    Column("CPU % at 50/s", "cpu_at_50", lambda v: f"{v:.1f}"),
    Column("statements/job", "statements", lambda v: f"{v:.1f}"),
    Column("WAL B/job", "wal", lambda v: f"{v:,.0f}"),
    Column("client CPU µs/job", "client_cpu_us", lambda v: f"{v:,.0f}"),
)

LABELS = {
    "trickle_p50": "start latency at 10 jobs/s p50, ms",
    "trickle_p99": "start latency at 10 jobs/s p99, ms",
    "limit_sql": "SQL limit, jobs/s",
    "limit_share": "worker's share of the SQL limit",
    "snapshot_normal": "drain, jobs/s",
    "snapshot_held": "drain with a snapshot held open, jobs/s",
    "snapshot_share": "share kept with a snapshot held open",
    "backlog_small": "drain of the shorter backlog, jobs/s",
    "backlog_large": "drain of a backlog ten times as long, jobs/s",
    "backlog_share": "share kept with the longer backlog",
    "tenants_one": "drain, one tenant, jobs/s",
    "tenants_many": "drain, 1,000 tenants, one with half, jobs/s",
    "tenants_rate_share": "share kept with 1,000 tenants",
    "tenants_claim_cost": "cost of claim and completion in SQL, 1,000 tenants against one",
    "tenants_small_mean": "small tenants' mean position, 1 is as if alone",
    "tenants_small_last": "small tenants' last position, 1 is as if alone",
    "contend_1": "1 worker, jobs/s",
    "contend_16": "16 workers, jobs/s",
    "contend_64": "64 workers, jobs/s",
    "contend_16_share": "16 workers against 1",
    "contend_64_share": "64 workers against 1",
    "sustained_rate": "single inserts reached, of 1,000/s",
    "sustained_p50": "their start latency p50, ms",
    "sustained_p99": "their start latency p99, ms",
    "steps": "jobs of 5 steps, jobs/s",
    "schedules_written": "schedules written in sets, a second",
    "schedules_p50": "schedules due at once: job added, lateness p50, ms",
    "schedules_p99": "schedules due at once: job added, lateness p99, ms",
    "schedules_start_p99": "schedules due at once: handler started, lateness p99, ms",
    "schedules_threads": "threads of the worker with all schedules",
    "schedules_mb": "memory of the worker with all schedules, MB",
}

Rows = list[list[str]]


@dataclass(frozen=True)
class Sheet:
    """A table before it is drawn."""

    title: str
    head: list[str]
    rows: Rows


def title_of(key: str, summaries: Summaries) -> str:
    version = summaries[key].get("version", "")
    return f"{BY_KEY[key].title} {version}".strip()


def figures_sheet(summaries: Summaries) -> Sheet:
    rows = [
        [
            title_of(key, summaries),
            *(
                NOTHING if figures.get(column.name) is None else column.shown(figures[column.name])
                for column in COLUMNS
            ),
        ]
        for key, figures in summaries.items()
    ]
    return Sheet("Same server, one worker process", ["system", *(c.title for c in COLUMNS)], rows)


def shown_ratio(value: float) -> str:
    return f"{value:.2f}x" if value >= 0.1 else f"{value:.3f}x"


def ratios_sheet(summaries: Summaries, base: str) -> Sheet:
    """Every system as a multiple of `base`; for latencies, too, more is more."""
    rows = []
    for key, figures in summaries.items():
        cells = []
        for name, _ in RATIOS:
            theirs, mine = summaries[base].get(name), figures.get(name)
            cells.append(NOTHING if not theirs or mine is None else shown_ratio(mine / theirs))
        rows.append([BY_KEY[key].title, *cells])
    head = ["system", *(title for _, title in RATIOS)]
    return Sheet(f"As a multiple of {BY_KEY[base].title}", head, rows)


def drain_matrix(summaries: Summaries) -> Sheet:
    """Who drains how many times as fast as whom."""
    rates = {key: figures["drain"] for key, figures in summaries.items() if "drain" in figures}
    rows = [[BY_KEY[row].title, *(shown_ratio(rates[row] / rates[column]) for column in rates)] for row in rates]
    return Sheet("Drain, row against column", ["", *(BY_KEY[key].title for key in rates)], rows)


def scenario_sheet(summaries: Summaries) -> Sheet:
    rows = [
        [BY_KEY[key].title, LABELS[name], f"{value:,.2f}" if value < 100 else f"{value:,.0f}"]
        for key, figures in summaries.items()
        for name, value in figures.items()
        if name in LABELS
    ]
    return Sheet("Scenarios", ["system", "figure", "value"], rows)


def verdict_sheet(found: list[Verdict]) -> Sheet:
    rows = [[v.figure, v.target, v.measured, MARK[v.met]] for v in found]
    return Sheet("Targets", ["figure", "target", "measured", ""], rows)


def sheets(summaries: Summaries) -> list[Sheet]:
    base = OURS if OURS in summaries else next(iter(summaries))
    found = [figures_sheet(summaries)]
    if len(summaries) > 1:
        found += [ratios_sheet(summaries, base), drain_matrix(summaries)]
    found.append(scenario_sheet(summaries))
    if OURS in summaries:
        found.append(verdict_sheet(verdicts(summaries)))
    return [sheet for sheet in found if sheet.rows]


def show(console: Console, sheet: Sheet) -> None:
    table = Table(title=sheet.title, title_justify="left", title_style="bold")
    for place, head in enumerate(sheet.head):
        table.add_column(head, justify="left" if place == 0 else "right")
    for row in sheet.rows:
        style = COLOUR.get(row[-1], "bold" if row[0].startswith(BY_KEY[OURS].title) else "")
        table.add_row(*row, style=style)
    console.print(table)


def about(settings: dict[str, str], length: str, rounds: int, disturbance: str) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": cores(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "length": length,
        "rounds": rounds,
        "disturbance": disturbance,
        "server": settings,
    }


def write_json(run: dict[str, Any], summaries: Summaries, rounds: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    found = {"run": run, "summary": summaries, "rounds": rounds}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def markdown(run: dict[str, Any], summaries: Summaries) -> str:
    server = run["server"]
    head = (
        f"Measured on {run['date']}: {run['cores']} cores ({run['machine']}), "
        f"Python {run['python']}, PostgreSQL {server['server_version']}, "
        f"fsync {server['fsync']}, synchronous_commit {server['synchronous_commit']}, "
        f"medians of {run['rounds']} interleaved rounds, length `{run['length']}`. "
        "Read the ratios, not the absolutes."
    )
    lines = [head, ""]
    if run["disturbance"]:
        lines += [f"**{run['disturbance']}**", ""]
    for sheet in sheets(summaries):
        lines += [f"### {sheet.title}", "", "| " + " | ".join(sheet.head) + " |"]
        lines.append("|---" + "|---:" * (len(sheet.head) - 1) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in sheet.rows]
        lines.append("")
    lines += ["### How each was set up", ""]
    lines += [f"- {title_of(key, summaries)}: {BY_KEY[key].note}." for key in summaries]
    return "\n".join(lines)


def update_docs(run: dict[str, Any], summaries: Summaries) -> None:
    """Replaces what stands between the markers; adds the markers where there are none."""
    DOCS.parent.mkdir(parents=True, exist_ok=True)
    text = DOCS.read_text() if DOCS.exists() else "# Benchmarks\n"
    if BEGIN not in text or END not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    DOCS.write_text(f"{before}{BEGIN}\n{markdown(run, summaries)}\n{END}{after}")
