"""Reads the static headers of an endpoint: harmless ones from the command line, passwords from a file or stdin."""

from typing import Annotated

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.redact import is_secret_name
from ostinato._faces.cli.frame.files import read_given
from ostinato._faces.cli.frame.options import option

HeaderFile = Annotated[str | None, option("FILE", "Static headers, NAME: VALUE in a line; - reads stdin.")]


def headers_of(given: list[str], file: str | None) -> dict[str, str]:
    """Return the headers of the command line and of a file; a password is taken from the file only."""
    found: dict[str, str] = {}
    for text in given:
        name, value = _header(text, "a --header")
        if is_secret_name(name) or name.lower().endswith(("key", "auth", "session", "signature")):
            raise InvalidInput(
                f"the value of {name} is a secret, and a command line is not: others on this machine read it",
                hint=f"Write '{name}: …' in a file for --header-file, or send it on stdin with --header-file -.",
                header=name,
            )
        found[name] = value
    lines = read_given(file, "--header-file").splitlines() if file is not None else []
    for number, line in enumerate(lines, 1):
        if line.strip():
            name, value = _header(line, f"line {number} of --header-file")
            found[name] = value
    return found


def _header(text: str, place: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        # Not shown: it may be a password.
        raise InvalidInput(f"{place} is not NAME:VALUE", hint="Write it as 'X-Shop: seven'.")
    return name.strip(), value.strip()
