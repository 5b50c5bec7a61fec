"""`ostinato events list | show | subscriptions | replay | pause | resume | buried | redeliver`."""

import pytest

from tests.faces.conftest import Place, Shell

EMIT = "ostinato.emit_event('invoice.paid', '{\"n\": 7}', %s, 1, 'acme', 'request-1', now(), 'billing')"
SUB = "billing.receipts"


def tell(place: Place, *keys: str | None) -> list[int]:
    told = [int(place.call(EMIT, key)) for key in keys]
    place.call("ostinato.sequence_events()")
    return told


@pytest.fixture
def subscribed(place: Place) -> Place:
    place.call("ostinato.subscribe(%s)", SUB)
    return place


def bury(place: Place) -> None:
    """Make jobs of the events, and the first of them a dead letter."""
    place.call("ostinato_internal.dispatch_deliveries(%s)", SUB)
    worker = place.worker()
    place.conn.execute(
        "select ostinato.fail_jobs(array[c.claim_id], array[c.job_id], array[c.attempt],"
        " array[null::float8], array['{}'], array['ValueError: no'], array['attempts_used_up'])"
        " from ostinato.claim_jobs(%s, 'default', 1, array[%s]) c",
        [worker, SUB],
    )


def test_without_events_the_lists_say_so(shell: Shell) -> None:
    assert shell("events", "list") == "No events.\n"
    assert shell("events", "subscriptions") == "No subscriptions.\n"
    assert shell("events", "buried") == "Nothing is buried.\n"
    assert shell.json("events", "list") == {"events": [], "next": None}


def test_events_are_listed_and_shown(shell: Shell, subscribed: Place) -> None:
    first, second = tell(subscribed, "invoice-7", None)

    lines = shell("events", "list").splitlines()
    assert lines[0].split()[:3] == ["event", "position", "type"]
    assert lines[2].split()[:2] == [str(second), "2"]
    assert "invoice-7" in lines[3]
    page = shell.json("events", "list", "--most", "1")
    assert page["next"] == second
    assert [e["id"] for e in shell.json("events", "list", "--key", "invoice-7")["events"]] == [first]
    shown = shell("events", "show", str(first))
    assert "invoice.paid, version 1" in shown
    assert '{"n": 7}' in shown or '{"n":7}' in shown
    assert shell.json("events", "show", str(first))["event"]["payload"] == {"n": 7}
    assert "there is no event 1" in shell.fails("events", "show", "1")


def test_subscriptions_tell_how_far_they_are_and_can_be_paused(shell: Shell, subscribed: Place) -> None:
    tell(subscribed, "a", "b")

    (line,) = shell.json("events", "subscriptions")["subscriptions"]
    assert (line["name"], line["behind"]) == (SUB, 2)
    assert SUB in shell("events", "subscriptions")
    assert shell("events", "pause", SUB) == f"subscription {SUB} is paused\n"
    assert "paused" in shell("events", "subscriptions")
    assert shell("events", "resume", SUB) == f"subscription {SUB} is open\n"
    assert "there is no subscription 'x'" in shell.fails("events", "pause", "x")


def test_a_replay_says_how_many_before_it_acts(shell: Shell, subscribed: Place) -> None:
    tell(subscribed, "a", "b", "c")
    bury(subscribed)

    assert shell("events", "replay", SUB, "--from", "2", "--preview") == ("Would be delivered again: 2 events.\n")
    assert "Nobody is there to answer" in shell.fails("events", "replay", SUB, "--from", "2")
    assert "--from POSITION or --since" in shell.fails("events", "replay", SUB)
    assert shell.json("events", "replay", SUB, "--since", "2026-01-01T00:00:00Z", "--yes") == {
        "matching": 3,
        "replayed": 3,
    }
    assert shell("events", "buried") == "Nothing is buried.\n"


def test_buried_events_are_listed_redelivered_and_discarded(shell: Shell, subscribed: Place) -> None:
    told = tell(subscribed, "a")
    bury(subscribed)

    (line,) = shell.json("events", "buried")["buried"]
    assert (line["event_id"], line["reason"]) == (told[0], "attempts_used_up")
    assert "ValueError: no" in shell("events", "buried", "--subscription", SUB)
    assert "dead" in shell("events", "show", str(told[0]))
    assert "Name positions" in shell.fails("events", "redeliver", SUB)
    counted = shell("events", "redeliver", SUB, "--all", "--preview")
    assert counted == "Would be delivered again: 1 event.\n"
    assert shell("events", "redeliver", SUB, "1", "--yes") == "Delivered again: 1 of 1.\n"
    assert shell("events", "discard", SUB, "1") == "0 events discarded.\n"


def test_a_subscription_can_be_removed(shell: Shell, subscribed: Place) -> None:
    tell(subscribed, "a")

    assert "with 1 event that it has not settled" in shell.fails("events", "unsubscribe", SUB)
    assert shell("events", "unsubscribe", SUB, "--yes") == f"subscription {SUB} is gone\n"
    assert shell.json("events", "subscriptions") == {"subscriptions": []}
