"""A number that SQL and Python both need is the same in both, and the planner sees it."""

import pytest

from ostinato._core.base import events
from ostinato._core.base.answers import MAX_ANSWER_BYTES
from ostinato._core.base.settings import Settings
from ostinato._core.base.signature import SIGNATURE_LENGTH
from ostinato._core.engine import jobs, schedules
from ostinato._core.runtime.handlers import events as subscribers
from ostinato._core.runtime.handlers import steps
from ostinato._core.runtime.handlers.results import MAX_RESULT_BYTES
from ostinato._core.runtime.worker import buffer, claimer
from ostinato._core.web.idempotent import MAX_KEY
from tests.sql.engine import Session

TWINS = {
    "small_claim": [claimer.SMALL_CLAIM],
    "suspect_crashes": [buffer.SUSPECT_CRASHES],
    "most_bytes": [jobs.MAX_ARGS_BYTES, MAX_ANSWER_BYTES],
    "most_result_bytes": [MAX_RESULT_BYTES],
    "most_schedule_bytes": [schedules.MAX_ARGS_BYTES],
    "usual_expiry": [int(Settings().expiry_seconds)],
    "longest_name": [
        events.LONGEST_NAME,
        steps.LONGEST_NAME,
        subscribers.LONGEST_SUBSCRIPTION,
        MAX_KEY,
        SIGNATURE_LENGTH,
    ],
}
ONLY_SQL = [
    "most_lanes",
    "most_keys",
    "poor_look_up",
    "most_poor_look_ups",
    "most_field_bytes",
    "most_streams",
    "ready_cap",
    "place_cap",
    "line_cap",
    "death_seconds",
    "doubt_factor",
    "ids_of_a_day",
    "last_id",
    "most_rows",
    "longest_text",
    "longest_error",
    "most_note_bytes",
    "most_catch_up",
    "most_slots",
    "longest_message_id",
    "most_tries",
    "no_limit",
    "year_seconds",
]


@pytest.mark.parametrize("name", TWINS)
def test_python_has_the_same_number_as_sql(db: Session, name: str) -> None:
    assert set(TWINS[name]) == {db.value(f"select ostinato_internal.{name}()")}


def test_the_args_of_a_schedule_leave_room_for_the_slot(db: Session) -> None:
    assert db.value("select ostinato_internal.most_bytes()") > schedules.MAX_ARGS_BYTES


@pytest.mark.parametrize("name", [*TWINS, *ONLY_SQL])
def test_a_plan_holds_the_number_and_not_the_call(db: Session, name: str) -> None:
    plan = db.rows(f"explain verbose select from pg_class where relpages > ostinato_internal.{name}()")

    assert not any(name in row["QUERY PLAN"] for row in plan)


def test_suspects_are_found_by_their_index(db: Session) -> None:
    """`crashes >= 2` stands in the index; the query names the number."""
    with db.transaction():
        db.rows("set local enable_seqscan = off")
        plan = db.rows(
            "explain select from ostinato_data.ready r"
            " where r.queue = 'q' and r.crashes >= ostinato_internal.suspect_crashes() order by r.position"
        )

    assert any("ready_suspect" in row["QUERY PLAN"] for row in plan)
