"""Panels: what an application shows of itself. The API returns them, the console draws them.

    async def blocks(conn: AsyncConnection[Any], look: Look) -> Sequence[Block]:
        return [Counts("Invoices", {"paid": 7, "open": 2}), Table("Late", ("id", "days"), rows)]

    PANEL = Panel("Billing", blocks)
    INVOICE = Panel("Invoice", invoice, name="invoice", listed=False, needs=READ, verbs={"pay": Verb(pay, PAY)})

`App(panels=("module:PANEL", "module:INVOICE"))` adds them. A panel without a name stands on the
application's first page, one with a name is a page of its own, one with `items` adds to the inbox.
It is read in a transaction of the viewer's tenant, so row-level security decides what is in it;
operators of the installation may look at all tenants.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from inspect import signature
from pathlib import Path
from typing import TypeVar, cast

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.base.permissions import Permission
from ostinato._core.base.sections import Section
from ostinato._core.base.settings import Settings
from ostinato._core.db.call import Connection
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named
from ostinato._core.runtime.observe.blocks import Block, Item

S = TypeVar("S", bound=Section)

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
LONGEST_VALUE = 2_000


@dataclass(frozen=True)
class Look:
    """Who looks at a panel, or acts on it, and with which values."""

    tenant_id: str | None
    """The tenant that is looked at; None means all, for operators of the installation."""
    subject: str
    roles: frozenset[str]
    asked: Mapping[str, str]
    """The values of the address, or of the form."""
    now: datetime
    settings_of: Settings = field(repr=False)
    translate: Callable[[str], str] = str

    def may(self, permission: Permission) -> bool:
        """Return whether the viewer has a permission."""
        return permission.allows(self.roles)

    def settings(self, of: type[S]) -> S:
        """Return the settings of an application, as this process has read them."""
        return self.settings_of.section(of)

    def words(self, text: str, **values: object) -> str:
        """Return a text in the reader's language, with its values: look.words("%(n)s files", n=3)."""
        return self.translate(text) % values if values else self.translate(text)

    def text(self, name: str, default: str = "") -> str:
        """Return a value that was asked for, without spaces around it."""
        found = self.asked.get(name, "").replace("\0", "").strip() or default
        if len(found) > LONGEST_VALUE:
            raise InvalidInput(f"{name} has {len(found):,} characters, more than {LONGEST_VALUE:,}", field=name)
        return found

    def number(self, name: str, default: int | None = None) -> int:
        """Return a whole number that was asked for."""
        found = self.text(name)
        if not found and default is not None:
            return default
        digits = found.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):  # noqa: PLR2004 - a bigint
            raise InvalidInput(f"{name} is {found[:40]!r}, not a number", hint="Follow a link of the page.", field=name)
        return int(found)

    def moment(self, name: str) -> datetime | None:
        """Return a time that was asked for, as a link to the next page names it; None without one."""
        found = self.text(name)
        try:
            return datetime.fromisoformat(found) if found else None
        except ValueError:
            raise InvalidInput(
                f"{name} is {found[:40]!r}, not a time", hint="Follow a link of the page.", field=name
            ) from None

    def one_of(self, name: str, pattern: re.Pattern[str]) -> str:
        """Return a value that was asked for and looks as it must."""
        found = self.text(name)
        if pattern.fullmatch(found) is None:
            raise NotFound(f"there is no {name} {found[:100]!r}", field=name)
        return found


@dataclass(frozen=True, slots=True)
class File:
    """What a panel serves: some bytes, or a plain file that is in a folder of the application's own."""

    content: bytes | Path
    type: str
    """image/jpeg and image/png are shown; application/pdf and text/plain are offered."""
    name: str


@dataclass(frozen=True, slots=True)
class Verb:
    """Something that people do on a page; it returns what the page then says."""

    act: Callable[[Connection, Look], Awaitable[str]]
    """Runs in one transaction, as the tenant of the row and in the name of the person."""
    needs: Permission
    by_installation: bool = False
    """Whether operators of the installation act with the rights of a worker, where rows are a person's."""


Read = Callable[[Connection], Awaitable[Sequence[Block]]] | Callable[[Connection, Look], Awaitable[Sequence[Block]]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its title, the function that reads its blocks, and what people may do there."""

    title: str
    read: Read | None = None
    """None: it only adds to the inbox."""
    name: str = ""
    """The name of its page; without one it stands on the first page of the application."""
    listed: bool = True
    """Whether a page is offered beside the first one; a page of one thing is reached by links only."""
    needs: Permission | None = None
    """Who may see it; None means everybody who may use the console."""
    search: str = ""
    """The field of its form by which the box on top of the console asks it; "" means that it is not asked."""
    verbs: Mapping[str, Verb] = field(default_factory=dict)
    files: Mapping[str, Callable[[Connection, Look], Awaitable[File]]] = field(default_factory=dict)
    items: Callable[[Connection, Look], Awaitable[Sequence[Item]]] | None = None
    """What waits for a person, oldest first, at most a hundred."""
    count: Callable[[Connection], Awaitable[int]] | None = None
    """How many wait, for the menu; cheap, because it is read every few seconds."""

    def __post_init__(self) -> None:
        for name in (self.name or "front", *self.verbs, *self.files):
            if _NAME.fullmatch(name) is None:
                raise InvalidInput(
                    f"{name!r} is no name of a page, a verb or a file",
                    hint="Use lower-case letters, digits and hyphens, starting with a letter.",
                )
        if (self.items is None) != (self.count is None):
            raise InvalidInput(f"the panel {self.title!r} has only one of items and count", hint="Give both.")

    async def blocks(self, conn: Connection, look: Look) -> Sequence[Block]:
        """Read what the panel shows."""
        if self.read is None:
            return ()
        if len(signature(self.read).parameters) > 1:
            return await cast("Callable[[Connection, Look], Awaitable[Sequence[Block]]]", self.read)(conn, look)
        return await cast("Callable[[Connection], Awaitable[Sequence[Block]]]", self.read)(conn)


def all_panels(app: App) -> list[Panel]:
    """Return all panels of an application."""
    return [named(place, Panel) for place in app.panels]


def panels_of(apps: Iterable[App], name: str) -> list[Panel]:
    """Return the panels of the application of that name."""
    for app in apps:
        if app.name == name and app.panels:
            return all_panels(app)
    raise NotFound(f"there is no application {name!r} that has panels")
