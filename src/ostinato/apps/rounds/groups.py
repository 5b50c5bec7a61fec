"""Changes groups, their settings, members and prompts: one transaction each, as the tenant."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from typing import Any

from psycopg.types.json import Jsonb

from ostinato.apps.rounds.model import Timing
from ostinato.apps.rounds.queries import QUERIES, Connection
from ostinato.apps.rounds.rules import parse_drop_time, zone_of
from ostinato.apps.rounds.service import retime_set
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.apps.rounds.views import GroupView, MemberView, PromptView, SettingsView
from ostinato.errors import Conflict, Forbidden, NotFound

PAGE = 100


@dataclass(frozen=True, slots=True)
class Person:
    """A person who acts for a tenant; `manages` means over all groups of it."""

    tenant_id: str
    user_id: str
    manages: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A group that an operator named."""

    tenant_id: str
    id: int
    name: str
    is_active: bool
    drop_time: time | None
    zone: str | None


def timing_of(group: GroupView | Found, settings: RoundsSettings) -> Timing:
    """Return the drop time and zone of a group, its own or the installation's."""
    return Timing(group.drop_time or settings.default_drop_time, group.zone or settings.zone)


def settings_of(group: GroupView, settings: RoundsSettings) -> SettingsView:
    """Return the settings of a group and what they resolve to."""
    timing = timing_of(group, settings)
    return SettingsView.model_validate(
        {
            "drop_time": group.drop_time,
            "zone": group.zone,
            "notifications_enabled": group.notifications_enabled is not False,
            "effective_drop_time": timing.drop_time,
            "effective_zone": timing.zone,
        }
    )


async def find(conn: Connection, group: str, tenant_id: str | None = None) -> Found:
    """Find a group by its id or name, for operators."""
    found = await QUERIES.rows_as(Found, conn, "find_group", group=group, tenant_id=tenant_id)
    if not found:
        raise NotFound(f"there is no group {group[:100]!r}", hint="Give its id or its whole name.")
    if len(found) > 1 and str(found[0].id) != group:
        raise Conflict(f"several groups are named {group[:100]!r}", hint="Give the id, or the --tenant.")
    return found[0]


async def add(conn: Connection, who: Person, name: str, settings: Mapping[str, object]) -> GroupView:
    """Add a group; the person who adds it becomes its first member."""
    group_id = await QUERIES.value(conn, "add_group", tenant_id=who.tenant_id, name=name, by=who.user_id)
    await _write_settings(conn, who, group_id, {"notifications_enabled": True} | dict(settings))
    await _put(conn, who, group_id, who.user_id)
    return await show(conn, who, group_id)


async def list_(
    conn: Connection, who: Person, after: int = 0, most: int = PAGE, *, group_id: int | None = None
) -> list[GroupView]:
    """List the groups of the tenant, or those that the person is a member of."""
    return await QUERIES.rows_as(
        GroupView, conn, "groups", group_id=group_id, user_id=who.user_id, everybody=who.manages, after=after, most=most
    )


async def show(conn: Connection, who: Person, group_id: int) -> GroupView:
    """Return one group; a group that the person has nothing to do with raises `NotFound`."""
    found = await list_(conn, who, most=1, group_id=group_id)
    if not found:
        raise NotFound(
            f"there is no group {group_id}", hint="Check the id, and whether you are a member.", group_id=group_id
        )
    return found[0]


async def change(
    conn: Connection, who: Person, group_id: int, *, name: str | None, is_active: bool | None
) -> GroupView:
    """Give a group another name, or let it rest; what is None stays."""
    await show(conn, who, group_id)
    await QUERIES.value(conn, "change_group", group_id=group_id, name=name, is_active=is_active)
    return await show(conn, who, group_id)


async def change_settings(
    conn: Connection, who: Person, group_id: int, changes: Mapping[str, object], settings: RoundsSettings
) -> GroupView:
    """Change settings; what is scheduled is timed anew in the same transaction.

    A round that is open keeps its times.
    """
    await QUERIES.value(conn, "lock_group", group_id=group_id)  # before its rounds, as jobs do
    group = await show(conn, who, group_id)
    now: dict[str, object] = {
        "drop_time": group.drop_time,
        "zone": group.zone,
        "notifications_enabled": group.notifications_enabled is not False,
    }
    await _write_settings(conn, who, group_id, now | dict(changes))
    stale = await QUERIES.rows(conn, "stale_of_group", group_id=group_id)
    await retime_set(conn, [row["id"] for row in stale], settings, wait=True)
    return await show(conn, who, group_id)


