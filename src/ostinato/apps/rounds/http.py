"""Serves rounds over HTTP: groups, settings, members, prompts, rounds, contributions.

Roles: `member` reads the groups that it is in and takes part; `organizer` and `admin` keep all
groups of the tenant; `ops` sees the figures of all tenants. What is not one's business is a 404.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import Path, Query, Response
from psycopg import AsyncConnection
from pydantic import BaseModel, BeforeValidator
from pydantic_core import PydanticCustomError

from ostinato import audit, database
from ostinato.apps.rounds import groups, participation, rules, service, views
from ostinato.apps.rounds.groups import Person
from ostinato.apps.rounds.model import Opening
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.errors import Conflict, NotFound
from ostinato.web import IDEMPOTENT, Caller, Key, Permission, Router, Who

MANAGERS = ("organizer", "admin")
READ = Permission("rounds.read", ("member", *MANAGERS), "see groups and rounds")
TAKE_PART = Permission("rounds.take_part", ("member", *MANAGERS), "submit, comment and vote")
MANAGE = Permission("rounds.manage", MANAGERS, "keep groups, members and prompts")
FIGURES = Permission("rounds.figures", ("ops",), "see what the jobs do, for all tenants")

LAST_HOUR = timedelta(hours=1)

router = Router(prefix="/api/v1/rounds", tags=["rounds"])


def _written(value: object) -> object:
    """Refuse a date that is not written as one: the number of its day is none."""
    if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        raise PydanticCustomError("date_text", "must be a date such as 2026-03-29")
    return value


Id = Annotated[int, Path(ge=1, le=2**53 - 1)]
UserId = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
After = Annotated[int, Query(ge=0, le=2**53 - 1, description="The last id of the page before.")]
Most = Annotated[int, Query(ge=1, le=100, description="At most so many.")]
Count = Annotated[int, Query(ge=1, le=100, description="How many.")]
Before = Annotated[date | None, BeforeValidator(_written), Query(description="Rounds of days before this one.")]


def _person(caller: Caller) -> Person:
    return Person(caller.tenant_id, caller.subject, not caller.roles.isdisjoint(MANAGERS))


@asynccontextmanager
async def _acting(caller: Caller) -> AsyncIterator[tuple[AsyncConnection[Any], Person]]:
    async with caller.transaction() as conn:
        yield conn, _person(caller)


def _fields(body: BaseModel) -> dict[str, object]:
    """Return what the audit says of a change: which fields, not what people wrote in them."""
    return {"fields": sorted(body.model_fields_set)}


async def _note_member(conn: AsyncConnection[Any], who: Person, verb: str, group_id: int, user_id: str) -> None:
    """Record what an organizer does to others: no name, for the entry outlives the person."""
    if who.manages and user_id != who.user_id:
        await audit.note(conn, verb, "member", str(group_id))


@router.post("/groups", needs=MANAGE, status_code=201, raises=IDEMPOTENT, responses={201: {"model": views.GroupView}})
async def add_group(caller: Who, key: Key, body: views.NewGroup) -> Response:
    """Make a group. Its first round is that of the next local day."""
    async with key.once(caller) as once:
        if once.is_new:
            wanted = body.model_dump(exclude={"name"})
            made = await groups.add(once.conn, _person(caller), body.name, wanted)
            await audit.note(once.conn, "create", "group", str(made.id))
            once.reply(201, made)
    return once.response()


@router.get("/groups", needs=READ)
async def list_groups(caller: Who, after: After = 0, most: Most = 100) -> list[views.GroupView]:
    """Return the groups of the tenant; for a member, those that it is in."""
    async with _acting(caller) as (conn, who):
        return await groups.list_(conn, who, after, most)


@router.get("/groups/{group_id}", needs=READ, raises=(NotFound,))
async def show_group(caller: Who, group_id: Id) -> views.GroupView:
    """Return one group with its settings."""
    async with _acting(caller) as (conn, who):
        return await groups.show(conn, who, group_id)


@router.patch("/groups/{group_id}", needs=MANAGE, raises=(NotFound,))
async def change_group(caller: Who, group_id: Id, body: views.GroupChange) -> views.GroupView:
    """Rename a group, or let it rest: one that is not active gets no more rounds."""
    async with _acting(caller) as (conn, who):
        changed = await groups.change(conn, who, group_id, name=body.name, is_active=body.is_active)
        await audit.note(conn, "change", "group", str(group_id), detail=_fields(body))
    return changed


@router.get("/groups/{group_id}/settings", needs=READ, raises=(NotFound,))
async def show_settings(caller: Who, group_id: Id) -> views.SettingsView:
    """Return the settings of a group, and what follows from them and the installation's."""
    async with _acting(caller) as (conn, who):
        group = await groups.show(conn, who, group_id)
    return groups.settings_of(group, caller.settings(RoundsSettings))


