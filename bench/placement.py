"""`python -m bench.placement [--cells 60] [--tenants 20000]`: placing tenants in cells, and the moves that follow.

A simulation without a database: tenants of very different sizes (a Pareto distribution) are placed where there is most
room, the largest first; then each day their rates drift, some grow tenfold, and a cell that is too full gives tenants
to the emptiest one: the largest first whose copy takes no longer than a tenant may be paused. It prints how full the
fullest cell gets, how many moves a day that takes, how long tenants are paused, and how often no move helps: a tenant
that is more than a cell can do, or that has too many rows to be copied in the time, cannot be helped by moving it.

The same seed gives the same figures. The rate of a cell and the time of a copy are measured elsewhere
(`docs/benchmarks.md`, `python -m bench.cells`), and given here.
"""

import argparse
import heapq
import random
from dataclasses import dataclass, field

ALPHA = 1.2
"""How unequal tenants are: the largest fifth has about four fifths of the work."""
FULL = 0.7
"""A cell above this share of its rate gives tenants away."""
DRIFT = 0.1
GROWTH_CHANCE, GROWTH = 0.0005, 10.0
PAUSE_SECONDS_LEAST = 0.5
ROWS_OF_JOB = 2
"""In the history: its own, and its outcome."""


@dataclass
class Cell:
    """A cell, and the rates of the tenants in it."""

    tenants: dict[int, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """What it does a second."""
        return sum(self.tenants.values())


@dataclass
class Day:
    """What one day took."""

    fullest: float
    moves: int
    moved: float
    """The rates of those that moved, together."""
    stuck: int
    """Cells that are too full and have nothing that could be moved."""


def main() -> None:
    """Simulate, print."""
    given = argparse.ArgumentParser()
    given.add_argument("--cells", type=int, default=60)
    given.add_argument("--tenants", type=int, default=20_000)
    given.add_argument("--rate", type=float, default=1_000_000, help="jobs a second of all tenants")
    given.add_argument("--cell-rate", type=float, default=33_000, help="jobs a second that a cell does")
    given.add_argument("--days", type=int, default=90)
    given.add_argument("--retention-hours", type=float, default=24)
    given.add_argument("--copy-rate", type=float, default=14_000, help="rows a second that a move copies")
    given.add_argument("--pause", type=float, default=300, help="seconds that a tenant may be paused at the most")
    given.add_argument("--seed", type=int, default=1)
    asked = given.parse_args()
    rng = random.Random(asked.seed)  # noqa: S311  # a simulation
    sizes = [rng.paretovariate(ALPHA) for _ in range(asked.tenants)]
    scale = asked.rate / sum(sizes)
    cells = [Cell() for _ in range(asked.cells)]
    too_large = place(cells, [min(size * scale, asked.cell_rate * FULL) for size in sizes])
    print(f"{asked.tenants:,} tenants, {asked.rate:,.0f} jobs/s, {asked.cells} cells of {asked.cell_rate:,.0f} jobs/s")
    print(f"fullest cell after placing        {max(cell.rate for cell in cells) / asked.cell_rate:.0%}")
    print(f"emptiest                          {min(cell.rate for cell in cells) / asked.cell_rate:.0%}")
    print(f"largest tenant                    {too_large / asked.cell_rate:.0%} of a cell")
    rows = asked.retention_hours * 3600 * ROWS_OF_JOB
    movable = (asked.pause - PAUSE_SECONDS_LEAST) * asked.copy_rate / rows
    print(f"largest that can be moved         {movable:,.0f} jobs/s")
    print(f"history of the fullest cell       {max(cell.rate for cell in cells) * rows / 1e9:,.1f} billion rows")
    days = [live(cells, asked.cell_rate, rng, movable) for _ in range(asked.days)]
    print(f"{asked.days} days: fullest cell before moves {max(day.fullest for day in days):.0%}")
    print(f"moves a day                       {sum(day.moves for day in days) / asked.days:.1f}")
    moved, moves = sum(day.moved for day in days), sum(day.moves for day in days)
    paused = PAUSE_SECONDS_LEAST + moved / max(1, moves) * rows / asked.copy_rate
    print(f"paused, seconds a move            {paused:.1f}")
    print(f"days with a cell that no move helps  {sum(day.stuck > 0 for day in days)}")


def place(cells: list[Cell], rates: list[float]) -> float:
    """Put each tenant where there is most room, the largest first; return the largest."""
    heap = [(0.0, number) for number in range(len(cells))]
    for tenant, rate in sorted(enumerate(rates), key=lambda each: -each[1]):
        used, number = heapq.heappop(heap)
        cells[number].tenants[tenant] = rate
        heapq.heappush(heap, (used + rate, number))
    return max(rates)


def live(cells: list[Cell], cell_rate: float, rng: random.Random, movable: float) -> Day:
    """Let a day go by, then move what is too much."""
    for cell in cells:
        for tenant, rate in cell.tenants.items():
            grown = GROWTH if rng.random() < GROWTH_CHANCE else 1.0
            drifted = rate * grown * rng.uniform(1 - DRIFT, 1 + DRIFT) / (1 + GROWTH_CHANCE * (GROWTH - 1))
            cell.tenants[tenant] = min(drifted, cell_rate * FULL)
    fullest = max(cell.rate for cell in cells) / cell_rate
    moves, moved, stuck = 0, 0.0, 0
    for cell in sorted(cells, key=lambda each: -each.rate):
        while cell.rate > cell_rate * FULL:
            chosen = which(cell, movable)
            target = min(cells, key=lambda each: each.rate)
            if chosen is None or target.rate + cell.tenants[chosen] > cell_rate * FULL:
                stuck += 1
                break
            rate = target.tenants[chosen] = cell.tenants.pop(chosen)
            moves += 1
            moved += rate
    return Day(fullest, moves, moved, stuck)


def which(cell: Cell, movable: float) -> int | None:
    """The largest tenant that can be copied in the time that it may be paused."""
    small = [(rate, tenant) for tenant, rate in cell.tenants.items() if rate <= movable]
    return max(small)[1] if small and len(cell.tenants) > 1 else None


if __name__ == "__main__":
    main()
