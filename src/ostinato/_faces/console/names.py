"""Names in addresses: a queue, a schedule or a tenant may have a slash in its name, or be called `..`.

A name is one part of a path. It is quoted twice, because servers and proxies take one quoting away
before they look for slashes; `{name:named}` of a route takes the other.
"""

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor

DOTS = {".": "%2E", "..": "%2E%2E"}
"""Browsers resolve these, even when they are quoted once."""


def segment(name: str) -> str:
    """Return a name as a part of a path."""
    return quote(DOTS.get(name) or quote(name, safe=""), safe="")


class Named(Convertor[str]):
    """Reads a name from a part of a path."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Return the name."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """Return the part of the path, for addresses that a route makes."""
        return segment(value)


register_url_convertor("named", Named())
