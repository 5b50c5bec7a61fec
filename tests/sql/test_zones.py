"""Local time: instants of wall clocks, rules of recurrence, and an independent oracle for both.

The oracle is Python's zoneinfo with the `tzdata` package: fold 0 and 1 of a wall-clock time are its
two readings, and in a gap fold 0 is the shifted one. PostgreSQL has rules of its own, which may be
of another year: zones in which the two disagree are printed and left out, never silently.
"""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from tests.sql.engine import Session, Sessions, refused

FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
STEP = timedelta(days=5)  # no zone changes its clock twice within
GRID = [FIRST + n * STEP for n in range((LAST - FIRST) // STEP + 1)]
HALF_HOURS = [time(minute // 60, minute % 60) for minute in range(0, 24 * 60, 30)]

# J, drop time, open_at (J at drop time), close_at (J+1 at drop time), hours between: Europe/Paris.
ROUNDS = """
2026-03-28 14:30 2026-03-28T13:30Z 2026-03-29T12:30Z 23
2026-03-29 14:30 2026-03-29T12:30Z 2026-03-30T12:30Z 24
2026-03-28 02:30 2026-03-28T01:30Z 2026-03-29T01:30Z 24
2026-03-29 02:30 2026-03-29T01:30Z 2026-03-30T00:30Z 23
2026-03-29 00:00 2026-03-28T23:00Z 2026-03-29T22:00Z 23
2026-10-24 14:30 2026-10-24T12:30Z 2026-10-25T13:30Z 25
2026-10-24 02:30 2026-10-24T00:30Z 2026-10-25T00:30Z 24
2026-10-25 02:30 2026-10-25T00:30Z 2026-10-26T01:30Z 25
2026-10-25 00:00 2026-10-24T22:00Z 2026-10-25T23:00Z 25
2026-10-24 23:59 2026-10-24T21:59Z 2026-10-25T22:59Z 25
2027-03-27 14:30 2027-03-27T13:30Z 2027-03-28T12:30Z 23
2027-03-27 02:30 2027-03-27T01:30Z 2027-03-28T01:30Z 24
2027-03-28 02:30 2027-03-28T01:30Z 2027-03-29T00:30Z 23
2027-10-30 14:30 2027-10-30T12:30Z 2027-10-31T13:30Z 25
2027-10-30 02:30 2027-10-30T00:30Z 2027-10-31T00:30Z 24
2027-10-31 02:30 2027-10-31T00:30Z 2027-11-01T01:30Z 25
""".strip().splitlines()


@pytest.mark.parametrize("line", ROUNDS)
def test_a_day_of_a_round_has_its_instants(db: Session, line: str) -> None:
    day, at, opens, closes, hours = line.split()
    local = datetime.fromisoformat(f"{day}T{at}")

    opened = db.get("local_instant", local=local, zone="Europe/Paris")
    closed = db.get("local_instant", local=local + timedelta(days=1), zone="Europe/Paris")

    assert opened == datetime.fromisoformat(opens)
    assert closed == datetime.fromisoformat(closes)
    assert closed - opened == timedelta(hours=int(hours))


@pytest.mark.parametrize("at", [time(14, 30), time(2, 30), time(0, 0), time(23, 59)])
def test_a_round_closes_when_the_next_one_opens(db: Session, at: time) -> None:
    days = [datetime.combine(date(2026, 1, 1), at) + timedelta(days=n) for n in range(731)]
    found = db.value("select array_agg(ostinato.local_instant(d, 'Europe/Paris') order by d) from unnest(%s) d", days)
    slots = db.value(
        "select array_agg(slot_at order by slot_at) from ostinato.preview_fires("
        "at_time => %s, zone => 'Europe/Paris', n => 731, after => %s)",
        at.isoformat(),
        found[0] - timedelta(seconds=1),
    )

    assert found == slots
    lengths = {(after - before) // timedelta(hours=1) for before, after in pairwise(found)}
    assert lengths == ({24, 23, 25})


@pytest.mark.parametrize(
    ("local", "gap", "overlap", "instants"),
    [
        ("2026-03-29T02:30", "shift", "first", ["2026-03-29T01:30Z"]),
        ("2026-03-29T02:30", "skip", "first", []),
        ("2026-03-29T03:00", "skip", "first", ["2026-03-29T01:00Z"]),
        ("2026-10-25T02:30", "shift", "first", ["2026-10-25T00:30Z"]),
        ("2026-10-25T02:30", "shift", "last", ["2026-10-25T01:30Z"]),
        ("2026-10-25T02:30", "shift", "both", ["2026-10-25T00:30Z", "2026-10-25T01:30Z"]),
        ("2026-10-25T03:00", "shift", "both", ["2026-10-25T02:00Z"]),
    ],
)
def test_the_policies_say_what_a_moved_clock_means(
    db: Session, local: str, gap: str, overlap: str, instants: list[str]
) -> None:
    given = {"local": datetime.fromisoformat(local), "zone": "Europe/Paris"}
    policies = {"gap": gap, "overlap": overlap}
    expected = [datetime.fromisoformat(at) for at in instants]

    assert db.get("local_instants", **given, **policies) == expected
    assert db.get("local_instant", **given, **policies) == (expected[0] if expected else None)


def test_the_session_s_own_zone_changes_nothing(sessions: Sessions) -> None:
    rules = "select ostinato.local_instant(%s, 'Europe/Paris'), ostinato_internal.utc_offset(%s, 'UTC')"
    answers = set()
    for zone in ("UTC", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe"):
        session = sessions.open()
        session.rows("select set_config('TimeZone', %s, false)", zone)
        found = session.row(rules, datetime.fromisoformat("2026-10-25T02:30"), FIRST)
        slots = session.rows(
            "select slot_local, slot_at from ostinato.preview_fires("
            "cron => '30 2 L * *', zone => 'Europe/Paris', n => 14, after => %s)",
            FIRST,
        )
        answers.add((*found.values(), *(slot["slot_at"].astimezone(UTC) for slot in slots)))

    assert len(answers) == 1


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe/Parys", "europe/paris", "CET", "Foo/Bar+3", "+02", "", None])
def test_a_zone_that_is_none_is_refused_by_its_name(db: Session, zone: str | None) -> None:
    with refused("OS400", "time zone", "NULL" if zone is None else f"'{zone}'"):
        db.call("check_zone", zone=zone)
    with refused("OS400", "time zone"):
        db.call("local_instant", local=FIRST.replace(tzinfo=None), zone=zone)


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT+5", "America/Port-au-Prince", "Japan", "GMT"])
def test_unusual_names_of_zones_are_zones(db: Session, zone: str) -> None:
    db.call("check_zone", zone=zone)


@pytest.mark.parametrize("policies", [("jump", "first"), ("shift", "neither"), (None, "first")])
def test_an_unknown_policy_is_refused(db: Session, policies: tuple[str, str]) -> None:
    with refused("OS400", "unknown policy"):
        db.call("check_policies", gap=policies[0], overlap=policies[1])


def test_a_time_without_end_is_refused(db: Session) -> None:
    with refused("OS400", "infinity"):
        db.rows("select ostinato.local_instant('infinity', 'UTC')")


# The oracle.


def shown(db: Session, zone: str, at: list[datetime]) -> list[int]:
    """The offsets that PostgreSQL sees, in seconds."""
    found = db.value(
        "select array_agg(extract(epoch from ostinato_internal.utc_offset(a, %s))::int order by n)"
        " from unnest(%s) with ordinality u (a, n)",
        zone,
        at,
    )
    return list(found)


@cache
def zone_of(name: str) -> ZoneInfo:
    """A zone of the package, not of the machine."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def offset(zone: ZoneInfo, at: datetime) -> int:
    moved = at.astimezone(zone).utcoffset()
    assert moved is not None
    return int(moved.total_seconds())


@cache
def transitions(name: str) -> tuple[tuple[datetime, int, int], ...]:
    """When the clock of a zone is moved, to the second, and the offsets before and after."""
    zone = zone_of(name)
    found = []
    offsets = [offset(zone, at) for at in GRID]
    for n, (old, new) in enumerate(pairwise(offsets)):
        if old != new:
            low, high = GRID[n], GRID[n + 1]
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                low, high = (middle, high) if offset(zone, middle) == old else (low, middle)
            found.append((high, old, new))
    return tuple(found)


def agreed(db: Session, say: Callable[[str], None]) -> Iterator[str]:
    """The zones in which PostgreSQL and the oracle agree on every transition; the others, said."""
    names = resources.files("tzdata").joinpath("zones").read_text().split()
    for name in sorted(set(names) - {"Factory"}):
        zone = zone_of(name)
        edges = [t[0] + timedelta(seconds=s) for t in transitions(name) for s in (-1, 0)]
        instants = [*GRID, *edges]
        try:
            db.call("check_zone", zone=name)
            theirs = shown(db, name, instants)
        except Exception as error:  # noqa: BLE001 - said, whatever it is
            say(f"left out: {name}: {str(error).splitlines()[0]}")
            continue
        ours = [offset(zone, at) for at in instants]
        if theirs != ours:
            first = next(a for a, t, o in zip(instants, theirs, ours, strict=True) if t != o)
            say(f"left out: {name}: the rules differ, first at {first}")
            continue
        yield name


def readings(name: str, local: datetime) -> tuple[list[datetime], bool]:
    """The instants of a wall-clock time, and whether it does not exist."""
    zone = zone_of(name)
    first, last = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first > last:
        return [first], True
    return ([first] if first == last else [first, last]), False


def expected(name: str, local: datetime, gap: str, overlap: str) -> list[datetime]:
    found, missing = readings(name, local)
    if missing:
        return found if gap == "shift" else []
    return {"first": found[:1], "last": found[-1:], "both": found}[overlap]


def moved_days(name: str) -> list[date]:
    """The local dates on which the clock is moved, and their neighbours on the other side."""
    days = set()
    for at, old, new in transitions(name):
        days |= {(at + timedelta(seconds=seconds)).date() for seconds in (old, new)}
    return sorted(days)


@pytest.fixture(scope="module")
def zones(admin: Session, request: pytest.FixtureRequest) -> dict[tuple[object, ...], list[str]]:
    """The zones that can be compared, those with the same transitions together."""
    found: dict[tuple[object, ...], list[str]] = {}
    left_out: list[str] = []
    for name in agreed(admin, left_out.append):
        found.setdefault(transitions(name), []).append(name)
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("", *left_out, sep="\n")  # noqa: T201 - seen in every run, not only in a failed one
    assert sum(len(names) for names in found.values()) > 500
    return found


def test_every_wall_clock_time_of_every_zone_means_what_the_oracle_says(
    db: Session, zones: dict[tuple[object, ...], list[str]]
) -> None:
    """All days on which a clock is moved, 2024 to 2035, every half hour, all policies."""
    wrong = []
    compared = 0
    for names in zones.values():
        days = moved_days(names[0])
        locals_ = [datetime.combine(day, at) for day in days for at in HALF_HOURS]
        for gap, overlap in (("shift", "first"), ("skip", "last"), ("shift", "both")):
            rows = db.rows(
                "select ostinato_internal.local_instants(l, %s, %s, %s) as found"
                " from unnest(%s::timestamp[]) with ordinality u (l, n) order by n",
                names[0],
                gap,
                overlap,
                locals_,
            )
            for local, row in zip(locals_, rows, strict=True):
                compared += 1
                if row["found"] != expected(names[0], local, gap, overlap):
                    wrong.append((names[0], local, gap, overlap, row["found"]))

    print(f"{compared:,} wall-clock times compared, {len(zones)} different sets of rules")  # noqa: T201
    assert compared > 10_000
    assert wrong == []


def test_a_daily_schedule_fires_once_on_every_local_day_of_every_zone(
    db: Session, zones: dict[tuple[object, ...], list[str]]
) -> None:
    """Around every day on which a clock is moved, 2024 to 2035: shift and first."""
    wrong = []
    for names in zones.values():
        days = [day - timedelta(days=1) for day in moved_days(names[0])]
        for name in names:
            few = name is not names[0]  # an alias has the same rules: a look is enough
            times = [time(2, 30)] if few else [time(0, 0), time(1, 59), time(2, 30), time(23, 30)]
            for at in times:
                starts = [datetime.combine(day, at) for day in days[:2] if few] or [
                    datetime.combine(day, at) for day in days
                ]
                rows = db.rows(
                    "with rule as materialized ("
                    "  select ostinato_internal.make_rule(at_time => %s, zone => %s) as rule)"
                    " select l, array_agg(s.local order by s.at) as locals,"
                    "        array_agg(s.at order by s.at) as ats"
                    " from rule, unnest(%s::timestamp[]) l,"
                    " lateral (select ostinato.local_instant(l, %s) - interval '1 s') i (first),"
                    " lateral ostinato_internal.next_slot(rule, i.first) a,"
                    " lateral ostinato_internal.next_slot(rule, a.at) b,"
                    " lateral ostinato_internal.next_slot(rule, b.at) c,"
                    " lateral (values (a.local, a.at), (b.local, b.at), (c.local, c.at))"
                    " s (local, at)"
                    " group by l",
                    at.isoformat(),
                    name,
                    starts,
                    name,
                )
                for row in rows:
                    slots = [row["l"] + timedelta(days=n) for n in range(3)]
                    instants = [expected(name, slot, "shift", "first")[0] for slot in slots]
                    if (row["locals"], row["ats"]) != (slots, instants):
                        wrong.append((name, at, row))

    assert wrong == []


@pytest.mark.parametrize("overlap", ["first", "last", "both"])
@pytest.mark.parametrize("gap", ["shift", "skip"])
@pytest.mark.parametrize("zone", ["Europe/Paris", "Australia/Lord_Howe", "America/Nuuk", "Africa/Casablanca"])
def test_a_dense_cron_text_fires_at_every_instant_that_the_oracle_names(
    db: Session, zone: str, gap: str, overlap: str
) -> None:
    """Every ten minutes over the days on which the clock is moved: no slot twice, none lost."""
    for day in moved_days(zone)[:6]:
        start = datetime.combine(day - timedelta(days=1), time(12, 0))
        locals_ = [start + timedelta(minutes=10 * n) for n in range(45 * 6)]
        after, until = (readings(zone, locals_[n])[0][0] for n in (0, -1))
        instants = {at for local in locals_ for at in expected(zone, local, gap, overlap)}
        wanted = sorted(at for at in instants if after < at <= until)

        found = db.value(
            "select array_agg(slot_at order by slot_at) from ostinato.preview_fires("
            "cron => '*/10 * * * *', zone => %s, gap => %s, overlap => %s, n => 400, after => %s)"
            " where slot_at <= %s",
            zone,
            gap,
            overlap,
            after,
            until,
        )

        assert found == wanted


def test_a_rule_for_every_hour_follows_elapsed_time_and_any_other_the_wall_clock(db: Session) -> None:
    def policies(cron: str) -> tuple[str, str]:
        row = db.row("select (r).gap, (r).overlap from (select ostinato_internal.make_rule(cron => %s) as r) x", cron)
        return row["gap"], row["overlap"]

    assert policies("*/15 * * * *") == policies("0 0-23 * * *") == ("skip", "both")
    assert policies("30 2 * * *") == policies("0 */2 * * *") == ("shift", "first")


# Cron texts.


def field(rng: random.Random, low: int, high: int) -> str:
    """One field, at random."""

    def item() -> str:
        a, b = sorted((rng.randint(low, high), rng.randint(low, high)))
        step = rng.randint(1, max(1, (high - low) // 2))
        forms = (f"{a}", f"{a}-{b}", f"*/{step}", f"{a}-{b}/{step}" if b > a else f"{a}")
        return rng.choice(forms)

    return "*" if rng.random() < 0.3 else ",".join(item() for _ in range(rng.randint(1, 3)))


def test_cron_texts_come_round_when_another_implementation_says(db: Session) -> None:
    """Texts at random, names included, against cronsim in UTC; leap days and month ends too."""
    rng = random.Random(9)
    bounds = ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6))
    texts = [" ".join(field(rng, *bound) for bound in bounds) for _ in range(300)]
    texts += ["0 0 29 2 *", "0 0 31 * *", "0 0 L * *", "15 6 L 2 *", "0 12 * JAN-MAR MON,FRI"]
    texts += ["0 0 13 * FRI", "0 0 */2 * 1", "59 23 31 12 *", "0 0 L,15 * *", "5 4 * * 7"]

    for text in texts:
        sim = CronSim(text, FIRST)
        wanted = [next(sim) for _ in range(12)]
        found = db.value(
            "select array_agg(slot_at order by slot_at) from ostinato.preview_fires(cron => %s, n => 12, after => %s)",
            text,
            FIRST,
        )
        assert found == wanted, text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "@daily",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "*/60 * * * *",
        "* */24 * * *",
        "5/10 * * * *",
        "30-10 * * * *",
        "* * * * FRI-MON",
        "1,,2 * * * *",
        "-1 * * * *",
        "1.5 * * * *",
        "MON * * * *",
        "* * ? * *",
        "* * 15W * *",
        "* * LW * *",
        "* * * * 5L",
        "* * * * 5#2",
        "L * * * *",
        "* * L-3 * *",
        "0 0 * * FRIDAY",
        "٣ * * * *",
        "* * * * *; select 1",
        "1" * 300,
    ],
)
def test_a_cron_text_that_is_not_supported_is_refused_with_its_fault(db: Session, text: str) -> None:
    with refused("OS400", "cron text"):
        db.call("preview_fires", cron=text)


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 FEB *"])
def test_days_that_never_come_are_refused(db: Session, text: str) -> None:
    with refused("OS400", text, "never come"):
        db.rows("select ostinato_internal.parse_cron(%s)", text)


def test_the_parts_of_a_rule_can_be_asked_one_by_one(db: Session) -> None:
    assert db.get("parse_cron_field", cron="x", field="1-9/4,7", what="minute", low=0, high=59) == [1, 5, 7, 9]
    assert db.get("parse_cron_field", cron="x", field="*", what="hour", low=0, high=23) is None
    assert db.get("cron_number", word="feb", low=1, names=["jan", "feb"]) == 2
    rule = "ostinato_internal.make_rule(cron => '30 8 29 2 *')"
    assert db.value(f"select ostinato_internal.is_day({rule}, '2028-02-29')") is True
    assert db.value(f"select ostinato_internal.next_date({rule}, '2026-03-01')") == date(2028, 2, 29)
    leap_day = datetime(2028, 2, 29, 8, 30, tzinfo=UTC)
    local = db.value(f"select ostinato_internal.next_local({rule}, '2026-03-01')")
    assert local == leap_day.replace(tzinfo=None)
    assert db.value(f"select (ostinato_internal.next_slot({rule}, '2026-03-01Z')).at") == leap_day
    assert db.value(f"select count(*) from ostinato_internal.next_slots({rule}, 3, '2026-03-01Z')") == 3  # noqa: S608
    assert db.get("offset_text", at=FIRST, zone="America/St_Johns") == "-03:30"
    assert (
        db.get(
            "slot_note",
            local=datetime.fromisoformat("2026-03-29T02:30"),
            at=datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
            zone="Europe/Paris",
        )
        == "gap: 02:30 does not exist, 03:30 instead"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"at_time": "24:00"}, "'24:00' is no time"),
        ({"at_time": "25:00"}, "'25:00' is no time"),
        ({"at_time": "noon-ish"}, "'noon-ish' is no time"),
        ({"at": "2026-02-30 10:00"}, "'2026-02-30 10:00' is no time"),
        ({"at": "infinity"}, "'infinity' is no time"),
        ({"at": "2026-03-29 02:30+02"}, "'2026-03-29 02:30+02' is no time"),
        ({"at_time": "10:00 Europe/Paris"}, "'10:00 Europe/Paris' is no time"),
        ({"at_time": "10:00", "weekdays": ["montag"]}, "montag"),
        ({"at_time": "10:00", "weekdays": []}, "weekdays"),
        ({"cron": "0 0 * * *", "weekdays": ["mon"]}, "only one"),
        ({"cron": "0 0 * * *", "at_time": "10:00"}, "only one"),
        ({}, "only one"),
        ({"at_time": "10:00", "gap": "jump"}, "'jump'"),
    ],
)
def test_times_that_cannot_be_are_refused(db: Session, given: dict[str, object], words: str) -> None:
    with refused("OS400", words):
        db.call("preview_fires", **given)
