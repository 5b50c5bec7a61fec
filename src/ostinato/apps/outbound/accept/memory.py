"""Remembers what organisations have chosen and their templates, each by its version.

Nothing is accepted by what is remembered alone: its user names the versions, and the
database, if something else is there by now, writes nothing and says what is (`accepting.sql`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import NewMessage, Organisation, Template

MOST: Final = 10_000
"""So many are remembered of each; then it begins anew."""


class Memory:
    """What was read, by tenant."""

    def __init__(self) -> None:
        self._organisations: dict[str, tuple[str, Organisation]] = {}
        self._templates: dict[tuple[str, str, str], tuple[str, Template | None]] = {}

    def organisation(self, tenant_id: str) -> Organisation | None:
        """Return what an organisation has chosen; None: that is not known."""
        found = self._organisations.get(tenant_id)
        return None if found is None else found[1]

    def template(self, tenant_id: str, code: str, language: str) -> Template | None:
        """Return a template; None: there is none."""
        return self._templates[tenant_id, code, language][1]

    def seen(self, tenant_id: str, news: Iterable[NewMessage]) -> tuple[dict[str, Any], bool]:
        """Return the versions of what messages need, and whether all of it is known."""
        version, chosen = self._organisations.get(tenant_id, (None, None))
        wanted = {(code, new.language) for new in news for code in codes_of(new)}
        templates: list[dict[str, str | None]] = []
        for code, asked in wanted:
            language = asked or (None if chosen is None else chosen.language)
            known, _ = self._templates.get((tenant_id, code, language or ""), (None, None))
            templates.append({"code": code, "asked": asked, "language": language, "version": known})
        is_known = version is not None and all(each["version"] is not None for each in templates)
        return {"organisation": version, "templates": templates}, is_known

    def note(self, tenant_id: str, facts: Mapping[str, Any]) -> None:
        """Remember what is there, as `outbound.facts` says it."""
        if len(self._organisations) >= MOST:
            self._organisations.clear()
        if len(self._templates) >= MOST:
            self._templates.clear()
        self._organisations[tenant_id] = (facts["version"], store.organisation_from(facts["organisation"]))
        for each in facts["templates"]:
            found = None if each["template"] is None else store.template_from(each["template"])
            self._templates[tenant_id, each["code"], each["language"]] = (each["version"], found)


def codes_of(new: NewMessage) -> list[str]:
    """Return the codes of the templates that a message names."""
    other = new.fallback_template
    named = [new.template_code, None if other is None else str(other["code"])]
    return [code for code in named if code is not None]
