"""Archive: the rule, what is due, and what was recorded; files are the business of tests/runtime/test_archive.py."""

from tests.sql.engine import Clock, Session

FILE = {"rows": 0, "bytes": 20, "sha256": "0" * 64, "file": "f.jsonl.gz", "place": "/mnt"}


def test_the_rule_is_there_until_it_is_taken_back(db: Session) -> None:
    assert db.call("show_archive_rule") == []
    db.call("require_archive", place="/mnt")
    db.call("require_archive", place="s3://bucket")
    assert [row["place"] for row in db.call("show_archive_rule")] == ["s3://bucket"]
    db.call("require_archive", place=None)
    assert db.call("show_archive_rule") == []


def test_weeks_past_retention_are_due_and_go_only_once_they_are_recorded(db: Session, clock: Clock) -> None:
    db.call("upkeep_partitions", retention_days=14, weeks_ahead=0)
    db.call("require_archive", place="/mnt")
    clock.advance(days=40)
    db.call("upkeep_partitions", retention_days=14, weeks_ahead=0)

    due = {row["name"]: row for row in db.call("due_for_archive", retention_days=14)}
    assert due["job_20260226"]["keys"] == ["id"]
    assert due["outcome_20260226"]["archived"] is None
    actions = db.call("upkeep_partitions", retention_days=14, weeks_ahead=0)
    assert any("not archived" in row["reason"] for row in actions)
    for name in due:
        db.call("record_archive", name=name, **FILE)
    actions = db.call("upkeep_partitions", retention_days=14, weeks_ahead=0)
    assert ("dropped", "job_20260226") in [(row["action"], row["name"]) for row in actions]
    assert {row["name"] for row in db.call("list_archive")} == set(due)


def test_late_rows_are_the_same_until_they_are_finished(db: Session, admin: Session) -> None:
    admin.rows("insert into ostinato_data.archive_late (source, line) values ('job', '{}'), ('job', '{}') returning id")
    (first,) = db.call("take_late", most=1)
    (again,) = db.call("take_late", most=5)
    assert first == again
    db.call("finish_late", name=first["name"], **FILE)
    (second,) = db.call("take_late", most=5)
    assert second["first"] == first["last"] + 1
    db.call("finish_late", name=second["name"], **FILE)
    assert db.call("take_late") == []
