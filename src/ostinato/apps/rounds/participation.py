"""Shows rounds to members, and takes what they submit, comment and vote.

The database refuses whatever is said in a round that is not open (`rounds.guard_taking_part`).
Who may see it is decided here: while a round is open, others' contributions are shown to those who
took part themselves; a closed round is an archive that every member may read.
"""

from datetime import date

from ostinato.apps.rounds import groups
from ostinato.apps.rounds.groups import Person
from ostinato.apps.rounds.queries import QUERIES, Connection
from ostinato.apps.rounds.rules import sees_others
from ostinato.apps.rounds.views import CommentView, RoundView, SubmissionView, TallyView
from ostinato.errors import Forbidden, InvalidInput, NotFound

PAGE = 100


async def current(conn: Connection, who: Person, group_id: int) -> RoundView:
    """Return the round of a group that is open: the newest, where two overlap after a new drop time."""
    await groups.show(conn, who, group_id)
    found = await _rounds(conn, group_id=group_id, status="open", most=1)
    if not found:
        raise NotFound(
            f"no round of group {group_id} is open",
            hint="GET …/openings says when the next one opens.",
            group_id=group_id,
        )
    return found[0]


async def history(
    conn: Connection, who: Person, group_id: int, before: date | None = None, most: int = PAGE
) -> list[RoundView]:
    """Return the rounds of a group, newest first."""
    await groups.show(conn, who, group_id)
    return await _rounds(conn, group_id=group_id, before=before, most=most)


async def show(conn: Connection, who: Person, round_id: int) -> RoundView:
    """Return one round of a group that the person has to do with."""
    found = await _rounds(conn, round_id=round_id, most=1)
    missing = NotFound(f"there is no round {round_id}", round_id=round_id)
    if not found:
        raise missing
    try:
        await groups.show(conn, who, found[0].group_id)
    except NotFound:
        raise missing from None
    return found[0]


async def submit(conn: Connection, who: Person, round_id: int, body: str) -> SubmissionView:
    """Submit, or change what was submitted, while the round is open."""
    await _taking_part(conn, who, round_id)
    params = {"tenant_id": who.tenant_id, "round_id": round_id, "user_id": who.user_id}
    return (await QUERIES.rows_as(SubmissionView, conn, "put_submission", **params, body=body))[0]


async def comment(conn: Connection, who: Person, round_id: int, body: str, submission_id: int | None) -> CommentView:
    """Comment on a round, or on a submission in it, while it is open."""
    await _taking_part(conn, who, round_id)
    await _check_submission(conn, round_id, submission_id)
    params = {"tenant_id": who.tenant_id, "round_id": round_id, "user_id": who.user_id}
    found = await QUERIES.rows_as(CommentView, conn, "add_comment", **params, submission_id=submission_id, body=body)
    return found[0]


async def vote(
    conn: Connection, who: Person, round_id: int, *, submission_id: int | None = None, member_id: str | None = None
) -> None:
    """Vote for a submission or a member, or change the vote, while the round is open."""
    if (submission_id is None) is (member_id is None):
        raise InvalidInput("a vote is for a submission or for a member", hint="Give one of the two.")
    found = await _taking_part(conn, who, round_id)
    await _check_submission(conn, round_id, submission_id)
    if member_id is not None:
        params = {"group_id": found.group_id, "user_id": member_id}
        if not await QUERIES.value(conn, "is_member", **params):
            raise NotFound("the group has no such member", group_id=found.group_id)
    await QUERIES.value(
        conn,
        "put_vote",
        tenant_id=who.tenant_id,
        round_id=round_id,
        user_id=who.user_id,
        submission_id=submission_id,
        member_id=member_id,
    )


async def submissions(
    conn: Connection, who: Person, round_id: int, after: int = 0, most: int = PAGE
) -> list[SubmissionView]:
    """Return what was submitted, as far as the person may see it."""
    only = await _seen_by(conn, who, round_id)
    return await QUERIES.rows_as(
        SubmissionView, conn, "submissions", round_id=round_id, user_id=only, after=after, most=most
    )


async def comments(conn: Connection, who: Person, round_id: int, after: int = 0, most: int = PAGE) -> list[CommentView]:
    """Return what was commented, as far as the person may see it."""
    only = await _seen_by(conn, who, round_id)
    return await QUERIES.rows_as(CommentView, conn, "comments", round_id=round_id, user_id=only, after=after, most=most)


async def votes(conn: Connection, who: Person, round_id: int) -> list[TallyView]:
    """Return how the votes stand; nothing, as long as the person may not see it."""
    if await _seen_by(conn, who, round_id) is not None:
        return []
    return await QUERIES.rows_as(TallyView, conn, "votes", round_id=round_id)


async def _rounds(conn: Connection, *, most: int, **which: object) -> list[RoundView]:
    any_round = dict.fromkeys(("group_id", "round_id", "status", "before"))
    return await QUERIES.rows_as(RoundView, conn, "rounds", **any_round | which, most=most)


async def _taking_part(conn: Connection, who: Person, round_id: int) -> RoundView:
    """Return the round, if the person is a member of its group; others only look on."""
    found = await show(conn, who, round_id)
    if not await QUERIES.value(conn, "is_member", group_id=found.group_id, user_id=who.user_id):
        raise Forbidden("only members of the group take part", needs=["member of the group"])
    return found


async def _check_submission(conn: Connection, round_id: int, submission_id: int | None) -> None:
    if submission_id is not None and not await QUERIES.value(
        conn, "has_submission", round_id=round_id, submission_id=submission_id
    ):
        raise NotFound(f"round {round_id} has no submission {submission_id}", submission_id=submission_id)


async def _seen_by(conn: Connection, who: Person, round_id: int) -> str | None:
    """Return whose contributions are shown: the person's own, or (None) those of all."""
    found = await show(conn, who, round_id)
    took_part = await QUERIES.value(conn, "has_taken_part", round_id=round_id, user_id=who.user_id)
    everything = sees_others(is_closed=found.status == "closed", took_part=bool(took_part), manages=who.manages)
    return None if everything else who.user_id
