"""Alerts that people acknowledge and silence: shown as ever, silent for a while, and awake again at the end."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, refused
from tests.sql.test_alerts import _source, declare, evaluate, firing, row, say, state, told

__all__ = ["_source"]

LATER = START + timedelta(hours=1)


def silence(db: Session, name: str = "shop.slow", **fields: Any) -> None:  # noqa: ANN401 - as the parameter is
    db.call("silence_alert", **({"name": name, "until": LATER, "reason": "known"} | fields))


def types(db: Session) -> list[str]:
    return [kind for kind, _ in told(db)]


def test_what_fires_is_acknowledged_once_and_fires_on(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, mail=11, post=12)
    evaluate(db)

    assert db.get("acknowledge_alert", name="shop.slow", label="post") == 1
    assert db.get("acknowledge_alert", name="shop.slow") == 1
    assert db.get("acknowledge_alert", name="shop.slow") == 0

    assert {each["acknowledged_by"] for each in firing(db)} == {"ostinato_worker"}
    assert {each["acknowledged_at"] for each in firing(db)} == {START}
    assert state(db) == "firing"


def test_a_silenced_alert_fires_and_sends_nothing_until_its_silence_ends(
    db: Session, admin: Session, clock: Clock
) -> None:
    declare(db, row())
    silence(db)
    say(admin, post=11)

    assert evaluate(db) == ["shop.slow post fired"]
    assert (state(db), types(db)) == ("firing", [])
    (shown,) = firing(db)
    assert (shown["state"], shown["silenced_until"]) == ("firing", LATER)

    clock.advance(seconds=3600)
    evaluate(db)
    evaluate(db)
    assert types(db) == ["alert.fired"]
    assert firing(db)[0]["silenced_until"] is None
    assert db.call("list_silences") == []


def test_what_fires_and_ends_in_a_silence_is_never_told(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row())
    silence(db)
    say(admin, post=11)
    evaluate(db)
    say(admin, post=1)
    evaluate(db)

    clock.advance(seconds=3600)
    evaluate(db)

    assert types(db) == []
    assert firing(db)[0]["state"] == "resolved"


def test_the_end_of_what_was_told_before_a_silence_is_told_after_it(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)
    silence(db)
    say(admin, post=1)
    evaluate(db)
    assert types(db) == ["alert.fired"]

    clock.advance(seconds=3600)
    evaluate(db)
    evaluate(db)

    assert types(db) == ["alert.fired", "alert.resolved"]


def test_a_silence_of_one_label_leaves_the_others(db: Session, admin: Session) -> None:
    declare(db, row())
    silence(db, label="post")
    say(admin, mail=11, post=11)

    evaluate(db)

    assert [payload["label"] for _, payload in told(db)] == ["mail"]
    assert {each["label"]: each["silenced_until"] for each in firing(db)} == {"mail": None, "post": LATER}


def test_a_silence_that_is_ended_early_sends_what_it_kept_back(db: Session, admin: Session) -> None:
    declare(db, row())
    silence(db)
    say(admin, post=11)
    evaluate(db)

    assert db.get("unsilence_alert", name="shop.slow") is True
    assert db.get("unsilence_alert", name="shop.slow") is False
    evaluate(db)

    assert types(db) == ["alert.fired"]


def test_a_silence_is_replaced_by_the_next_one(db: Session) -> None:
    declare(db, row())
    silence(db)
    silence(db, until=LATER + timedelta(hours=1), reason="longer")

    (found,) = db.call("list_silences")

    assert (found["reason"], found["until"], found["silenced_by"]) == (
        "longer",
        LATER + timedelta(hours=1),
        "ostinato_worker",
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"until": START},
        {"until": None},
        {"until": START + timedelta(days=91)},
        {"reason": ""},
        {"reason": None},
        {"reason": "x" * 1001},
        {"label": "x" * 101},
    ],
    ids=str,
)
def test_a_silence_without_a_reason_or_an_end_is_refused(db: Session, fields: dict[str, Any]) -> None:
    declare(db, row())

    with refused("OS400"):
        silence(db, **fields)

    assert db.call("list_silences") == []


@pytest.mark.parametrize("verb", ["acknowledge_alert", "unsilence_alert"])
def test_an_alert_that_is_not_there_is_refused(db: Session, verb: str) -> None:
    with refused("OS404"):
        db.call(verb, name="shop.none")


def test_a_tenant_acts_on_its_own_alerts_only(db: Session, admin: Session, sessions: Sessions) -> None:
    declare(db, row(tenant_id="acme"), row("shop.theirs", tenant_id="globex"), row("shop.each", tenant_id=None))
    say(admin, acme=11, globex=11)
    evaluate(db)
    tenant = sessions.tenant("acme")

    with refused("OS404"):
        silence(tenant, "shop.theirs")
    with refused("OS404"):
        tenant.call("acknowledge_alert", name="shop.theirs")
    silence(tenant)
    silence(tenant, "shop.each", label="globex")  # its own label, whatever it names
    tenant.call("acknowledge_alert", name="shop.each")
    silence(db, "shop.theirs")

    assert {(each["alert"], each["label"]) for each in tenant.call("list_silences")} == {
        ("shop.slow", None),
        ("shop.each", "acme"),
    }
    seen = {each["label"]: each["acknowledged_at"] for each in firing(db, name="shop.each")}
    assert seen == {"acme": START, "globex": None}
    with refused("OS404"):
        silence(sessions.tenant(""))


def test_an_alert_that_is_no_longer_declared_takes_its_silence_along(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)
    silence(db)

    declare(db)

    assert types(db) == ["alert.fired", "alert.resolved"]
    declare(db, row())
    assert db.call("list_silences") == []


def test_one_of_something_is_said_as_one(db: Session, admin: Session) -> None:
    declare(db, row(threshold=0, message="{value} letters", message_one="{value} letter"))
    say(admin, mail=1, post=2)

    evaluate(db)

    assert {each["label"]: each["message"] for each in firing(db)} == {"mail": "1 letter", "post": "2 letters"}
    assert {(each["template"], each["template_one"]) for each in firing(db)} == {("{value} letters", "{value} letter")}
