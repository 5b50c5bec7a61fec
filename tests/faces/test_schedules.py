"""`ostinato schedules list | show | create | pause | resume | next | delete | recompute`."""

import pytest

from tests.faces.conftest import Place, Shell

DAILY = ("--at-time", "14:30", "--zone", "Europe/Paris")


def create(shell: Shell, name: str = "digest", *more: str) -> str:
    return shell("schedules", "create", name, "mail.send", *(more or DAILY))


def test_a_schedule_is_written_listed_and_shown(shell: Shell) -> None:
    assert "fires next at" in create(shell, "digest", "team=blue", *DAILY, "--key", "g7")

    lines = shell("schedules", "list").splitlines()
    assert lines[0].split()[:5] == ["schedule", "tenant", "kind", "rule", "zone"]
    assert lines[2].startswith("digest")
    assert "daily at 14:30:00" in lines[2]
    (found,) = shell.json("schedules", "list", "--key", "g7")["schedules"]
    assert (found["name"], found["zone"], found["paused"]) == ("digest", "Europe/Paris", False)
    shown = shell("schedules", "show", "digest")
    assert "daily at 14:30:00 in Europe/Paris" in shown
    assert '{"team": "blue"}' in shown
    document = shell.json("schedules", "show", "digest")
    assert document["args"] == {"team": "blue"}
    assert len(document["next_fires"]) == 3


def test_without_schedules_the_list_says_so(shell: Shell) -> None:
    assert shell("schedules", "list") == "No schedules yet.\n"
    assert shell.json("schedules", "list") == {"schedules": []}


def test_what_was_served_is_shown(shell: Shell, place: Place) -> None:
    create(shell)
    place.conn.execute(
        "update ostinato_data.schedule_due set next_at = clock_timestamp(),"
        " slot_at = clock_timestamp(), slot_local = clock_timestamp()::timestamp"
    )
    assert place.call("(ostinato.fire_schedules()).fired") == 1

    assert "lateness" in shell("schedules", "show", "digest")
    (fire,) = shell.json("schedules", "show", "digest")["fires"]
    assert fire["job_id"] > 0


def test_a_schedule_is_paused_resumed_and_deleted(shell: Shell) -> None:
    create(shell)

    assert shell("schedules", "pause", "digest") == "schedule digest is paused\n"
    assert "paused" in shell("schedules", "list")
    assert shell("schedules", "next", "digest") == "It will not fire.\n"
    assert shell("schedules", "resume", "digest").startswith("schedule digest fires next at")
    assert shell.json("schedules", "pause", "digest") == {"schedule": "digest", "paused": True}
    assert shell("schedules", "delete", "digest") == "schedule digest is deleted\n"
    assert "no schedule 'digest'" in shell.fails("schedules", "show", "digest")


def test_the_next_fires_are_told_in_both_times_and_a_moved_clock_is_flagged(shell: Shell) -> None:
    rule = ("--cron", "30 2 * * *", "--zone", "Europe/Paris", "--after", "2026-03-28T00:00:00Z")

    lines = shell("schedules", "next", *rule, "-n", "3").splitlines()

    first, second = (" ".join(line.split()) for line in lines[2:4])
    assert first == "Sat 2026-03-28 02:30:00 +01:00 2026-03-28 01:30:00Z"
    assert second.startswith("Sun 2026-03-29 02:30:00 +02:00 2026-03-29 01:30:00Z")
    assert second.endswith("gap: 02:30 does not exist, 03:30 instead")
    fires = shell.json("schedules", "next", *rule, "--gap", "skip")["fires"]
    assert fires[1]["slot_local"] == "2026-03-30T02:30:00"
    create(shell)
    assert len(shell.json("schedules", "next", "digest")["fires"]) == 5


def test_next_slots_are_computed_again_on_request(shell: Shell) -> None:
    create(shell)

    assert shell("schedules", "recompute") == "0 schedules changed\n"


def test_tenants_have_their_own(shell: Shell) -> None:
    create(shell, "digest", *DAILY, "--tenant", "t1")

    assert shell.json("schedules", "list", "--tenant", "t2") == {"schedules": []}
    assert "'default' has no schedule" in shell.fails("schedules", "pause", "digest")
    shell("schedules", "pause", "digest", "--tenant", "t1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--zone", "Europe/Paris"), "only one of them"),
        (("--cron", "every day"), "cannot be read"),
        (("--cron", "*/90 * * * *"), "is no minute"),
        (("--at-time", "25:00"), "cannot be read"),
        (("--at-time", "9:00 am"), "cannot be read"),
        (("--at", "2026-02-30T10:00"), "cannot be read"),
        (("--at", "2020-01-01T10:00"), "would never fire"),
        (("--at-time", "09:00", "--zone", "Mars/Olympus"), "'Mars/Olympus'"),
        (("--at-time", "09:00", "--weekdays", "mon,noday"), "noday"),
        (("--cron", "0 8 * * *", "--jitter", "2d"), "out of range"),
    ],
)
def test_what_makes_no_sense_is_refused(shell: Shell, options: tuple[str, ...], said: str) -> None:
    assert said in shell.fails("schedules", "create", "digest", "mail.send", *options)
    assert shell.json("schedules", "list") == {"schedules": []}


def test_next_needs_a_schedule_or_a_rule(shell: Shell) -> None:
    assert "a schedule or a rule is needed" in shell.fails("schedules", "next")
    assert "only one of them" in shell.fails("schedules", "next", "digest", "--cron", "0 8 * * *")
