"""The table of `make bench-apps`: every row is divided by its own yardstick."""

from itertools import combinations

import pytest

from bench import app_rows, apps, outbound, webhooks


def test_no_two_parts_of_the_benchmark_have_a_figure_of_the_same_name() -> None:
    assert [one & other for one, other in combinations(apps.PARTS, 2) if one & other] == []
    assert {"send", "beside send"} <= outbound.NAMES
    assert {"webhooks", "beside webhooks"} <= app_rows.NAMES
    assert webhooks.Round._fields[:2] == ("worker", "alone")


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two figures have one name: httpx"):
        apps.merged({"send": 1.0, "httpx": 2.0}, {"httpx": 3.0})


def test_every_row_names_figures_that_are_measured() -> None:
    known = frozenset[str]().union(*apps.PARTS)
    named = {name for row in apps.ROWS if row.share for name in row.share if isinstance(name, str)}

    assert named <= known


def test_a_row_is_its_figure_divided_by_its_yardstick() -> None:
    found = dict.fromkeys(frozenset[str]().union(*apps.PARTS), 1.0)
    found |= {"send": 30.0, "beside send": 60.0, "webhooks": 10.0, "beside webhooks": 40.0}

    told = {line[:27].strip(): line.split()[-1] for line in apps.lines(found)}

    assert told["outbound: sent"] == "50%"
    assert told["webhooks, 300 keys"] == "25%"