async def members(conn: Connection, who: Person, group_id: int) -> list[MemberView]:
    """Return the members of a group."""
    await show(conn, who, group_id)
    return await QUERIES.rows_as(MemberView, conn, "members", group_id=group_id)


async def put_member(
    conn: Connection,
    who: Person,
    group_id: int,
    user_id: str,
    *,
    mute: bool | None = None,
    push: bool | None = None,
    most: int = 2000,
) -> MemberView:
    """Add a member, or change its preferences: those of others only as somebody who manages."""
    group = await show(conn, who, group_id)
    if not who.manages and (user_id != who.user_id or not group.is_member):
        raise Forbidden("members change their own preferences only", needs=["organizer", "admin"])
    await QUERIES.value(conn, "lock_group", group_id=group_id)
    known = {member.user_id for member in await members(conn, who, group_id)}
    if user_id not in known and len(known) >= most:
        raise Conflict(f"group {group_id} has {most} members already", hint="Make another group, or raise max_members.")
    return await _put(conn, who, group_id, user_id, mute=mute, push=push)


async def remove_member(conn: Connection, who: Person, group_id: int, user_id: str) -> None:
    """Remove a member, oneself or, as somebody who manages, others; what it said stays."""
    await show(conn, who, group_id)
    if not who.manages and user_id != who.user_id:
        raise Forbidden("members remove themselves only", needs=["organizer", "admin"])
    if await QUERIES.value(conn, "remove_member", group_id=group_id, user_id=user_id) is None:
        raise NotFound(f"group {group_id} has no such member", group_id=group_id)


async def list_prompts(
    conn: Connection, who: Person, group_id: int, after: int = 0, most: int = PAGE
) -> list[PromptView]:
    """Return the prompts of a group."""
    await show(conn, who, group_id)
    return await QUERIES.rows_as(PromptView, conn, "prompts", group_id=group_id, prompt_id=None, after=after, most=most)


async def show_prompt(conn: Connection, group_id: int, prompt_id: int) -> PromptView:
    """Return one prompt."""
    found = await QUERIES.rows_as(PromptView, conn, "prompts", group_id=group_id, prompt_id=prompt_id, after=0, most=1)
    if not found:
        raise NotFound(f"group {group_id} has no prompt {prompt_id}", prompt_id=prompt_id)
    return found[0]


async def add_prompt(conn: Connection, who: Person, group_id: int, given: Mapping[str, Any]) -> PromptView:
    """Add a prompt; it may be chosen from now on."""
    await show(conn, who, group_id)
    values = dict(given) | {"metadata": Jsonb(given["metadata"], _dump)}
    made = await QUERIES.value(conn, "add_prompt", tenant_id=who.tenant_id, group_id=group_id, **values)
    return await show_prompt(conn, group_id, made)


async def change_prompt(
    conn: Connection, who: Person, group_id: int, prompt_id: int, given: Mapping[str, Any]
) -> PromptView:
    """Change a prompt; rounds that were opened with it stay as they are."""
    await show(conn, who, group_id)
    names = ("type", "title", "body", "metadata", "tags", "is_active")
    values = {name: given.get(name) for name in names}
    if values["metadata"] is not None:
        values["metadata"] = Jsonb(values["metadata"], _dump)
    await QUERIES.value(conn, "change_prompt", group_id=group_id, prompt_id=prompt_id, **values)
    return await show_prompt(conn, group_id, prompt_id)


async def _write_settings(conn: Connection, who: Person, group_id: int, wanted: Mapping[str, object]) -> None:
    drop_time, zone = wanted.get("drop_time"), wanted.get("zone")
    if isinstance(drop_time, str):
        drop_time = parse_drop_time(drop_time)
    if isinstance(zone, str):
        zone_of(zone)
    params = {
        "tenant_id": who.tenant_id,
        "group_id": group_id,
        "drop_time": drop_time,
        "zone": zone,
        "notifications_enabled": wanted["notifications_enabled"],
    }
    await QUERIES.run(conn, "write_settings", **params)


async def _put(
    conn: Connection, who: Person, group_id: int, user_id: str, *, mute: bool | None = None, push: bool | None = None
) -> MemberView:
    params = {"tenant_id": who.tenant_id, "group_id": group_id, "user_id": user_id}
    found = await QUERIES.rows_as(MemberView, conn, "put_member", **params, mute=mute, push=push)
    return found[0]


def _dump(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)