@router.patch("/groups/{group_id}/settings", needs=MANAGE, raises=(NotFound,))
async def change_settings(caller: Who, group_id: Id, body: views.SettingsChange) -> views.GroupView:
    """Change drop time, zone and notifications; scheduled rounds are timed anew, open ones stay."""
    changes = body.model_dump(exclude_unset=True)
    async with _acting(caller) as (conn, who):
        settings = caller.settings(RoundsSettings)
        changed = await groups.change_settings(conn, who, group_id, changes, settings)
        await audit.note(conn, "change", "group", str(group_id), detail=_fields(body))
    return changed


@router.get("/groups/{group_id}/openings", needs=READ, raises=(NotFound,))
async def list_openings(caller: Who, group_id: Id, count: Count = 14) -> list[Opening]:
    """Return when the next rounds open, in local time and UTC, with what is unusual about the days."""
    async with _acting(caller) as (conn, who):
        group = await groups.show(conn, who, group_id)
        now = await database.now(conn)
    timing = groups.timing_of(group, caller.settings(RoundsSettings))
    return rules.openings(now, timing, count)


@router.get("/groups/{group_id}/members", needs=READ, raises=(NotFound,))
async def list_members(caller: Who, group_id: Id) -> list[views.MemberView]:
    """Return the members of a group."""
    async with _acting(caller) as (conn, who):
        return await groups.members(conn, who, group_id)


@router.put("/groups/{group_id}/members/{user_id}", needs=TAKE_PART, raises=(NotFound, Conflict))
async def put_member(caller: Who, group_id: Id, user_id: UserId, body: views.Preferences) -> views.MemberView:
    """Add a member (organizers), or change preferences (members: their own)."""
    most = caller.settings(RoundsSettings).max_members
    async with _acting(caller) as (conn, who):
        put = await groups.put_member(conn, who, group_id, user_id, mute=body.mute, push=body.push, most=most)
        await _note_member(conn, who, "add", group_id, user_id)
    return put


@router.delete("/groups/{group_id}/members/{user_id}", needs=TAKE_PART, status_code=204, raises=(NotFound,))
async def remove_member(caller: Who, group_id: Id, user_id: UserId) -> None:
    """Remove a member (organizers), or leave (members); what was said stays."""
    async with _acting(caller) as (conn, who):
        await groups.remove_member(conn, who, group_id, user_id)
        await _note_member(conn, who, "remove", group_id, user_id)


@router.get("/groups/{group_id}/prompts", needs=MANAGE, raises=(NotFound,))
async def list_prompts(caller: Who, group_id: Id, after: After = 0, most: Most = 100) -> list[views.PromptView]:
    """Return the prompts of a group: for those who keep it, members see each in its time."""
    async with _acting(caller) as (conn, who):
        return await groups.list_prompts(conn, who, group_id, after, most)


@router.post(
    "/groups/{group_id}/prompts",
    needs=MANAGE,
    status_code=201,
    raises=(NotFound, *IDEMPOTENT),
    responses={201: {"model": views.PromptView}},
)
async def add_prompt(caller: Who, key: Key, group_id: Id, body: views.NewPrompt) -> Response:
    """Add a prompt to a group; it may be chosen from now on."""
    async with key.once(caller) as once:
        if once.is_new:
            given = body.model_dump()
            made = await groups.add_prompt(once.conn, _person(caller), group_id, given)
            await audit.note(once.conn, "create", "prompt", str(made.id), detail={"group": group_id})
            once.reply(201, made)
    return once.response()


@router.get("/groups/{group_id}/prompts/{prompt_id}", needs=MANAGE, raises=(NotFound,))
async def show_prompt(caller: Who, group_id: Id, prompt_id: Id) -> views.PromptView:
    """Return one prompt of a group."""
    async with _acting(caller) as (conn, who):
        await groups.show(conn, who, group_id)
        return await groups.show_prompt(conn, group_id, prompt_id)


