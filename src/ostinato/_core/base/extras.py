"""Finds what is installed beside the engine: extras of a distribution, and applications by entry point.

Nothing is imported to find out: the metadata of the installed distributions says it. A part whose
extra is missing is refused with the command that installs it:

    need("api", "the API")
    NotConfigured: the API is not installed: fastapi, uvicorn are missing
    → pip install 'ostinato[api]'
"""

import re
from collections.abc import Iterator, Sequence
from importlib import metadata
from importlib.metadata import EntryPoint, entry_points

from ostinato._core.base.errors import NotConfigured

APPS = "ostinato.apps"
"""The group of entry points by which applications are found."""
OURS = "ostinato"

_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^\]]*)\])?")
_ONLY_EXTRA = re.compile(r"""\s*(?:\(\s*)?extra\s*==\s*['"](?P<extra>[\w.-]+)['"]\s*(?:\)\s*)?""")


def points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, by name."""
    return sorted(entry_points(group=group), key=lambda point: point.name)


def app_names() -> set[str]:
    """Return the names of the installed applications, whether their extras are there or not."""
    return {point.name for point in entry_points(group=APPS)}


def missing(extra: str, distribution: str = OURS) -> list[str]:
    """Return the distributions that an extra asks for and that are not installed.

    An extra that the distribution does not have asks for nothing. A requirement with a further
    condition (a platform, a version of Python) is left to pip.
    """
    return list(dict.fromkeys(_missing(extra, distribution)))


def need(extra: str, what: str, distribution: str = OURS) -> None:
    """Refuse a part whose extra is not installed, with the command that installs it."""
    if lacking := missing(extra, distribution):
        raise refusal(what, lacking, extra, distribution)


def refusal(what: str, lacking: Sequence[str], extra: str, distribution: str = OURS) -> NotConfigured:
    """Make the error for a part that is not installed; it names the command that installs it."""
    lack = "is missing" if len(lacking) == 1 else "are missing"
    return NotConfigured(
        f"{what} is not installed: {', '.join(lacking)} {lack}",
        hint=f"pip install '{distribution}[{extra}]'",
        extra=extra,
    )


def _missing(extra: str, distribution: str) -> Iterator[str]:
    try:
        required = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return  # run from its sources: nothing is known about extras
    for text in required:
        requirement, _, condition = text.partition(";")
        asked = _ONLY_EXTRA.fullmatch(condition)
        found = _REQUIREMENT.match(requirement)
        if asked is None or found is None or _normal(asked["extra"]) != _normal(extra):
            continue
        name = found["name"]
        if not _is_there(name):
            yield name
        for further in filter(None, re.split(r"[,\s]+", found["extras"] or "")):
            yield from _missing(further, name)


def _is_there(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
