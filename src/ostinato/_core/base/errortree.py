"""The tree of errors as a whole: for those who list it, and for whoever gets an SQLSTATE."""

from collections.abc import Iterator

from ostinato._core.base.errors import OstinatoError

__all__ = ["by_sqlstate", "tree"]


def tree() -> tuple[type[OstinatoError], ...]:
    """Every error class of Ostinato, parents before children, in the order declared."""
    return tuple(cls for cls in _walk(OstinatoError) if cls.__module__.startswith("ostinato."))


def by_sqlstate(sqlstate: str | None) -> type[OstinatoError] | None:
    """The class that the SQL functions mean by this SQLSTATE, or None if it is not one of ours."""
    if sqlstate is None:
        return None
    return next((cls for cls in tree() if cls.sqlstate == sqlstate), None)


def _walk(cls: type[OstinatoError]) -> Iterator[type[OstinatoError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from _walk(child)
