"""Lists the tree of errors, and finds the class of an SQLSTATE."""

from collections.abc import Iterator

from ostinato._core.base.errors import OstinatoError


def tree() -> tuple[type[OstinatoError], ...]:
    """Return every error class, parents before children, in the order declared; ours before those of applications.

    Which module was imported first makes no difference.
    """
    found = [cls for cls in _walk(OstinatoError) if cls.__module__.startswith("ostinato.")]
    return tuple(sorted(found, key=lambda cls: "" if cls.__module__ == "ostinato.errors" else cls.__module__))


def by_sqlstate(sqlstate: str | None) -> type[OstinatoError] | None:
    """Return the class of the error that has this SQLSTATE, or None if it is not one of ours."""
    if sqlstate is None:
        return None
    return next((cls for cls in tree() if cls.sqlstate == sqlstate), None)


def _walk(cls: type[OstinatoError]) -> Iterator[type[OstinatoError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from _walk(child)
