"""The site: which pages there are, in which order, and the templates that draw them.

The engine's pages are listed in `pages`; an application adds its own by `App(panels=…)`, drawn by one template.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any, Self, cast

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from jinja2.loaders import BaseLoader
from markupsafe import Markup, escape

from ostinato._core.base.permissions import Permission
from ostinato._core.runtime.client import Client
from ostinato._faces.console import alert_texts, draw, error_texts, slot_notes
from ostinato._faces.console.doorman import Doorman
from ostinato._faces.console.live import Live
from ostinato._faces.console.names import segment
from ostinato._faces.console.text import HERE, LANGUAGES, Language, language

if TYPE_CHECKING:
    from ostinato._faces.console.issuer import IssuerDoor
    from ostinato._faces.console.view import View

STATIC = ("console.css", "console.js", "icon.svg")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu."""

    title: str
    path: str
    group: str = ""
    """The heading that it stands under: "", Applications or Installation."""
    counts: str = ""
    """The figure of `Badges` that stands behind it."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """What waits for a person in one panel of an application."""

    app: str
    title: str
    needs: Permission


@dataclass
class Site:
    """What all pages share in a process."""

    menu: Sequence[Entry]
    staff: Client
    """Connections of the worker's role, for what concerns no tenant, or all."""
    door: Client
    """Connections that only look up sessions."""
    doorman: Doorman
    live: Live
    issuer: "IssuerDoor | None" = None
    """Where people sign in, if an issuer is configured for that."""
    inboxes: Mapping[str, Inbox] = field(default_factory=dict)
    """What waits for a person, by the key of the panel that says so."""
    locales: Mapping[str, str] = field(default_factory=dict)
    """The packages of applications that have catalogues, by the application."""

    def __post_init__(self) -> None:
        self._clients = AsyncExitStack()
        self._environments = {code: self._environment(code, PackageLoader(HERE)) for code in LANGUAGES}
        self.version = _version()

    async def __aenter__(self) -> Self:
        await self._clients.enter_async_context(self.staff)
        await self._clients.enter_async_context(self.door)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.live.stop()
        await self._clients.aclose()

    @property
    def paths(self) -> frozenset[str]:
        """The pages of the menu."""
        return frozenset(entry.path for entry in self.menu)

    def language(self, code: str, app: str = "") -> Language:
        """Return a language, with the catalogues of the applications; `app` is the one that speaks."""
        return language(code, tuple(self.locales.values()), self.locales.get(app))

    def render(self, template: str, *, view: "View", **context: object) -> str:
        """Draw a page in the language of its reader."""
        made = self._environments[view.prefs.language].get_template(template)
        return made.render(view=view, site=self, clock=view.clock, words=view.words, at=view.at, **context)

    def _environment(self, code: str, loader: BaseLoader) -> Environment:
        words = self.language(code)
        made = Environment(
            loader=loader,
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            extensions=["jinja2.ext.i18n"],
            trim_blocks=True,
            lstrip_blocks=True,
        )
        cast("Any", made).install_gettext_callables(words.gettext, words.ngettext, newstyle=True)
        made.filters |= {"number": words.number, "span": words.span, "bytes": words.bytes}
        made.filters |= {"segment": segment, "coded": coded, "parted": parted}
        made.globals |= {"draw": draw, "tell": error_texts.tell, "alert_texts": alert_texts, "slot_notes": slot_notes}
        return made


def coded(text: str) -> Markup:
    """Mark up a text whose `commands` stand in the letters of commands."""
    parts = [escape(part) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def parted(name: str) -> Markup:
    """Let a name of code go on in the next line behind its dots and underscores, and not amid a word."""
    return Markup("<wbr>").join(re.split(r"(?<=[._])", name))


def site_of(request: Request) -> Site:
    """Return the site of the process that serves this request."""
    return cast("Site", request.app.state.site)


def _version() -> str:
    """Return a short text that changes with the static files, so that browsers may keep them for long."""
    files = resources.files(HERE) / "static"
    return sha256(b"".join((files / name).read_bytes() for name in STATIC)).hexdigest()[:12]