@router.patch("/groups/{group_id}/prompts/{prompt_id}", needs=MANAGE, raises=(NotFound,))
async def change_prompt(caller: Who, group_id: Id, prompt_id: Id, body: views.PromptChange) -> views.PromptView:
    """Change or retire a prompt; rounds that were opened with it stay as they are."""
    async with _acting(caller) as (conn, who):
        changed = await groups.change_prompt(conn, who, group_id, prompt_id, body.model_dump())
        detail = {"group": group_id} | _fields(body)
        await audit.note(conn, "change", "prompt", str(prompt_id), detail=detail)
    return changed


@router.get("/groups/{group_id}/rounds/current", needs=READ, raises=(NotFound,))
async def show_current(caller: Who, group_id: Id) -> views.RoundView:
    """Return the round that is open."""
    async with _acting(caller) as (conn, who):
        return await participation.current(conn, who, group_id)


@router.get("/groups/{group_id}/rounds", needs=READ, raises=(NotFound,))
async def list_rounds(caller: Who, group_id: Id, before: Before = None, most: Most = 100) -> list[views.RoundView]:
    """Return the rounds of a group, newest first; closed ones can only be read."""
    async with _acting(caller) as (conn, who):
        return await participation.history(conn, who, group_id, before, most)


@router.get("/rounds/{round_id}", needs=READ, raises=(NotFound,))
async def show_round(caller: Who, round_id: Id) -> views.RoundView:
    """Return one round."""
    async with _acting(caller) as (conn, who):
        return await participation.show(conn, who, round_id)


@router.get("/rounds/{round_id}/submissions", needs=READ, raises=(NotFound,))
async def list_submissions(caller: Who, round_id: Id, after: After = 0, most: Most = 100) -> list[views.SubmissionView]:
    """Return what was submitted: one's own, and that of others after taking part or closing."""
    async with _acting(caller) as (conn, who):
        return await participation.submissions(conn, who, round_id, after, most)


@router.put("/rounds/{round_id}/submission", needs=TAKE_PART, raises=(NotFound, Conflict))
async def submit(caller: Who, round_id: Id, body: views.NewSubmission) -> views.SubmissionView:
    """Submit, or change what was submitted, while the round is open."""
    async with _acting(caller) as (conn, who):
        return await participation.submit(conn, who, round_id, body.body)


@router.get("/rounds/{round_id}/comments", needs=READ, raises=(NotFound,))
async def list_comments(caller: Who, round_id: Id, after: After = 0, most: Most = 100) -> list[views.CommentView]:
    """Return what was commented, as far as the caller may see it."""
    async with _acting(caller) as (conn, who):
        return await participation.comments(conn, who, round_id, after, most)


@router.post(
    "/rounds/{round_id}/comments",
    needs=TAKE_PART,
    status_code=201,
    raises=(NotFound, Conflict, *IDEMPOTENT),
    responses={201: {"model": views.CommentView}},
)
async def add_comment(caller: Who, key: Key, round_id: Id, body: views.NewComment) -> Response:
    """Comment on a round, or on a submission in it, while it is open."""
    async with key.once(caller) as once:
        if once.is_new:
            made = await participation.comment(once.conn, _person(caller), round_id, body.body, body.submission_id)
            once.reply(201, made)
    return once.response()


@router.get("/rounds/{round_id}/votes", needs=READ, raises=(NotFound,))
async def list_votes(caller: Who, round_id: Id) -> list[views.TallyView]:
    """Return how the votes stand, as far as the caller may see it."""
    async with _acting(caller) as (conn, who):
        return await participation.votes(conn, who, round_id)


@router.put("/rounds/{round_id}/vote", needs=TAKE_PART, status_code=204, raises=(NotFound, Conflict))
async def vote(caller: Who, round_id: Id, body: views.Vote) -> None:
    """Vote for a submission or a member, or change the vote, while the round is open."""
    async with _acting(caller) as (conn, who):
        await participation.vote(conn, who, round_id, submission_id=body.submission_id, member_id=body.member_id)


@router.get("/figures", needs=FIGURES)
async def show_figures(caller: Who) -> list[views.FiguresView]:
    """Return what the jobs did in the last hour, for all tenants together."""
    async with caller.client.transaction() as conn:
        return await service.figures(conn, LAST_HOUR)
