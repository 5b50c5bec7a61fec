"""The rows of `ready` and `scheduled` are listed in one place, and cost a plan nothing."""

import re
from pathlib import Path

import pytest

from tests.sql.engine import Session

FUNCTIONS = Path(__file__).parents[2] / "src" / "ostinato" / "_core" / "engine" / "sql" / "functions"
INLINED = {
    "new_place": "select p.* from ostinato_internal.new_place(1, 2, false, 'q', 't', 'k', null) p",
    "place_at": "select p.* from ostinato_data.job j, ostinato_internal.place_at("
    "ostinato_internal.place_of(j, 0, 1, 2, 3), 7) p",
    "ready_row": "select p.* from ostinato_data.scheduled s, ostinato_internal.ready_row(s, 7) p",
    "scheduled_row": "select p.* from ostinato_data.ready r, ostinato_internal.scheduled_row("
    "ostinato_internal.place_in_line(r), null, '') p",
    "slot_key": "select ostinato_internal.slot_key(j.tenant_id, j.limit_key, j.limit_scope) from ostinato_data.job j",
    "place_of": "select ostinato_internal.place_of(j, 1, 2, 3, 4) from ostinato_data.job j",
}


def test_no_statement_lists_the_columns_of_a_place() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in FUNCTIONS.glob("*.sql")}

    found = [
        name
        for name, text in texts.items()
        if re.search(r"insert\s+into\s+(?:ostinato_data\.)?(?:ready|scheduled)\s*(?:\(|values)", text)
    ]

    assert found == []


@pytest.mark.parametrize("name", INLINED)
def test_a_plan_reads_as_if_the_columns_stood_in_it(db: Session, name: str) -> None:
    plan = [row["QUERY PLAN"] for row in db.rows(f"explain verbose {INLINED[name]}")]

    assert not any(name in line or "Function Scan" in line for line in plan), plan


@pytest.mark.parametrize(("ago", "cost", "fresh"), [(0, 1, True), (19, 1, True), (21, 1, False)])
def test_lanes_are_fresh_for_twenty_times_what_their_look_up_cost(
    db: Session, ago: int, cost: int, *, fresh: bool
) -> None:
    took = "ostinato.now() - %s * interval '1 ms', %s * interval '1 ms'"
    lanes = f"row({took}, 1, null, '{{}}', '{{}}', '{{}}')"

    assert db.value(f"select ostinato_internal.are_fresh({lanes}::ostinato_data.lanes)", ago, cost) is fresh
