"""Checks settings of enrichment that a type and a range cannot tell, when they are read: at the start."""

import ssl
from typing import Final
from urllib.parse import urlsplit

from ostinato.errors import SettingsError
from ostinato.observe import redact

MOST_PAUSES: Final = 10
LONGEST_PAUSE_MS: Final = 60_000.0
LONGEST_PAUSE_MINUTES: Final = 43_200.0
SCHEMES: Final = ("http", "https")


def pauses(name: str, text: str) -> tuple[float, ...]:
    """Read pauses in milliseconds, with commas between, as seconds."""
    return tuple(pause / 1000 for pause in _numbers(name, text, "milliseconds", LONGEST_PAUSE_MS, "250,500"))


def minutes(name: str, text: str) -> tuple[float, ...]:
    """Read pauses in minutes, with commas between, as seconds."""
    return tuple(60 * pause for pause in _numbers(name, text, "minutes", LONGEST_PAUSE_MINUTES, "5,15,60"))


def _numbers(name: str, text: str, unit: str, longest: float, example: str) -> list[float]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = [-1.0]
    if len(found) > MOST_PAUSES or not all(0 <= pause <= longest for pause in found):
        raise _refused(
            name,
            text,
            "are no pauses",
            f"Write up to {MOST_PAUSES} numbers of {unit} from 0 to {longest:g}, such as {example}.",
        )
    return found


def address(name: str, text: str, *, needed: bool = True) -> None:
    """Refuse what is no address of a server."""
    if not text and not needed:
        return
    try:
        parts = urlsplit(text)
        good = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or any(sign.isspace() for sign in text):
        raise _refused(name, text, "is no address", "Write it as https://host, with a port or a path if it has one.")


def certificates(name: str, path: str) -> None:
    """Refuse a file that has no certificates."""
    if not path:
        return
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or "it has no certificate"
        raise _refused(name, path, f"cannot be read as certificates ({why})", "Name a file of them in PEM.") from error


def below(name: str, value: float, other: str, most: float) -> None:
    """Refuse a number that is not smaller than another setting."""
    if value >= most:
        raise _refused(
            name, f"{value:g}", f"must be below enrichment.{other}, which is {most:g}", f"Lower it, or raise {other}."
        )


def _refused(name: str, value: str, why: str, remedy: str) -> SettingsError:
    shown = redact(value, 200)
    return SettingsError(f"enrichment.{name} = {shown!r} {why}", hint=remedy, name=name, value=shown)
