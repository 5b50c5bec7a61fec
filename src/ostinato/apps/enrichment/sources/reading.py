"""Reads the answers of sources, in which every level may be absent and any text null."""

from collections.abc import Iterable
from typing import Any, Final

MASK: Final = "[NON-DIFFUSIBLE]"
"""What a source says in the place of what it withholds."""
PARTIAL: Final = "P"
"""`diffusion partielle`."""
COMPANY: Final = "personne morale"
PERSON: Final = "personne physique"

Json = Any
Director = dict[str, str | None]


def at(value: Json, *path: str | int) -> Json:
    """Return what is at a place; None where the way ends before."""
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and len(value) > part else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def listed(value: Json, *path: str | int) -> list[Json]:
    """Return the list at a place, empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def text(value: Json, *path: str | int) -> str | None:
    """Return the text at a place, None where there is none."""
    found = at(value, *path)
    return found.strip() or None if isinstance(found, str) else None


def words(parts: Iterable[Json]) -> str | None:
    """Join those of some texts that are there."""
    return " ".join(part for part in parts if isinstance(part, str) and part) or None


def director(name: str | None, role: str | None, kind: str, siren: str | None = None) -> Director:
    """Keep of a person no more than the name and the role; births and homes stay in the documents."""
    shown = None if name is None or MASK in name else name
    return {"nom": shown, "qualite": role, "type_dirigeant": kind, "siren": siren}
