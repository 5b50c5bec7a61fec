"""What a load takes, as `ostinato doctor --plan` computes it."""

from dataclasses import replace

import pytest

from ostinato._faces.cli.operate import plan
from ostinato._faces.cli.operate.plan import Figure, Load

LOAD = Load(rate=1000, run_seconds=0.05, args_bytes=100, concurrency=100, handler_connections=0, retention_days=14)


def value(name: str, load: Load) -> float:
    return next(figure.value for figure in plan.plan(load) if figure.name == name)


def test_there_are_two_workers_at_least_and_enough_for_what_runs_at_once() -> None:
    assert value("worker processes", LOAD) == 2
    assert value("worker processes", replace(LOAD, run_seconds=1)) == 10
    assert value("worker processes", replace(LOAD, rate=50_000, run_seconds=0)) == 10


def test_handlers_get_no_more_connections_than_the_settings_allow() -> None:
    most = replace(LOAD, run_seconds=10, handler_connections=5)

    assert value("connections", LOAD) == 2 * plan.WORKER_CONNECTIONS + 50
    assert value("connections", most) == 100 * (plan.WORKER_CONNECTIONS + 5)


def test_disk_grows_with_the_rate_the_days_and_the_arguments() -> None:
    day = replace(LOAD, retention_days=1)

    assert value("history on disk", LOAD) == pytest.approx(14 * value("history on disk", day))
    assert value("history on disk", replace(day, args_bytes=10_000)) > 10 * value("history on disk", day)


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [(0, "0.0 B"), (724_000, "724 kB"), (68 << 20, "71 MB"), (1.2e12, "1.2 TB"), (3e16, "30,000 TB")],
)
def test_bytes_are_said_as_people_write_them(bytes_: float, said: str) -> None:
    assert plan.shown(Figure("x", bytes_, "bytes", "", "")) == said
