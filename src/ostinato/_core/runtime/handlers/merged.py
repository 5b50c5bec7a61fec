"""The kinds of several apps that one worker runs."""

from collections.abc import Iterable, Mapping
from typing import Any

from ostinato._core.base.errors import InvalidInput
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.kinds import JobKind


def merged_kinds(apps: Iterable[App]) -> dict[str, JobKind[Any]]:
    """Return the kinds of several apps in one worker, also by their old names; no two may share a name."""
    kinds: dict[str, JobKind[Any]] = {}
    for app in apps:
        for name, kind in (*app.kinds.items(), *app.aliases.items()):
            if name in kinds:
                raise InvalidInput(f"two apps have a kind named {name!r}", hint="Give one of them another name.")
            kinds[name] = kind
    return kinds


def event_kinds(kinds: Mapping[str, JobKind[Any]]) -> frozenset[str]:
    """Return the names of those kinds whose jobs are events."""
    return frozenset(name for name, kind in kinds.items() if kind.is_event)
